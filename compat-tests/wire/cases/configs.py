"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources."""
import time

from wire.cases import Area

AREA = Area("configs")
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SETTLE_S = 0.4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def describe(wire, version, kind, name, keys=None, **fields):
    resource = {"resourceType": kind, "resourceName": name, "configurationKeys": keys}
    return wire.call("DescribeConfigs", version, {"resources": [resource], **fields})


def change(wire, version, kind, name, *operations, validate=False):
    configs = [{"name": key, "configOperation": operation, "value": value} for operation, key, value in operations]
    return settled(wire.call("IncrementalAlterConfigs", version, {"resources": [{"resourceType": kind, "resourceName": name, "configs": configs}], "validateOnly": validate}), validate)


def replace(wire, version, kind, name, *entries, validate=False):
    configs = [{"name": key, "value": value} for key, value in entries]
    return settled(wire.call("AlterConfigs", version, {"resources": [{"resourceType": kind, "resourceName": name, "configs": configs}], "validateOnly": validate}), validate)


def settled(answer, validate):
    """A change is answered by the controller before the broker describes it; a moment lies between the two."""
    if not validate:
        time.sleep(SETTLE_S)
    return answer


@AREA.sweep("all of a topic", "DescribeConfigs")
def topic_all(wire, version):
    topic = wire.topic(configs={"retention.ms": "12345", "cleanup.policy": "compact,delete"})
    describe(wire, version, TOPIC, topic)
    describe(wire, version, TOPIC, topic, includeSynonyms=True, includeDocumentation=True)


@AREA.sweep("all of a broker", "DescribeConfigs")
def broker_all(wire, version):
    describe(wire, version, BROKER, "1")
    describe(wire, version, BROKER, "1", includeSynonyms=True)
    describe(wire, version, BROKER, "")


@AREA.sweep("chosen keys", "DescribeConfigs")
def chosen(wire, version):
    topic = wire.topic()
    describe(wire, version, TOPIC, topic, ["retention.ms", "no.such.key", "retention.ms"], includeSynonyms=True)
    describe(wire, version, TOPIC, topic, [])
    describe(wire, version, BROKER, "1", ["log.retention.hours", "log.retention.ms", "no.such.key", "num.io.threads"], includeSynonyms=True)


@AREA.sweep("resources that are not there", "DescribeConfigs")
def absent(wire, version):
    for kind, name in ((TOPIC, wire.full("absent")), (TOPIC, ""), (TOPIC, "a/b"), (BROKER, "7"), (BROKER, "abc"), (LOGGER, "7"), (LOGGER, ""),
                       (LOGGER, "abc"), (1, "x"), (0, "x"), (64, "x"), (-1, "x"), (CLIENT_METRICS, ""), (GROUP, "")):
        describe(wire, version, kind, name, ["retention.ms"])


@AREA.sweep("groups and client metrics", "DescribeConfigs")
def other_kinds(wire, version):
    describe(wire, version, GROUP, wire.full("g"), includeSynonyms=True)
    describe(wire, version, CLIENT_METRICS, wire.full("m"), includeSynonyms=True)


@AREA.sweep("several and doubled resources", "DescribeConfigs")
def several(wire, version):
    topic = wire.topic()
    one = {"resourceType": TOPIC, "resourceName": topic, "configurationKeys": ["retention.ms"]}
    wire.call("DescribeConfigs", version, {"resources": [one, {**one, "configurationKeys": ["segment.ms"]}, {"resourceType": BROKER, "resourceName": "1", "configurationKeys": ["log.dir"]}]})
    wire.call("DescribeConfigs", version, {"resources": []})


@AREA.sweep("set and delete on a topic", "IncrementalAlterConfigs")
def set_delete(wire, version):
    topic = wire.topic()
    keys = ["retention.ms", "cleanup.policy", "segment.bytes"]
    change(wire, version, TOPIC, topic, (SET, "retention.ms", "1000"), (SET, "segment.bytes", "2097152"))
    describe(wire, 4, TOPIC, topic, keys, includeSynonyms=True)
    change(wire, version, TOPIC, topic, (DELETE, "retention.ms", None), (DELETE, "no.such.key", None), (DELETE, "flush.ms", "7"))
    change(wire, version, TOPIC, topic, (APPEND, "cleanup.policy", "compact"))
    describe(wire, 4, TOPIC, topic, keys, includeSynonyms=True)
    change(wire, version, TOPIC, topic, (APPEND, "cleanup.policy", "compact,delete"))
    change(wire, version, TOPIC, topic, (SUBTRACT, "cleanup.policy", "delete"))
    describe(wire, 4, TOPIC, topic, keys)
    change(wire, version, TOPIC, topic, (SUBTRACT, "cleanup.policy", "compact"))
    describe(wire, 4, TOPIC, topic, keys)


