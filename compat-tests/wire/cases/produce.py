"""Produce: where batches go, what a leader accepts and refuses of them, and the idempotent producer's rules."""
from wire.cases import Area

AREA = Area("produce", config={"message.max.bytes": "20000"})
OLD = 1600000000000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def values(count, timestamp=OLD):
    return [{"key": f"k{each}", "value": f"v{each}", "timestamp": timestamp + each} for each in range(count)]


def batch(size=1, **fields):
    return {"records": values(size), **fields}


def produce(wire, version, topic, *batches, acks=-1, partition=0, transactional_id=None):
    """Sends one partition's batches; `topic` is a name, and from v13 on its id is looked up."""
    where = {"topicId": wire.topic_id(topic)} if version >= 13 else {"name": topic}
    request = {"acks": acks, "timeoutMs": 3000, "transactionalId": transactional_id,
               "topicData": [{**where, "partitionData": [{"index": partition, "records": list(batches)}]}]}
    return wire.call("Produce", version, request)


def fetch(wire, topic):
    """Records what the log then holds."""
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000000}
    wire.call("Fetch", 12, {"maxWaitMs": 0, "minBytes": 0, "topics": [{"topic": topic, "partitions": [partition]}]})


@AREA.sweep("accepted", "Produce")
def accepted(wire, version):
    topic = wire.topic(partitions=2)
    for acks in (-1, 1):
        produce(wire, version, topic, batch(3), acks=acks)
    produce(wire, version, topic, batch(), partition=1)
    fetch(wire, topic)


@AREA.sweep("several topics and partitions", "Produce", highest=12)
def several(wire, version):
    one, other = wire.topic("a", partitions=2), wire.topic("b")
    data = [{"index": 0, "records": [batch()]}, {"index": 1, "records": [batch(2)]}, {"index": 7, "records": [batch()]}]
    wire.call("Produce", version, {"acks": 1, "timeoutMs": 3000, "topicData": [
        {"name": one, "partitionData": data}, {"name": other, "partitionData": data[:1]}, {"name": wire.full("absent"), "partitionData": data[:1]}]})
    wire.call("Produce", version, {"acks": 1, "timeoutMs": 3000, "topicData": []})
    wire.call("Produce", version, {"acks": 1, "timeoutMs": 3000, "topicData": [{"name": one, "partitionData": []}]})
    wire.call("Produce", version, {"acks": 1, "timeoutMs": 3000, "topicData": [{"name": one, "partitionData": [data[0], data[0]]}]})


@AREA.sweep("not there", "Produce", highest=12)
def not_there(wire, version):
    topic = wire.topic()
    for partition in (1, -1):
        produce(wire, version, topic, batch(), partition=partition)
    for name in (wire.full("absent"), "", "a/b"):
        produce(wire, version, name, batch())


@AREA.case("not there v13")
def not_there_by_id(wire):
    topic = wire.topic()
    for topic_id in ("4L6g3nShT-eMCtK--X86sw", "AAAAAAAAAAAAAAAAAAAAAA"):
        wire.call("Produce", 13, {"acks": 1, "timeoutMs": 3000, "topicData": [{"topicId": topic_id, "partitionData": [{"index": 0, "records": [batch()]}]}]})
    produce(wire, 13, topic, batch(), partition=1)


@AREA.sweep("invalid acks", "Produce")
def invalid_acks(wire, version):
    topic = wire.topic()
    for acks in (2, -2, 32767):
        produce(wire, version, topic, batch(), acks=acks)
    fetch(wire, topic)


@AREA.sweep("no answer with acks 0", "Produce")
def acks_zero(wire, version):
    topic = wire.topic()
    where = {"topicId": wire.topic_id(topic)} if version >= 13 else {"name": topic}
    connection = wire.connect()
    good = {"acks": 0, "timeoutMs": 3000, "topicData": [{**where, "partitionData": [{"index": 0, "records": [batch()]}]}]}
    connection.send("Produce", version, good)
    connection.receive(connection.send("ListOffsets", 5, {"replicaId": -1}))
    bad = {"acks": 0, "timeoutMs": 3000, "topicData": [{**where, "partitionData": [{"index": 5, "records": [batch()]}]}]}
    connection.receive(connection.send("Produce", version, bad), timeout_s=1)
    fetch(wire, topic)


