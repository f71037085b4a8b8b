"""ListOffsets and OffsetForLeaderEpoch: positions by time and by epoch."""
from wire.cases import Area

AREA = Area("list_offsets")
OLD = 1600000000000


def ask(wire, version, topic, *partitions, **fields):
    return wire.call("ListOffsets", version, {"replicaId": -1, "topics": [{"name": topic, "partitions": list(partitions)}], **fields})


def at(timestamp, index=0, **fields):
    return {"partitionIndex": index, "timestamp": timestamp, **fields}


def filled(wire):
    """Times rise by 10, but the second batch ends with a record older than its first; partition 1 stays empty."""
    topic = wire.topic(partitions=2)
    for codec, times in (("none", (0, 10)), ("gzip", (30, 20)), ("none", (40, 40)), ("zstd", (50, 60))):
        wire.produce(topic, [{"records": [{"value": "v", "timestamp": OLD + each} for each in times], "codec": codec}])
    return topic


@AREA.sweep("by time", "ListOffsets")
def by_time(wire, version):
    topic = filled(wire)
    for time in (0, 1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 55, 60, 61):
        ask(wire, version, topic, at(OLD + time))
    ask(wire, version, topic, at(0))
    ask(wire, version, topic, at(2**63 - 1))
    ask(wire, version, topic, at(OLD, 1))


@AREA.sweep("special times", "ListOffsets")
def special_times(wire, version):
    topic = filled(wire)
    for time in (-1, -2, -3, -4, -5, -6, -7, -100):
        ask(wire, version, topic, at(time), at(time, 1))
        ask(wire, version, topic, at(time), isolationLevel=1)


@AREA.sweep("not there", "ListOffsets")
def not_there(wire, version):
    topic = filled(wire)
    ask(wire, version, topic, at(-1, 2), at(-1, -1))
    for name in (wire.full("absent"), "", "a/b"):
        ask(wire, version, name, at(-1))
    ask(wire, version, topic)
    ask(wire, version, topic, at(-1), at(-2))
    ask(wire, version, topic, at(-1), at(-1))
    wire.call("ListOffsets", version, {"replicaId": -1, "topics": []})


@AREA.sweep("leader epochs", "ListOffsets", lowest=4)
def leader_epochs(wire, version):
    topic = filled(wire)
    for epoch in (-1, 0, 1, -2):
        ask(wire, version, topic, at(-1, currentLeaderEpoch=epoch))
        ask(wire, version, topic, at(OLD, currentLeaderEpoch=epoch))


@AREA.sweep("as a replica", "ListOffsets")
def as_replica(wire, version):
    topic = filled(wire)
    for replica in (-2, 1, 5):
        wire.call("ListOffsets", version, {"replicaId": replica, "topics": [{"name": topic, "partitions": [at(-1)]}]})


@AREA.sweep("after deleting records", "ListOffsets")
def after_delete_records(wire, version):
    topic = filled(wire)
    wire.must("DeleteRecords", 2, {"topics": [{"name": topic, "partitions": [{"partitionIndex": 0, "offset": 3}]}], "timeoutMs": 5000})
    for time in (-2, -1, OLD, OLD + 20, OLD + 30, OLD + 50):
        ask(wire, version, topic, at(time))
    if version >= 8:
        ask(wire, version, topic, at(-3))
        ask(wire, version, topic, at(-4))


@AREA.case("over several segments and a restart")
def segments(wire):
    topic = wire.topic(configs={"segment.bytes": "1048576", "index.interval.bytes": "4096"})
    for each in range(8):
        wire.produce(topic, [{"records": [{"value": "x" * 150000, "timestamp": OLD + 100 * each}, {"value": "x" * 150000, "timestamp": OLD + 100 * each + 50}]}])
    times = [OLD + each for each in range(0, 850, 50)] + [-1, -2, -3]
    ask(wire, 7, topic, at(OLD))
    for time in times:
        ask(wire, 7, topic, at(time))
    wire.broker.restart()
    wire.default.close()
    wire.until(lambda: wire.leaders(topic) == 1, "the partition is led again")
    for time in times:
        ask(wire, 7, topic, at(time))


@AREA.sweep("OffsetForLeaderEpoch", "OffsetForLeaderEpoch")
def offset_for_leader_epoch(wire, version):
    topic = filled(wire)

    def epoch(name, index, value, current=-1, replica=-1):
        partitions = [{"partition": index, "currentLeaderEpoch": current, "leaderEpoch": value}]
        wire.call("OffsetForLeaderEpoch", version, {"replicaId": replica, "topics": [{"topic": name, "partitions": partitions}]})

    for value in (0, 1, -1, -2, 100):
        epoch(topic, 0, value)
        epoch(topic, 1, value)
    for current in (0, 1, -2):
        epoch(topic, 0, 0, current)
    for replica in (-2, 1, 5):
        epoch(topic, 0, 0, replica=replica)
    epoch(topic, 7, 0)
    epoch(wire.full("absent"), 0, 0)
    epoch("", 0, 0)
    wire.call("OffsetForLeaderEpoch", version, {"topics": []})


@AREA.case("epochs after a restart")
def epochs_after_restart(wire):
    topic = filled(wire)
    wire.broker.restart()
    wire.default.close()
    wire.until(lambda: wire.leaders(topic) == 2, "the partition is led again")
    wire.produce(topic, [{"records": [{"value": "later", "timestamp": OLD + 100}]}])
    for value in (0, 1, 2, 3, 4, 5):
        wire.call("OffsetForLeaderEpoch", 4, {"replicaId": -1, "topics": [{"topic": topic, "partitions": [{"partition": 0, "leaderEpoch": value}]}]})