@AREA.sweep("refused on a topic", "IncrementalAlterConfigs")
def refused(wire, version):
    topic = wire.topic()
    for operation in ((SET, "retention.ms", None), (SET, "retention.ms", "abc"), (SET, "retention.ms", "-2"), (SET, "no.such.key", "1"), (SET, "cleanup.policy", "shred"),
                      (SET, "cleanup.policy", ""), (APPEND, "retention.ms", "1"), (SUBTRACT, "retention.ms", "1"), (APPEND, "cleanup.policy", None),
                      (9, "retention.ms", "1"), (-1, "retention.ms", "1"), (SET, "", "1"), (SET, "segment.bytes", "1048575"), (SET, "segment.bytes", " 2097152 "),
                      (SET, "max.message.bytes", "-1"), (SET, "compression.type", "brotli"), (SET, "compression.type", "ZSTD"), (SET, "min.insync.replicas", "0"),
                      (SET, "message.timestamp.type", "Nonsense"), (SET, "unclean.leader.election.enable", "maybe"), (SET, "retention.bytes", "9223372036854775808"),
                      (SET, "min.cleanable.dirty.ratio", "1.5"), (SET, "compression.gzip.level", "10"), (SET, "compression.zstd.level", "23"), (SET, "compression.lz4.level", "18"),
                      (SET, "leader.replication.throttled.replicas", "x"), (SET, "leader.replication.throttled.replicas", "*"), (SET, "local.retention.ms", "99999999999"),
                      (SET, "min.compaction.lag.ms", "10"), (SET, "max.compaction.lag.ms", "0"), (SET, "remote.storage.enable", "true"),
                      (SET, "message.format.version", "3.0"), (SET, "message.downconversion.enable", "true")):
        change(wire, version, TOPIC, topic, operation, validate=True)
    change(wire, version, TOPIC, topic, (SET, "retention.ms", "1"), (SET, "retention.ms", "2"))
    change(wire, version, TOPIC, topic, (SET, "retention.ms", "1"), (DELETE, "retention.ms", None))
    change(wire, version, TOPIC, topic, (SET, "retention.ms", "1"), (SET, "flush.ms", "abc"))
    change(wire, version, TOPIC, topic)
    change(wire, version, TOPIC, topic, (SET, "min.insync.replicas", "2"))
    describe(wire, 4, TOPIC, topic, ["retention.ms", "flush.ms", "min.insync.replicas"], includeSynonyms=True)


@AREA.sweep("resources that are not there", "IncrementalAlterConfigs")
def change_absent(wire, version):
    for kind, name in ((TOPIC, wire.full("absent")), (TOPIC, ""), (TOPIC, "a/b"), (BROKER, "7"), (BROKER, "abc"), (LOGGER, "7"), (1, "x"), (64, "x"), (CLIENT_METRICS, ""), (GROUP, "")):
        change(wire, version, kind, name, (SET, "retention.ms", "5"), validate=True)


def value_of(wire, kind, name, key):
    """A value as it is in force now: Kafka's broker takes a change over some time after it was answered."""
    asked = {"resourceType": kind, "resourceName": name, "configurationKeys": [key]}
    return wire.must("DescribeConfigs", 4, {"resources": [asked]})["results"][0]["configs"][0]["value"]


@AREA.sweep("brokers", "IncrementalAlterConfigs")
def brokers(wire, version):
    keys = ["log.retention.ms", "log.cleaner.threads", "num.io.threads", "message.max.bytes"]
    for name in ("1", ""):
        change(wire, version, BROKER, name, (SET, "log.cleaner.threads", "2"))
        wire.until(lambda: value_of(wire, BROKER, "1", "log.cleaner.threads") == "2", "the broker has the change")
        describe(wire, 4, BROKER, "1", keys, includeSynonyms=True)
        describe(wire, 4, BROKER, "", keys)
        change(wire, version, BROKER, name, (DELETE, "log.cleaner.threads", None))
        wire.until(lambda: value_of(wire, BROKER, "1", "log.cleaner.threads") == "1", "the broker has the change")
    for operation in ((SET, "broker.id", "5"), (SET, "log.dirs", "/x"), (SET, "no.such.key", "1"), (SET, "log.cleaner.threads", "abc"), (SET, "log.cleaner.threads", "0"),
                      (SET, "message.max.bytes", "-1"), (SET, "listeners", "PLAINTEXT://:1"), (SET, "num.io.threads", "3"), (SET, "num.partitions", "3"),
                      (SET, "log.retention.ms", "-5"), (SET, "max.connections", "5"), (SET, "max.connections.per.ip.overrides", "x"), (SET, "min.insync.replicas", "0"),
                      (SET, "log.segment.bytes", "1"), (SET, "compression.type", "x"), (DELETE, "no.such.key", None), (APPEND, "log.cleanup.policy", "compact")):
        for name in ("1", ""):
            change(wire, version, BROKER, name, operation, validate=True)


