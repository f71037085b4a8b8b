"""Kafka's own command line classes (the `kafka-*.sh` of the distribution) against a running broker."""
import json
import re
import subprocess
import tempfile
import time

from harness.brokers import KafkaBroker
from harness.kafka_tools import tool, tool_command
from harness.registry import scenario


# What the console consumer says besides records.
CONSOLE_REMARKS = ("Processed a total", "The consumer rebalance protocol")


def kafka_tool(address, name, *arguments, **options):
    return tool(name, "--bootstrap-server", address, *arguments, **options)


def create(address, topic, partitions=1, *configs):
    arguments = [word for config in configs for word in ("--config", config)]
    kafka_tool(address, "topics", "--create", "--topic", topic, "--partitions", partitions, *arguments)


def produce(address, topic, lines, *arguments):
    kafka_tool(address, "console-producer", "--topic", topic, *arguments, stdin="".join(f"{line}\n" for line in lines))


def consume(address, topic, count, *arguments):
    """The lines that the console consumer prints for so many records."""
    output = kafka_tool(address, "console-consumer", "--topic", topic, "--from-beginning", "--max-messages", count,
                        "--timeout-ms", "30000", *arguments)
    return [line for line in output.splitlines() if not line.startswith(CONSOLE_REMARKS)]


def expect(part, output):
    assert part in output, f"{part!r} is not in\n{output}"


def expect_match(pattern, output):
    assert re.search(pattern, output), f"{pattern!r} does not match\n{output}"


