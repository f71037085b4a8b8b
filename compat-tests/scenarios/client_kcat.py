"""kcat from Debian, which is librdkafka as of some years ago."""
import json
import subprocess
import time

from harness import install
from harness.registry import scenario

TIMEOUT_S = 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def needs():
    install.debian("kcat")


def kcat(address, *arguments, stdin=b"", expect=0):
    """Runs kcat to its end and returns its output; another exit code is an error that carries what it said."""
    done = subprocess.run(["kcat", "-b", address, *arguments], input=stdin, capture_output=True, timeout=TIMEOUT_S)
    assert done.returncode == expect, f"kcat {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-800:]}"
    return done.stdout if expect == 0 else done.stderr


def produce(address, topic, lines, *arguments):
    kcat(address, "-P", "-t", topic, "-p", "0", *arguments, stdin="".join(f"{line}\n" for line in lines).encode())


def consume(address, topic, *arguments):
    """All records as kcat's JSON objects."""
    output = kcat(address, "-C", "-t", topic, "-J", "-e", "-q", "-o", "beginning", *arguments)
    return [json.loads(line) for line in output.splitlines()]


def expect(actual, wanted):
    assert actual == wanted, f"{actual} is not {wanted}"


@scenario("kcat/codecs", needs=[needs])
def codecs(address, broker):
    for codec in CODECS:
        topic = f"kcat-{codec}"
        lines = [f"record {number} " * 5 for number in range(200)]
        produce(address, topic, lines, "-z", codec)
        records = consume(address, topic)
        expect([record["payload"] for record in records], lines)
        expect([record["offset"] for record in records], list(range(200)))


@scenario("kcat/keys-headers-tombstones", needs=[needs])
def keys(address, broker):
    topic = "kcat-keys"
    produce(address, topic, ["a:1", "b:2", "a:"], "-K", ":", "-Z", "-H", "one=1", "-H", "two=2")
    records = consume(address, topic)
    expect([(record["key"], record["payload"]) for record in records], [("a", "1"), ("b", "2"), ("a", None)])
    expect(records[0]["headers"], ["one", "1", "two", "2"])


@scenario("kcat/large", needs=[needs])
def large(address, broker):
    topic, value = "kcat-large", "x" * (900 * 1024)
    produce(address, topic, [value])
    expect(len(consume(address, topic)[0]["payload"]), len(value))
    said = kcat(address, "-P", "-t", topic, "-p", "0", "-X", "message.max.bytes=8000000", stdin=b"x" * 2_000_000 + b"\n", expect=1)
    assert b"Message size too large" in said, said


@scenario("kcat/idempotence", needs=[needs])
def idempotence(address, broker):
    topic, lines = "kcat-idempotence", [str(number) for number in range(5000)]
    produce(address, topic, lines, "-X", "enable.idempotence=true", "-X", "batch.num.messages=50")
    expect([record["payload"] for record in consume(address, topic)], lines)


@scenario("kcat/times-and-offsets", needs=[needs])
def times(address, broker):
    topic = "kcat-times"
    produce(address, topic, ["early"])
    time.sleep(0.05)
    between = int(time.time() * 1000)
    time.sleep(0.05)
    produce(address, topic, ["late", "later"])
    expect([record["payload"] for record in consume(address, topic, "-o", f"s@{between}")], ["late", "later"])
    expect([record["payload"] for record in consume(address, topic, "-o", "-1")], ["later"])
    found = kcat(address, "-Q", "-t", f"{topic}:0:{between}").decode()
    expect(found.strip(), f"{topic} [0] offset 1")


@scenario("kcat/group", needs=[needs])
def group(address, broker):
    topic, name = "kcat-group", "kcat-group"
    produce(address, topic, ["1", "2", "3"])
    arguments = ("-G", name, "-q", "-e", "-X", "auto.offset.reset=earliest", topic)
    expect(kcat(address, *arguments).split(), [b"1", b"2", b"3"])
    produce(address, topic, ["4"])
    expect(kcat(address, *arguments).split(), [b"4"])


@scenario("kcat/metadata-and-errors", needs=[needs])
def metadata(address, broker):
    produce(address, "kcat-metadata", ["x"])
    listed = json.loads(kcat(address, "-L", "-J"))
    expect([each["name"] for each in listed["brokers"]], [address])
    found = next(each for each in listed["topics"] if each["topic"] == "kcat-metadata")
    expect(found["partitions"], [{"partition": 0, "leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]}])
    said = kcat(address, "-C", "-t", "kcat-missing", "-p", "0", "-e", "-X", "allow.auto.create.topics=false", expect=1)
    assert b"Unknown topic or partition" in said, said
    said = kcat(address, "-C", "-t", "no spaces", "-p", "0", "-e", expect=1)
    assert b"Invalid topic" in said, said
