"""What every client program of `clients/` does, and how a run of one becomes counted checks.

A program is started in one of three ways and speaks on standard output, one fact a line:

    PROGRAM suite ADDRESS          `ok NAME` or `failed NAME: why` for each of its checks
    PROGRAM load ADDRESS TOPIC     produces the values 0, 1, 2 ... idempotently until its input closes, whatever happens to
                                   the broker; `acked VALUE` for each acknowledged record, `committed OFFSET` for each
                                   offset of partition 0 that the group named like the topic has committed
    PROGRAM verify ADDRESS TOPIC   `record OFFSET VALUE` for every record of partition 0, and the group's `committed OFFSET`

Each ends with the line `end`.
"""
import subprocess
import threading
import time

from .registry import Check, scenario

CHECKS = [
    "create-topic",
    "codec-none",
    "codec-gzip",
    "codec-snappy",
    "codec-lz4",
    "codec-zstd",
    "headers",
    "tombstones",
    "large-record",
    "too-large-record",
    "idempotence",
    "group-rebalance",
    "commit-resume",
    "seek-by-time",
    "delete-records",
    "describe-configs",
    "alter-configs",
    "create-partitions",
    "list-groups",
    "describe-group",
    "delete-group",
    "describe-cluster",
    "unknown-topic",
    "invalid-topic",
    "delete-topic",
]
SUITE_TIMEOUT_S = 180
# Long enough that batches are in flight when the broker goes away.
RECORDS_BEFORE_RESTART = 500
RECORDS_AFTER_RESTART = 500
LOAD_TIMEOUT_S = 90


def client_suite(name, command, needs=(), lacks=None, ci=True):
    """Registers the checks of a client program. `command` returns its command line (and installs it); `lacks` maps the checks
    that this client has no function for to the reason."""
    lacks = lacks or {}
    expected = [check for check in CHECKS if check not in lacks]

    @scenario(f"{name}/suite", ci=ci, needs=[*needs, command], timeout_s=SUITE_TIMEOUT_S + 20)
    def suite(address, broker):
        return suite_checks(run_program([*command(), "suite", address], SUITE_TIMEOUT_S), expected)


def run_program(command, timeout_s):
    """Output and errors of a program that had this long; a timeout is part of the text, for the checks it cost."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
    timer = threading.Timer(timeout_s, process.kill)
    timer.start()
    try:
        output = process.communicate()[0]
    finally:
        timer.cancel()
        process.kill()
    return output if process.returncode == 0 else f"{output}\nthe program ended with {process.returncode}"


def suite_checks(output, expected):
    """One Check per expected name; what the program did not report has failed."""
    lines = output.splitlines()
    results = {}
    for line in lines:
        state, _, rest = line.partition(" ")
        if state == "ok":
            results[rest] = ""
        elif state == "failed":
            name, _, problem = rest.partition(": ")
            results[name] = problem or "no reason given"
    tail = "\n".join(lines[-15:])
    checks = [Check(name, results.get(name, "not reported")) for name in expected]
    unexpected = sorted(set(results) - set(expected))
    if unexpected:
        checks.append(Check("names", f"unexpected checks: {', '.join(unexpected)}"))
    if "end" not in lines:
        checks.append(Check("end", f"the program broke off:\n{tail}"))
    return checks


def client_restarts(name, command, ci=True):
    """Registers what a client must find after a clean restart, after kill -9 in the middle of its work, and after many of these."""
    register_restart(f"{name}/restart-clean", command, hard=False, rounds=1, ci=ci)
    register_restart(f"{name}/restart-kill", command, hard=True, rounds=1, ci=ci)
    register_restart(f"{name}/restart-kill-often", command, hard=True, rounds=6, ci=False)


def register_restart(name, command, hard, rounds, ci):
    @scenario(name, ci=ci, fresh=True, needs=[command], timeout_s=(rounds + 1) * LOAD_TIMEOUT_S + 60)
    def restart(address, broker):
        topic = name.replace("/", "-")
        load = Load([*command(), "load", address, topic])
        try:
            load.wait_for(RECORDS_BEFORE_RESTART, 1)
            for _ in range(rounds):
                broker.restart(hard=hard)
                load.wait_for(load.count("acked") + RECORDS_AFTER_RESTART, load.count("committed") + 1)
            lines = load.finish()
        finally:
            load.kill()
        broker.restart(hard=hard)
        verified = run_program([*command(), "verify", address, topic], LOAD_TIMEOUT_S)
        compare_with_acked(lines, verified)


class Load:
    """A running `load` program, whose lines are collected as they come."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.PIPE, text=True, errors="replace")
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def count(self, word):
        return sum(line.startswith(word + " ") for line in list(self.lines))

    def wait_for(self, acked, committed):
        """Until so many records are acknowledged and so many commits made."""
        deadline = time.monotonic() + LOAD_TIMEOUT_S
        while self.count("acked") < acked or self.count("committed") < committed:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{self.count('acked')} of {acked} records acknowledged, {self.count('committed')} of {committed} commits made;"
                                     " the output ends with\n" + "\n".join(self.lines[-15:]))
            time.sleep(0.05)

    def finish(self):
        self.process.stdin.close()
        self.process.wait(LOAD_TIMEOUT_S)
        self.reader.join(LOAD_TIMEOUT_S)
        if self.process.returncode != 0 or "end" not in self.lines:
            raise AssertionError(f"the load ended with {self.process.returncode}:\n" + "\n".join(self.lines[-15:]))
        return self.lines

    def kill(self):
        self.process.kill()
        self.process.wait()


def compare_with_acked(load_lines, verify_output):
    """Every acknowledged record exists once, in order, at offsets without gaps; the committed offset has not gone back."""
    acked = [int(line.split()[1]) for line in load_lines if line.startswith("acked ")]
    records = [tuple(map(int, line.split()[1:])) for line in verify_output.splitlines() if line.startswith("record ")]
    offsets = [offset for offset, _ in records]
    values = [value for _, value in records]
    assert "end" in verify_output.splitlines(), f"the records could not be read:\n{verify_output[-1500:]}"
    assert offsets == list(range(len(offsets))), f"offsets have gaps: {offsets[:5]} ... {offsets[-5:]}\n{verify_output[-500:]}"
    assert values == sorted(set(values)), "records are doubled or out of order"
    lost = sorted(set(acked) - set(values))
    assert not lost, f"{len(lost)} acknowledged records are lost, the first is {lost[0]}"
    committed_before = max((int(line.split()[1]) for line in load_lines if line.startswith("committed ")), default=None)
    committed_after = max((int(line.split()[1]) for line in verify_output.splitlines() if line.startswith("committed ")), default=None)
    assert committed_before is not None, "the load committed no offset"
    assert committed_after is not None and committed_after >= committed_before, f"committed {committed_before}, found {committed_after}"