@scenario("kafka-tools/topics")
def topics(address, broker):
    topic = "kafka-tools-topics"
    create(address, topic, 3, "retention.ms=123456")
    described = kafka_tool(address, "topics", "--describe", "--topic", topic)
    expect("PartitionCount: 3", described)
    expect("retention.ms=123456", described)
    expect_match(r"Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)
    kafka_tool(address, "topics", "--alter", "--topic", topic, "--partitions", 5)
    expect("PartitionCount: 5", kafka_tool(address, "topics", "--describe", "--topic", topic))
    expect("already exists", kafka_tool(address, "topics", "--create", "--topic", topic, expect=1))
    kafka_tool(address, "topics", "--delete", "--topic", topic)
    listed = kafka_tool(address, "topics", "--list").split()
    assert topic not in listed, listed


@scenario("kafka-tools/configs")
def configs(address, broker):
    topic = "kafka-tools-configs"
    create(address, topic)
    entity = ("--entity-type", "topics", "--entity-name", topic)
    kafka_tool(address, "configs", "--alter", *entity, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]")
    described = kafka_tool(address, "configs", "--describe", *entity)
    expect("retention.ms=5000", described)
    expect("cleanup.policy=compact,delete", described)
    kafka_tool(address, "configs", "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=5000" not in kafka_tool(address, "configs", "--describe", *entity)
    expect("Invalid value soon", kafka_tool(address, "configs", "--alter", *entity, "--add-config", "retention.ms=soon", expect=1))
    brokers = ("--entity-type", "brokers", "--entity-default")
    kafka_tool(address, "configs", "--alter", *brokers, "--add-config", "log.cleaner.threads=2")
    expect("log.cleaner.threads=2", kafka_tool(address, "configs", "--describe", *brokers))
    kafka_tool(address, "configs", "--alter", *brokers, "--delete-config", "log.cleaner.threads")
    everything = kafka_tool(address, "configs", "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
    expect("group.initial.rebalance.delay.ms=0 sensitive=false synonyms={STATIC_BROKER_CONFIG:group.initial.rebalance.delay.ms=0", everything)


@scenario("kafka-tools/quotas", ci=False)
def quotas(address, broker):
    entity = ("--entity-type", "clients", "--entity-name", "kafka-tools")
    kafka_tool(address, "configs", "--alter", *entity, "--add-config", "producer_byte_rate=100000000")
    expect("producer_byte_rate=1.0E8", kafka_tool(address, "configs", "--describe", *entity))
    kafka_tool(address, "configs", "--alter", *entity, "--delete-config", "producer_byte_rate")


@scenario("kafka-tools/console")
def console(address, broker):
    topic = "kafka-tools-console"
    create(address, topic)
    produce(address, topic, ["a:1", "b:2", "a:null"], "--reader-property", "parse.key=true", "--reader-property", "key.separator=:",
            "--reader-property", "null.marker=null", "--compression-codec", "zstd")
    lines = consume(address, topic, 3, "--formatter-property", "print.key=true", "--formatter-property", "print.offset=true")
    assert lines == ["Offset:0\ta\t1", "Offset:1\tb\t2", "Offset:2\ta\tnull"], lines


@scenario("kafka-tools/consumer-groups")
def consumer_groups(address, broker):
    topic, group = "kafka-tools-groups", "kafka-tools-group"
    create(address, topic)
    produce(address, topic, [f"record {number}" for number in range(10)])
    consume(address, topic, 10, "--group", group)
    expect(group, kafka_tool(address, "consumer-groups", "--list"))
    of_group = ("consumer-groups", "--group", group)
    expect_match(rf"{group}\s+{topic}\s+0\s+10\s+10\s+0\s", kafka_tool(address, *of_group, "--describe"))
    expect_match(rf"{group}\s+127.0.0.1:\d+\s+\(1\)\s+-\s+Empty\s+0", kafka_tool(address, *of_group, "--describe", "--state"))
    kafka_tool(address, *of_group, "--topic", topic, "--reset-offsets", "--to-offset", "4", "--execute")
    expect_match(rf"{topic}\s+0\s+4\s+10\s+6\s", kafka_tool(address, *of_group, "--describe"))
    kafka_tool(address, *of_group, "--topic", topic, "--reset-offsets", "--shift-by", "2", "--execute")
    expect_match(rf"{topic}\s+0\s+6\s+10\s+4\s", kafka_tool(address, *of_group, "--describe"))
    kafka_tool(address, *of_group, "--all-topics", "--reset-offsets", "--to-earliest", "--execute")
    kafka_tool(address, *of_group, "--topic", topic, "--delete-offsets")
    expect("successful", kafka_tool(address, *of_group, "--delete"))
    assert group not in kafka_tool(address, "consumer-groups", "--list")


@scenario("kafka-tools/members", ci=False)
def members(address, broker):
    """A group with a member in it, seen from outside."""
    topic, group = "kafka-tools-members", "kafka-tools-members"
    create(address, topic, 2)
    with Background("console-consumer", "--bootstrap-server", address, "--topic", topic, "--group", group):
        deadline = time.monotonic() + 30
        while True:
            described = tool("consumer-groups", "--bootstrap-server", address, "--group", group, "--describe", "--members", "--verbose")
            if f"{topic}(0,1)" in described or f"{topic}:0,1" in described.replace(" ", ""):
                break
            assert time.monotonic() < deadline, described
        expect("is not empty", kafka_tool(address, "consumer-groups", "--group", group, "--delete", expect=None))
    expect(group, kafka_tool(address, "groups", "--list"))


class Background:
    """A tool that runs until the end of the block."""

    def __init__(self, name, *arguments):
        self.command = tool_command(name, *arguments)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.process

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


@scenario("kafka-tools/offsets")
def offsets(address, broker):
    topic = "kafka-tools-offsets"
    create(address, topic, 2)
    produce(address, topic, [f"k{number}:v" for number in range(20)], "--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    latest = [int(line.rsplit(":", 1)[1]) for line in kafka_tool(address, "get-offsets", "--topic", topic).split()]
    assert sum(latest) == 20 and len(latest) == 2 and min(latest) > 0, latest
    earliest = kafka_tool(address, "get-offsets", "--topic", topic, "--time", "earliest").split()
    assert earliest == [f"{topic}:0:0", f"{topic}:1:0"], earliest
    by_time = kafka_tool(address, "get-offsets", "--topic", topic, "--time", "0").split()
    assert by_time == [f"{topic}:0:0", f"{topic}:1:0"], by_time
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"partitions": [{"topic": topic, "partition": 0, "offset": 3}], "version": 1}, file)
        file.flush()
        expect("partition: " + topic + "-0\tlow_watermark: 3", kafka_tool(address, "delete-records", "--offset-json-file", file.name))
    earliest = kafka_tool(address, "get-offsets", "--topic", topic, "--time", "earliest").split()
    assert earliest == [f"{topic}:0:3", f"{topic}:1:0"], earliest


@scenario("kafka-tools/cluster")
def cluster(address, broker):
    topic = "kafka-tools-cluster"
    create(address, topic)
    produce(address, topic, ["x" * 100])
    described = kafka_tool(address, "log-dirs", "--describe", "--topic-list", topic)
    report = json.loads(next(line for line in described.splitlines() if line.startswith("{")))
    directory = report["brokers"][0]["logDirs"][0]
    assert directory["logDir"] == str(broker.log_dir) and directory["error"] is None, directory
    assert directory["partitions"][0]["partition"] == f"{topic}-0" and directory["partitions"][0]["size"] > 150, directory
    expect("Cluster ID: ", tool("cluster", "cluster-id", "--bootstrap-server", address))
    expect("Produce(0): 0 to 13", kafka_tool(address, "broker-api-versions"))
    expect_match(r"Feature: metadata.version\s", kafka_tool(address, "features", "describe"))
    status = kafka_tool(address, "metadata-quorum", "describe", "--status")
    expect_match(r"LeaderId:\s+1\n", status)
    expect_match(r"HighWatermark:\s+\d+\n", status)
    expect_match(r"1\s+\S+\s+\d+\s+0\s+\d+\s+\d+\s+Leader", kafka_tool(address, "metadata-quorum", "describe", "--replication"))


@scenario("kafka-tools/partitions-and-acls", ci=False)
def partitions_and_acls(address, broker):
    """Tools whose requests one node without an authorizer answers with little or with an error."""
    topic = "kafka-tools-elections"
    create(address, topic, 2)
    elected = kafka_tool(address, "leader-election", "--election-type", "preferred", "--topic", topic, "--partition", 1)
    expect(f"Valid replica already elected for partitions {topic}-1", elected)
    expect("No partition reassignments found.", kafka_tool(address, "reassign-partitions", "--list"))
    expect("No Authorizer is configured", kafka_tool(address, "acls", "--list", expect=None))
    newest = kafka_tool(address, "get-offsets", "--topic", topic, "--time", "max-timestamp").split()
    assert newest == [f"{topic}:0:-1", f"{topic}:1:-1"] or newest == [], newest


@scenario("kafka-tools/performance")
def performance(address, broker):
    topic = "kafka-tools-performance"
    create(address, topic)
    produced = tool("producer-perf-test", "--topic", topic, "--num-records", 20000, "--record-size", 100, "--throughput", -1, "--bootstrap-server", address)
    expect("20000 records sent", produced)
    consumed = kafka_tool(address, "consumer-perf-test", "--topic", topic, "--num-records", 20000)
    assert int(consumed.strip().splitlines()[-1].split(",")[4]) >= 20000, consumed


@scenario("kafka-tools/verifiable")
def verifiable(address, broker):
    topic, count = "kafka-tools-verifiable", 1000
    create(address, topic, 2)
    produced = kafka_tool(address, "verifiable-producer", "--topic", topic, "--max-messages", count, "--acks", -1)
    facts = [json.loads(line) for line in produced.splitlines() if line.startswith("{")]
    assert sum(fact["name"] == "producer_send_success" for fact in facts) == count, produced[-500:]
    consumed = kafka_tool(address, "verifiable-consumer", "--topic", topic, "--group-id", topic, "--max-messages", count, "--reset-policy", "earliest")
    facts = [json.loads(line) for line in consumed.splitlines() if line.startswith("{")]
    assert sum(fact["count"] for fact in facts if fact["name"] == "records_consumed") == count, consumed[-500:]
    committed = [fact for fact in facts if fact["name"] == "offsets_committed"]
    assert committed and all(fact["success"] for fact in committed), committed


@scenario("kafka-tools/dump-log", fresh=True)
def dump_log(address, broker):
    """Kafka's own classes read the files of a stopped broker."""
    topic, group = "kafka-tools-dump", "kafka-tools-dump"
    create(address, topic, 1, "index.interval.bytes=100")
    for batch in range(3):
        produce(address, topic, [f"{batch}-{number}" for number in range(100)])
    consume(address, topic, 300, "--group", group)
    broker.stop()
    try:
        check_partition_files(broker.log_dir / f"{topic}-0")
        check_internal_topics(broker.log_dir, topic, group)
    finally:
        broker.start()


def check_partition_files(folder):
    dumped = tool("dump-log", "--deep-iteration", "--print-data-log", "--files", folder / "00000000000000000000.log")
    expect("payload: 2-99", dumped)
    assert dumped.count("payload: ") == 300, dumped[-500:]
    assert "isvalid: false" not in dumped and dumped.count("isvalid: true") >= 3, dumped[-500:]
    for suffix in ("index", "timeindex"):
        dumped = tool("dump-log", "--verify-index-only", "--files", folder / f"00000000000000000000.{suffix}")
        assert "Mismatches" not in dumped and "Found timestamp" not in dumped, dumped
        expect_match("offset: [1-9]", tool("dump-log", "--files", folder / f"00000000000000000000.{suffix}"))
    snapshot = max(folder.glob("*.snapshot"))
    expect_match(r"producerId: \d+ producerEpoch: 0 .*lastSequence: 99", tool("dump-log", "--files", snapshot))


def check_internal_topics(log_dir, topic, group):
    metadata = "".join(tool("dump-log", "--cluster-metadata-decoder", "--files", file) for file in sorted(log_dir.glob("__cluster_metadata-0/*.log")))
    for part in ('"type":"REGISTER_BROKER_RECORD"', f'"type":"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"', '"name":"metadata.version"'):
        expect(part, metadata)
    assert "Could not" not in metadata, metadata[-1000:]
    files = [file for file in sorted(log_dir.glob("__consumer_offsets-*/*.log")) if file.stat().st_size > 0]
    assert files, "no partition of __consumer_offsets has records"
    offsets = tool("dump-log", "--offsets-decoder", "--files", ",".join(map(str, files)))
    expect(f'"group":"{group}","topic":"{topic}","partition":0', offsets)
    expect('"offset":300', offsets)


@scenario("kafka-tools/kafka-reads-the-directory", fresh=True)
def kafka_reads_the_directory(address, broker):
    """A real Kafka starts on the stopped broker's directory and serves its records, offsets and topics; then the broker goes on."""
    topic = "kafka-tools-given"
    fill(broker, topic)
    broker.stop()
    with KafkaBroker(folder=broker.folder) as kafka:
        check_filled(kafka, topic)
        produce(kafka.address, topic, ["by Kafka"])
        kafka.stop()
    broker.start()
    expect("by Kafka", "\n".join(consume(broker.address, topic, 51)))


@scenario("kafka-tools/reads-kafkas-directory", fresh=True)
def reads_kafkas_directory(address, broker):
    """A broker starts on the directory of a stopped real Kafka and serves what is in it."""
    topic = "kafka-tools-taken"
    with KafkaBroker() as kafka:
        fill(kafka, topic)
        kafka.stop()
        with type(broker)(folder=kafka.folder) as heir:
            check_filled(heir, topic)
            produce(heir.address, topic, ["by the heir"])
            expect("by the heir", "\n".join(consume(heir.address, topic, 51)))


def fill(broker, topic):
    """A topic with its own configuration, records, and a group that has read them."""
    create(broker.address, topic, 2, "retention.ms=99999999")
    produce(broker.address, topic, [f"record {number}" for number in range(50)])
    consume(broker.address, topic, 50, "--group", topic)


def check_filled(broker, topic):
    values = consume(broker.address, topic, 50)
    assert sorted(values) == sorted(f"record {number}" for number in range(50)), values
    expect("retention.ms=99999999", kafka_tool(broker.address, "topics", "--describe", "--topic", topic))
    described = kafka_tool(broker.address, "consumer-groups", "--group", topic, "--describe")
    rows = [line.split() for line in described.splitlines() if line.startswith(topic)]
    assert rows and sum(int(row[3]) for row in rows) == 50 and all(row[5] == "0" for row in rows), described