@AREA.sweep("groups", "IncrementalAlterConfigs")
def groups(wire, version):
    group = wire.full("g")
    change(wire, version, GROUP, group, (SET, "consumer.session.timeout.ms", "50000"))
    describe(wire, 4, GROUP, group, ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"], includeSynonyms=True)
    for operation in ((SET, "consumer.session.timeout.ms", "1"), (SET, "consumer.session.timeout.ms", "abc"), (SET, "no.such.key", "1"),
                      (SET, "consumer.heartbeat.interval.ms", "999999")):
        change(wire, version, GROUP, group, operation, validate=True)
    change(wire, version, GROUP, group, (DELETE, "consumer.session.timeout.ms", None))


@AREA.sweep("client metrics", "IncrementalAlterConfigs")
def client_metrics(wire, version):
    name = wire.full("m")
    change(wire, version, CLIENT_METRICS, name, (SET, "interval.ms", "1000"), (SET, "metrics", "a.b"))
    describe(wire, 4, CLIENT_METRICS, name, includeSynonyms=True)
    for operation in ((SET, "interval.ms", "5"), (SET, "interval.ms", "x"), (SET, "match", "x=("), (SET, "match", "nonsense"), (SET, "no.such.key", "1")):
        change(wire, version, CLIENT_METRICS, name, operation, validate=True)
    change(wire, version, CLIENT_METRICS, name, (DELETE, "interval.ms", None), (DELETE, "metrics", None))


@AREA.sweep("loggers", "IncrementalAlterConfigs")
def loggers(wire, version):
    change(wire, version, LOGGER, "1", (SET, "kafka.server.KafkaApis", "NONSENSE"))
    change(wire, version, LOGGER, "1", (APPEND, "kafka.server.KafkaApis", "DEBUG"))
    change(wire, version, LOGGER, "1", (SET, "", "DEBUG"))
    change(wire, version, LOGGER, "abc", (SET, "kafka.server.KafkaApis", "DEBUG"))


@AREA.sweep("resources twice", "IncrementalAlterConfigs")
def change_twice(wire, version):
    one = {"resourceType": TOPIC, "resourceName": wire.topic(), "configs": [{"name": "retention.ms", "configOperation": SET, "value": "5"}]}
    wire.call("IncrementalAlterConfigs", version, {"resources": [one, one]})
    wire.call("IncrementalAlterConfigs", version, {"resources": []})


@AREA.sweep("replace", "AlterConfigs")
def replace_all(wire, version):
    topic = wire.topic(configs={"flush.ms": "5"})
    replace(wire, version, TOPIC, topic, ("retention.ms", "1000"), validate=True)
    replace(wire, version, TOPIC, topic, ("retention.ms", "1000"))
    describe(wire, 4, TOPIC, topic, ["retention.ms", "flush.ms"])
    for entry in (("retention.ms", None), ("retention.ms", "abc"), ("no.such.key", "1"), ("", "1")):
        replace(wire, version, TOPIC, topic, entry)
    replace(wire, version, TOPIC, topic, ("retention.ms", "1"), ("retention.ms", "2"))
    replace(wire, version, TOPIC, topic)
    describe(wire, 4, TOPIC, topic, ["retention.ms", "flush.ms"])
    for kind, name in ((TOPIC, wire.full("absent")), (TOPIC, ""), (BROKER, "7"), (BROKER, "abc"), (LOGGER, "1"), (1, "x"), (64, "x"), (CLIENT_METRICS, wire.full("m")), (GROUP, wire.full("g"))):
        replace(wire, version, kind, name, ("retention.ms", "5"), validate=True)
    replace(wire, version, BROKER, "1", ("log.cleaner.threads", "2"))
    replace(wire, version, BROKER, "1")


@AREA.sweep("resources", "ListConfigResources")
def list_resources(wire, version):
    if version == 0:
        wire.call("ListConfigResources", 0, {})
        return

    def own(answer):
        return {**answer, "configResources": [each for each in answer["configResources"] if each["resourceName"].startswith(wire.full("")) or each["resourceType"] in (BROKER, LOGGER)]}

    topic = wire.topic()
    change(wire, 1, GROUP, wire.full("g"), (SET, "consumer.session.timeout.ms", "50000"))
    assert topic
    wire.call("ListConfigResources", version, {}, keep=own)
    for kinds in ([TOPIC], [BROKER], [LOGGER], [CLIENT_METRICS], [GROUP], [TOPIC, GROUP]):
        wire.call("ListConfigResources", version, {"resourceTypes": kinds}, keep=own)
    for kinds in ([0], [1], [64], [TOPIC, 99]):
        wire.call("ListConfigResources", version, {"resourceTypes": kinds})
