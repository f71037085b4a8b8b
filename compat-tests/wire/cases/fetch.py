"""Fetch: what is returned from where, how long it waits, and the rules of incremental sessions."""
import time

from wire.cases import Area

AREA = Area("fetch")
OLD = 1600000000000
UNKNOWN_ID = "4L6g3nShT-eMCtK--X86sw"


def where(wire, version, topic):
    return {"topicId": wire.topic_id(topic)} if version >= 13 else {"topic": topic}


def part(index=0, offset=0, **fields):
    return {"partition": index, "fetchOffset": offset, "partitionMaxBytes": 1000000, **fields}


def request(wire, version, topic, *parts, **fields):
    return {"maxWaitMs": 0, "minBytes": 0, "topics": [{**where(wire, version, topic), "partitions": list(parts)}], **fields}


def fetch(wire, version, topic, *parts, **fields):
    return wire.call("Fetch", version, request(wire, version, topic, *parts, **fields))


def filled(wire, name="t", batches=3, partitions=1, configs=None):
    """A topic whose partition 0 has that many batches of two records each."""
    topic = wire.topic(name, partitions, configs)
    for each in range(batches):
        records = [{"key": f"k{each}", "value": f"v{each}-{n}", "timestamp": OLD + 10 * each + n, "headers": [["h", str(n)]]} for n in range(2)]
        wire.produce(topic, [{"records": records}])
    return topic


@AREA.sweep("offsets", "Fetch")
def offsets(wire, version):
    topic = filled(wire)
    for offset in (0, 1, 2, 5, 6, 7, -1, -2, 2**62):
        fetch(wire, version, topic, part(offset=offset))


@AREA.sweep("read committed", "Fetch")
def read_committed(wire, version):
    fetch(wire, version, filled(wire), part(), isolationLevel=1)
    fetch(wire, version, wire.full("t"), part(), isolationLevel=7)


@AREA.sweep("size limits", "Fetch")
def size_limits(wire, version):
    topic = filled(wire, partitions=2)
    wire.produce(topic, [{"records": [{"value": "other"}]}], partition=1)
    for limit in (0, 1, 80, 200, -1):
        fetch(wire, version, topic, part(partitionMaxBytes=limit), part(1))
        fetch(wire, version, topic, part(), part(1), maxBytes=limit)
    fetch(wire, version, topic, part(offset=6), part(1, partitionMaxBytes=1))
    fetch(wire, version, topic, part(1), part(), maxBytes=1)


@AREA.sweep("not there", "Fetch")
def not_there(wire, version):
    topic = filled(wire)
    fetch(wire, version, topic, part(1), part(-1))
    others = [{"topicId": UNKNOWN_ID}, {"topicId": "AAAAAAAAAAAAAAAAAAAAAA"}] if version >= 13 else [{"topic": wire.full("absent")}, {"topic": ""}, {"topic": "a/b"}]
    for other in others:
        wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "topics": [{**other, "partitions": [part()]}, {**where(wire, version, topic), "partitions": [part()]}]})
    wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "topics": []})
    wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "topics": [{**where(wire, version, topic), "partitions": []}]})


@AREA.sweep("the same partition twice", "Fetch")
def twice(wire, version):
    fetch(wire, version, filled(wire), part(), part(offset=2))


@AREA.sweep("leader epochs", "Fetch", lowest=9)
def leader_epochs(wire, version):
    topic = filled(wire)
    for epoch in (-1, 0, 1, -2):
        fetch(wire, version, topic, part(currentLeaderEpoch=epoch))
    if version >= 12:
        for epoch, offset in ((0, 2), (0, 6), (0, 9), (1, 2), (-1, 2), (5, 6)):
            fetch(wire, version, topic, part(offset=offset, lastFetchedEpoch=epoch))


@AREA.sweep("as a replica", "Fetch")
def as_replica(wire, version):
    topic = filled(wire)
    for replica in (1, 5, -2):
        fields = {"replicaState": {"replicaId": replica, "replicaEpoch": -1}} if version >= 15 else {"replicaId": replica}
        fetch(wire, version, topic, part(), **fields)


@AREA.sweep("rack", "Fetch", lowest=11)
def rack(wire, version):
    fetch(wire, version, filled(wire), part(), rackId="somewhere")


@AREA.sweep("another cluster", "Fetch", lowest=12)
def another_cluster(wire, version):
    fetch(wire, version, filled(wire), part(), clusterId="another")


@AREA.sweep("zstd as stored", "Fetch")
def zstd(wire, version):
    one = wire.topic("as-config", configs={"compression.type": "zstd"})
    other = wire.topic("as-batch")
    for topic in (one, other):
        wire.produce(topic, [{"records": [{"value": "v", "timestamp": OLD}], "codec": "zstd"}])
        fetch(wire, version, topic, part())


@AREA.sweep("after deleting records", "Fetch")
def after_delete_records(wire, version):
    topic = filled(wire)
    wire.must("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partitionIndex": 0, "offset": 3}]}], "timeoutMs": 5000})
    for offset in (0, 2, 3, 4):
        fetch(wire, version, topic, part(offset=offset))


@AREA.case("all codecs")
def codecs(wire):
    topic = wire.topic()
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        wire.produce(topic, [{"records": [{"key": "k", "value": "v" * 300, "timestamp": OLD}], "codec": codec}])
    for offset in range(6):
        fetch(wire, 12, topic, part(offset=offset))


