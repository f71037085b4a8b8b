"""The command line: picks scenarios, runs them on each broker, and ends with one line `N passed, N failed`."""
import argparse
import dataclasses
import itertools
import signal
import sys
import time
import traceback

from . import registry
from .brokers import KINDS

# Kafka goes first: it is the oracle whose answers some scenarios keep for the comparison with Ottla.
ORDER = ("kafka", "ottla")


class ScenarioTimeout(Exception):
    """A scenario ran longer than its limit."""


@dataclasses.dataclass
class Outcome:
    scenario: str
    kind: str
    passed: int
    problems: list
    seconds: float


def main(arguments):
    options = parse(arguments)
    scenarios = select(registry.discover(), options)
    if options.list:
        for each in scenarios:
            print(f"{each.name}{'' if each.ci else '  (only with --all)'}")
        return 0
    if not scenarios:
        print("no scenario has such a name; --list shows them", file=sys.stderr)
        return 2
    outcomes = []
    for kind in [kind for kind in ORDER if kind in options.brokers]:
        outcomes += run_on(kind, scenarios, options)
    return report(outcomes)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="compat-tests/run", description="Runs the compatibility scenarios against Apache Kafka and Ottla.")
    parser.add_argument("--all", action="store_true", help="run everything, not only the selection for CI")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only scenarios whose name begins with NAME or contains it (repeatable)")
    parser.add_argument("--brokers", default="ottla,kafka", type=broker_list, help="which brokers: ottla, kafka or both (default)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    return parser.parse_args(arguments)


def broker_list(text):
    kinds = text.split(",")
    for kind in kinds:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"{kind} is not one of {', '.join(KINDS)}")
    return kinds


def select(scenarios, options):
    if options.only:
        return [each for each in scenarios if any(part in each.name for part in options.only)]
    return [each for each in scenarios if each.ci or options.all or options.list]


def run_on(kind, scenarios, options):
    """All scenarios on one kind of broker; those of one configuration share a process."""
    outcomes = []
    ordered = sorted(scenarios, key=lambda each: each.broker_group)
    for _, group in itertools.groupby(ordered, key=lambda each: each.broker_group):
        outcomes += run_group(kind, list(group))
    return outcomes


def run_group(kind, group):
    outcomes, ready = [], []
    for each in group:
        problem = attempt(lambda: [need() for need in each.needs])
        if problem:
            outcomes.append(announce(Outcome(each.name, kind, 0, [f"installing what it needs failed: {problem}"], 0)))
        else:
            ready.append(each)
    broker = None
    try:
        for each in ready:
            if broker is None or broker.process.poll() is not None:
                if broker is not None:
                    broker.close()
                broker = KINDS[kind](group[0].config)
                problem = attempt(broker.start)
                if problem:
                    outcomes.append(announce(Outcome(each.name, kind, 0, [problem], 0)))
                    broker.close()
                    broker = None
                    continue
            outcomes.append(announce(run_one(each, broker)))
    finally:
        if broker is not None:
            broker.close()
    return outcomes


def attempt(action):
    """Runs an action; an exception becomes its text."""
    try:
        action()
    except Exception as error:  # whatever goes wrong in an installation or a start is that scenario's failure, not the run's
        return f"{type(error).__name__}: {error}"
    return ""


def run_one(scenario, broker):
    started = time.monotonic()
    problems, passed = [], 0
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(scenario.timeout_s)
    try:
        checks = scenario.function(broker.address, broker) or [registry.Check(scenario.name)]
        passed = sum(not check.problem for check in checks)
        problems = [f"{check.name}: {check.problem}" for check in checks if check.problem]
    except Exception as error:  # a scenario fails by raising, whatever it raises
        where = traceback.extract_tb(error.__traceback__)[-1]
        problems = [f"{type(error).__name__} at {where.filename.rsplit('/', 1)[-1]}:{where.lineno}: {error}"]
    finally:
        signal.alarm(0)
    if broker.process.poll() is not None:
        problems.append(f"the broker process ended with {broker.process.returncode}:\n{broker.log_tail()}")
    problems += broker.panics()
    return Outcome(scenario.name, broker.kind, passed, problems, time.monotonic() - started)


def on_alarm(*_):
    raise ScenarioTimeout("it ran longer than its limit")


def announce(outcome):
    state = "FAIL" if outcome.problems else "ok"
    print(f"{state:4} {outcome.kind:5} {outcome.scenario}  ({outcome.passed} passed, {len(outcome.problems)} failed, {outcome.seconds:.1f} s)", flush=True)
    for problem in outcome.problems:
        print("       " + problem.replace("\n", "\n         "), flush=True)
    return outcome


def report(outcomes):
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(len(outcome.problems) for outcome in outcomes)
    for outcome in outcomes:
        if outcome.problems and outcome.kind == "kafka":
            print(f"{outcome.scenario} fails on Apache Kafka itself: the scenario is wrong")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