@AREA.sweep("codecs", "Produce")
def codecs(wire, version):
    topic = wire.topic()
    for codec in CODECS:
        produce(wire, version, topic, batch(5, codec=codec))
    fetch(wire, topic)


@AREA.sweep("empty records", "Produce")
def no_records(wire, version):
    produce(wire, version, wire.topic())


@AREA.sweep("wrong batches", "Produce")
def wrong_batches(wire, version):
    topic = wire.topic()
    two = [batch(), batch()]
    produce(wire, version, topic, *two)
    for fields in WRONG:
        produce(wire, version, topic, batch(2, **fields))
    for hex_text in ("00", "00" * 17, "00" * 61, "ff" * 61):
        produce(wire, version, topic, {"hex": hex_text})
    fetch(wire, topic)


# Each of these is one flaw in an otherwise good batch of two records.
WRONG = (
    {"baseOffset": 1}, {"baseOffset": -1}, {"leaderEpoch": 77}, {"leaderEpoch": 0}, {"crc": "bad"}, {"magicByte": 3}, {"magicByte": -1},
    {"magicByte": 1}, {"magicByte": 0}, {"codecBits": 5}, {"codecBits": 7}, {"codecBits": 1}, {"count": 1}, {"count": 3}, {"count": 0}, {"count": -1}, {"lastOffsetDelta": 0},
    {"lastOffsetDelta": 2}, {"lastOffsetDelta": -1}, {"count": 3, "lastOffsetDelta": 2}, {"count": 1, "lastOffsetDelta": 0}, {"truncate": 1}, {"truncate": 40}, {"lengthDelta": 1}, {"lengthDelta": -1}, {"lengthDelta": -60},
    {"logAppendTime": True}, {"deleteHorizon": True}, {"control": True}, {"transactional": True}, {"maxTimestamp": 5}, {"maxTimestamp": -1},
    {"maxTimestamp": OLD * 2}, {"baseTimestamp": 0}, {"baseTimestamp": -1}, {"producerId": 5}, {"producerId": 5, "producerEpoch": 0}, {"producerEpoch": 0}, {"baseSequence": 0},
    {"producerId": -2, "producerEpoch": 0, "baseSequence": 0}, {"producerId": 5, "producerEpoch": -1, "baseSequence": 0}, {"codec": "gzip", "truncate": 5}, {"codec": "gzip", "count": 3, "lastOffsetDelta": 2},
    {"codec": "zstd", "count": 1, "lastOffsetDelta": 0}, {"codec": "lz4", "codecBits": 2}, {"codec": "snappy", "codecBits": 3}, {"codec": "zstd", "codecBits": 1}, {"codec": "gzip", "codecBits": 0},
)


@AREA.case("wrong records")
def wrong_records(wire):
    topic = wire.topic()
    for records in (
            [{"value": "a", "offsetDelta": 1}], [{"value": "a", "offsetDelta": -1}], [{"value": "a"}, {"value": "b", "offsetDelta": 0}],
            [{"value": "a", "offsetDelta": 1}, {"value": "b", "offsetDelta": 0}], [{"value": "a", "timestamp": -1}], [{"value": "a", "timestamp": -5}],
            [{"value": "a", "headers": [["", "x"]]}], [{"value": "a", "headers": [["h", None], ["h", "x"]]}], [{"key": None, "value": None}], [{"key": "", "value": ""}]):
        for codec in ("none", "lz4"):
            produce(wire, 12, topic, {"records": records, "codec": codec})
    fetch(wire, topic)


@AREA.case("old magics")
def old_magics(wire):
    topic = wire.topic()
    for version in (3, 9, 12):
        for magic in (0, 1):
            for codec in ("none", "gzip"):
                produce(wire, version, topic, batch(2, magic=magic, codec=codec))
            produce(wire, version, topic, batch(1, magic=magic, crc="bad"))
    fetch(wire, topic)


