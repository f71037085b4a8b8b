"""Runs checks and reports them as `harness/client_programs.py` says; the records that all the checks of a client send.

Knows no Kafka library.
"""
import functools
import sys
import time
import traceback
import uuid

NAMES = ["headers", "tombstones", "large-record", "too-large-record", "idempotence", "group-rebalance", "commit-resume", "seek-by-time",
         "delete-records", "describe-configs", "alter-configs", "create-partitions", "list-groups", "describe-group", "delete-group",
         "describe-cluster", "unknown-topic", "invalid-topic", "delete-topic"]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = 200
LARGE = 900 * 1024
TOO_LARGE = 2 * 1024 * 1024
TIMEOUT_S = 30
# A group's committing consumer commits after this many records.
COMMIT_EVERY = 100


def unique(name):
    """A topic or group name that no other run uses."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def sample_records(count=RECORDS):
    """Keys and values that compress, with one empty value and one with every byte in it."""
    records = [(f"key-{number}".encode(), f"value-{number} ".encode() * 10) for number in range(count)]
    records[1] = (b"key-1", b"")
    records[2] = (b"key-2", bytes(range(256)))
    return records


def say(line):
    """Prints a line as a whole, whichever thread it comes from."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def expect(actual, wanted, what="it"):
    if actual != wanted:
        raise AssertionError(f"{what} is {shortened(actual)}, not {shortened(wanted)}")


def shortened(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}..."


def expect_error(wanted_names, action):
    """The action must raise; the name or text of its error must hold one of the given words."""
    try:
        result = action()
    except Exception as error:  # the libraries have no common class of errors
        text = f"{type(error).__name__} {error!r}"
        if not any(name in text for name in wanted_names):
            raise AssertionError(f"the error is {text}, not {wanted_names}") from error
        return
    raise AssertionError(f"no error, but {shortened(result)}")


def until(condition, what, timeout_s=TIMEOUT_S):
    """Calls the condition until it is true, and returns what it gave."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {timeout_s} s")
        time.sleep(0.05)


def report(name, action):
    """Runs one check and prints its line."""
    started = time.monotonic()
    try:
        action()
    except Exception as error:  # one failed check must not end the others
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__} in {where.name}:{where.lineno}: {error}".replace("\n", " ")
        print(f"failed {name}: {text}", flush=True)
    else:
        print(f"ok {name}", flush=True)
    print(f"# {time.monotonic() - started:.2f} s", flush=True)


def run_suite(suite, run=lambda action: action()):
    """Runs all checks: methods of the suite that are called like them; `run` runs one."""
    checks = [("create-topic", suite.create_topic)]
    checks += [(f"codec-{codec}", functools.partial(suite.codec, codec)) for codec in CODECS]
    checks += [(name, getattr(suite, name.replace("-", "_"))) for name in NAMES if hasattr(suite, name.replace("-", "_"))]
    for name, action in checks:
        report(name, functools.partial(run, action))
    print("end", flush=True)


def main(suite, load, verify):
    """Dispatches the command line of `harness/client_programs.py`."""
    mode, address, *rest = sys.argv[1:]
    {"suite": suite, "load": load, "verify": verify}[mode](address, *rest)


def main_suite(suite):
    """The command line of a client that has only the checks; `suite` makes them for an address."""
    main(lambda address: run_suite(suite(address)), no_restarts, no_restarts)


def no_restarts(*_):
    raise SystemExit("this client's restarts are not tested")