def timed(wire, label, action):
    """Notes whether an answer came at once or only after the longest wait."""
    started = time.monotonic()
    action()
    wire.note(label, {"waited": "long" if time.monotonic() - started > 0.55 else "short"})


@AREA.sweep("waiting", "Fetch", lowest=11)
def waiting(wire, version):
    topic = filled(wire, partitions=2)
    long = {"maxWaitMs": 700, "minBytes": 1}
    timed(wire, "at the end", lambda: fetch(wire, version, topic, part(offset=6), **long))
    timed(wire, "with data", lambda: fetch(wire, version, topic, part(), **long))
    timed(wire, "with too few bytes", lambda: fetch(wire, version, topic, part(), maxWaitMs=700, minBytes=100000))
    timed(wire, "out of range", lambda: fetch(wire, version, topic, part(offset=9), part(1), **long))
    timed(wire, "unknown partition", lambda: fetch(wire, version, topic, part(7), part(1), **long))
    timed(wire, "min bytes 0", lambda: fetch(wire, version, topic, part(offset=6), maxWaitMs=700, minBytes=0))
    timed(wire, "max wait 0", lambda: fetch(wire, version, topic, part(offset=6), maxWaitMs=0, minBytes=1))
    timed(wire, "no topics", lambda: wire.call("Fetch", version, {"maxWaitMs": 700, "minBytes": 1, "topics": []}))


@AREA.sweep("woken by an append", "Fetch")
def woken(wire, version):
    topic = filled(wire, batches=0)
    waiter = wire.connect()
    body = request(wire, version, topic, part(), maxWaitMs=5000, minBytes=1)
    sent = waiter.send("Fetch", version, body)
    time.sleep(0.15)
    wire.produce(topic, [{"records": [{"value": "v", "timestamp": OLD}]}])
    timed(wire, "after the append", lambda: waiter.receive(sent))


@AREA.case("woken by a deletion")
def woken_by_deletion(wire):
    topic = filled(wire, batches=0)
    waiter = wire.connect()
    sent = waiter.send("Fetch", 12, request(wire, 12, topic, part(), maxWaitMs=4000, minBytes=1))
    time.sleep(0.15)
    wire.must("DeleteTopics", 5, {"topicNames": [topic], "timeoutMs": 5000})
    waiter.receive(sent)


@AREA.sweep("session", "Fetch", lowest=7)
def session(wire, version):
    topic = filled(wire, partitions=3)
    opened = fetch(wire, version, topic, part(), part(1), part(2), sessionId=0, sessionEpoch=0)["sessionId"]

    def next_epoch(epoch, *parts, forgotten=(), session_id=opened):
        topics = [{**where(wire, version, topic), "partitions": list(parts)}] if parts else []
        gone = [{**where(wire, version, topic), "partitions": list(forgotten)}] if forgotten else []
        return wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "sessionId": session_id, "sessionEpoch": epoch, "topics": topics, "forgottenTopicsData": gone})

    next_epoch(1, part(0, 6))
    next_epoch(2)
    wire.produce(topic, [{"records": [{"value": "new", "timestamp": OLD}]}], partition=1)
    next_epoch(3)
    next_epoch(4, part(1, 1))
    next_epoch(5, part(1, 50))
    next_epoch(6)
    next_epoch(7, part(1, 1), forgotten=[2])
    next_epoch(8, part(7))
    next_epoch(9)
    next_epoch(3)
    next_epoch(10)
    next_epoch(10, session_id=opened ^ 1)
    next_epoch(11, part(2), forgotten=[0, 1, 2, 7])
    next_epoch(-1, part(0))
    next_epoch(12)


@AREA.sweep("session limits", "Fetch", lowest=7)
def session_kinds(wire, version):
    topic = filled(wire)
    for session_id, epoch in ((0, -1), (0, 5), (5, 0), (5, -1), (-1, 0)):
        fetch(wire, version, topic, part(), sessionId=session_id, sessionEpoch=epoch)
    wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "sessionId": 0, "sessionEpoch": 0, "topics": []})


@AREA.sweep("session and a topic created again", "Fetch", lowest=7)
def session_recreated(wire, version):
    topic = filled(wire)
    opened = fetch(wire, version, topic, part(), sessionId=0, sessionEpoch=0)["sessionId"]
    wire.delete_topic(topic)
    step = {"maxWaitMs": 0, "minBytes": 0, "sessionId": opened, "topics": []}
    wire.call("Fetch", version, {**step, "sessionEpoch": 1})
    filled(wire, batches=1)
    wire.call("Fetch", version, {**step, "sessionEpoch": 2})
    wire.call("Fetch", version, {**step, "sessionEpoch": 3})


@AREA.case("session that changes between names and ids")
def session_mixed(wire):
    topic = filled(wire)
    opened = fetch(wire, 12, topic, part(), sessionId=0, sessionEpoch=0)["sessionId"]
    fetch(wire, 13, topic, part(), sessionId=opened, sessionEpoch=1)
    opened = fetch(wire, 13, topic, part(), sessionId=0, sessionEpoch=0)["sessionId"]
    fetch(wire, 12, topic, part(), sessionId=opened, sessionEpoch=1)
