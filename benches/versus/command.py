"""The command line: which figures, how long, how often; then the rounds, and the report."""
import argparse
import pathlib
import sys
import time

from harness import install

from . import report, rivals, tools
from .figures import FIGURES
from .scale import FULL, NORMAL, QUICK

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "RESULTS.md"
KINDS = ("kafka", "ottla")


def main(arguments):
    options = parse(arguments)
    chosen = [each for each in FIGURES if not options.only or each.name in options.only]
    rivals.raise_file_limit()
    install.kafka_class_path()
    tools.build()
    samples = report.Samples()
    started = time.monotonic()
    failures = []
    for group in chosen:
        failures += run_rounds(group, options.scale, samples)
    text = report.markdown(chosen, samples, failures, arguments, time.monotonic() - started)
    print(text)
    if not options.no_write:
        RESULTS.write_text(text)
    return 1 if failures else 0


def parse(arguments):
    names = [each.name for each in FIGURES]
    parser = argparse.ArgumentParser(prog="benches/versus-kafka", description=sys.modules["__main__"].__doc__)
    scales = parser.add_mutually_exclusive_group()
    scales.add_argument("--quick", dest="scale", action="store_const", const=QUICK, help="about five minutes: one round, fewer records, 1,000 partitions")
    scales.add_argument("--full", dest="scale", action="store_const", const=FULL, help="about an hour: five rounds")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)} (repeatable)")
    parser.add_argument("--no-write", action="store_true", help="print the table, and leave RESULTS.md as it is")
    parser.set_defaults(scale=NORMAL)
    return parser.parse_args(arguments)


def run_rounds(group, scale, samples):
    """The rounds of a group of figures; who goes first changes with each. A failure is reported and costs that broker's round."""
    failures = []
    for number in range(group.rounds(scale)):
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            print(f"{group.name}, round {number + 1}: {kind}", file=sys.stderr, flush=True)
            try:
                samples.add(group.name, kind, group.measure(kind, scale))
            except Exception as error:  # one broker's failure, whatever it is, must not cost the figures that are there
                failures.append(f"{group.name}, round {number + 1}, {kind}: {type(error).__name__}: {error}")
                print(failures[-1], file=sys.stderr, flush=True)
    return failures