@AREA.case("compacted topics")
def compacted(wire):
    topic = wire.topic(configs={"cleanup.policy": "compact"})
    for codec in CODECS:
        produce(wire, 12, topic, {"records": [{"key": "k", "value": "v"}, {"value": "no key"}], "codec": codec})
    produce(wire, 8, topic, {"records": [{"value": "no key"}, {"key": "k", "value": None}, {"value": "no key"}]})
    produce(wire, 12, topic, {"records": [{"key": "k", "value": None}, {"key": "", "value": "v"}]})
    fetch(wire, topic)


@AREA.case("sizes")
def sizes(wire):
    topic = wire.topic(configs={"max.message.bytes": "200", "segment.bytes": "1048576"})
    for length in (100, 200):
        produce(wire, 12, topic, {"records": [{"value": "x" * length}]})
        produce(wire, 12, topic, {"records": [{"value": "x" * length}], "codec": "gzip"})
    broker_limit = wire.topic("broker")
    for length in (19000, 21000):
        produce(wire, 12, broker_limit, {"records": [{"value": "x" * length}]})


@AREA.case("exact size limit")
def exact_size(wire):
    size = len(wire.tool.batches([{"records": [{"value": "x" * 100}]}]))
    for limit in (size - 1, size):
        topic = wire.topic(f"limit{size - limit}", configs={"max.message.bytes": str(limit)})
        produce(wire, 12, topic, {"records": [{"value": "x" * 100}]})


@AREA.case("timestamps out of bounds")
def timestamp_bounds(wire):
    topic = wire.topic(configs={"message.timestamp.before.max.ms": "86400000", "message.timestamp.after.max.ms": "3600000"})
    for codec in ("none", "gzip"):
        for timestamp in (OLD, 4000000000000, -1):
            produce(wire, 12, topic, {"records": [{"value": "a", "timestamp": timestamp}, {"value": "b", "timestamp": timestamp}], "codec": codec})
    produce(wire, 7, topic, {"records": [{"value": "a", "timestamp": OLD}]})


@AREA.case("log append time")
def log_append_time(wire):
    topic = wire.topic(configs={"message.timestamp.type": "LogAppendTime"})
    for codec in ("none", "gzip"):
        produce(wire, 12, topic, batch(3, codec=codec))
        produce(wire, 12, topic, batch(3, codec=codec, logAppendTime=True))
    produce(wire, 2 + 1, topic, batch(1))
    fetch(wire, topic)


def without_sizes(answer):
    """Recompressed batches hold the same records in bytes that depend on the compressor."""
    for topic in answer["responses"]:
        for partition in topic["partitions"]:
            for each in partition["records"]["batches"]:
                each["sizeInBytes"] = "*"
    return answer


@AREA.case("recompression")
def recompression(wire):
    for target in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        topic = wire.topic(target, configs={"compression.type": target})
        for codec in CODECS:
            produce(wire, 12, topic, batch(4, codec=codec))
        produce(wire, 12, topic, batch(4, maxTimestamp=5))
        partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000000}
        wire.call("Fetch", 12, {"maxWaitMs": 0, "minBytes": 0, "topics": [{"topic": topic, "partitions": [partition]}]}, keep=without_sizes)


def producer_id(wire):
    wire.until(lambda: wire.must("InitProducerId", 4, {"transactionalId": None, "transactionTimeoutMs": 60000})["errorCode"] == 0, "producer ids are given")
    return wire.must("InitProducerId", 4, {"transactionalId": None, "transactionTimeoutMs": 60000})["producerId"]


@AREA.case("idempotent sequences")
def idempotent(wire):
    topic = wire.topic()
    producer = producer_id(wire)

    def send(sequence, count=1, epoch=0, codec="none"):
        produce(wire, 12, topic, batch(count, producerId=producer, producerEpoch=epoch, baseSequence=sequence, codec=codec))

    for sequence in range(7):
        send(sequence)
    for sequence in (6, 5, 4, 3, 2, 1, 0):
        send(sequence)
    send(9)
    send(7, 3)
    send(7, 3)
    send(7, 2)
    send(8, 2)
    send(10, codec="gzip")
    send(0, epoch=1)
    send(1, epoch=1)
    send(11, epoch=0)
    send(5, epoch=2)
    send(0, epoch=3)
    fetch(wire, topic)


@AREA.case("first sequence of an unknown producer")
def unknown_producer(wire):
    topic = wire.topic(partitions=2)
    producer = producer_id(wire)
    for sequence in (5, 0):
        produce(wire, 12, topic, batch(1, producerId=producer, producerEpoch=0, baseSequence=sequence))
    produce(wire, 12, topic, batch(1, producerId=producer + 5000, producerEpoch=3, baseSequence=17), partition=1)


@AREA.case("sequence wrap around")
def sequence_wrap(wire):
    topic = wire.topic()
    producer = producer_id(wire)
    produce(wire, 12, topic, batch(2, producerId=producer, producerEpoch=0, baseSequence=2147483646))
    produce(wire, 12, topic, batch(2, producerId=producer, producerEpoch=0, baseSequence=0))
    produce(wire, 12, topic, batch(2, producerId=producer + 1000, producerEpoch=0, baseSequence=2147483647))
    fetch(wire, topic)


@AREA.case("duplicates after a restart")
def duplicates_after_restart(wire):
    topic = wire.topic()
    producer = producer_id(wire)
    for sequence in range(3):
        produce(wire, 12, topic, batch(1, producerId=producer, producerEpoch=0, baseSequence=sequence))
    wire.broker.restart()
    wire.default.close()
    wire.until(lambda: wire.leaders(topic) == 1, "the partition is led again")
    for sequence in (2, 1, 0, 3):
        produce(wire, 12, topic, batch(1, producerId=producer, producerEpoch=0, baseSequence=sequence))


@AREA.case("min.insync.replicas above the replicas")
def min_insync_replicas(wire):
    topic = wire.topic(configs={"min.insync.replicas": "2"})
    for acks in (-1, 1):
        produce(wire, 12, topic, batch(), acks=acks)


@AREA.case("two producers in one request")
def mixed_producers(wire):
    topic = wire.topic()
    produce(wire, 12, topic, batch(1, producerId=9001, producerEpoch=0, baseSequence=0), batch(1))


@AREA.sweep("transactional without transactions", "Produce")
def transactional(wire, version):
    topic = wire.topic()
    produce(wire, version, topic, batch(1, transactional=True, producerId=9100, producerEpoch=0, baseSequence=0))
    produce(wire, version, topic, batch(1, transactional=True))
    produce(wire, version, topic, batch(1, control=True, producerId=9100, producerEpoch=0, baseSequence=0))


@AREA.sweep("InitProducerId", "InitProducerId", highest=5)
def init_producer_id(wire, version):
    producer_id(wire)
    for fields in ({}, {"transactionTimeoutMs": 0}, {"transactionTimeoutMs": -1}, {"transactionTimeoutMs": 2147483647}):
        wire.call("InitProducerId", version, {"transactionalId": None, "transactionTimeoutMs": 60000, **fields})
    wire.call("InitProducerId", version, {"transactionalId": "", "transactionTimeoutMs": 60000})
    if version >= 3:
        for producer, epoch in ((5, 0), (5, -1), (-1, 5), (-1, -1)):
            wire.call("InitProducerId", version, {"transactionalId": None, "transactionTimeoutMs": 60000, "producerId": producer, "producerEpoch": epoch})


@AREA.case("DescribeProducers")
def describe_producers(wire):
    topic = wire.topic(partitions=2)
    producer = producer_id(wire)
    produce(wire, 12, topic, batch(3, producerId=producer, producerEpoch=2, baseSequence=0))
    wire.call("DescribeProducers", 0, {"topics": [{"name": topic, "partitionIndexes": [0, 1, 2, -1]}]})
    for name in (wire.full("absent"), "", "a/b"):
        wire.call("DescribeProducers", 0, {"topics": [{"name": name, "partitionIndexes": [0]}]})
    wire.call("DescribeProducers", 0, {"topics": []})
