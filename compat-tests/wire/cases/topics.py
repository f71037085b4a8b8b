"""CreateTopics, DeleteTopics, CreatePartitions, DeleteRecords and the one-node answers of elections and reassignments."""
from wire.cases import Area

AREA = Area("topics")
UNKNOWN_ID = "4L6g3nShT-eMCtK--X86sw"


def create(wire, version, *topics, **fields):
    return wire.call("CreateTopics", version, {"topics": list(topics), "timeoutMs": 10000, **fields})


def new(name, partitions=1, replicas=1, assignments=(), configs=()):
    given = [{"partitionIndex": index, "brokerIds": brokers} for index, brokers in assignments]
    return {"name": name, "numPartitions": partitions, "replicationFactor": replicas, "assignments": given,
            "configs": [{"name": key, "value": value} for key, value in configs]}


@AREA.sweep("create", "CreateTopics")
def create_one(wire, version):
    create(wire, version, new(wire.full("a"), 3), new(wire.full("b")))
    create(wire, version, new(wire.full("a"), 3))
    create(wire, version, new(wire.full("a"), 3), validateOnly=True)


@AREA.sweep("create with defaults", "CreateTopics")
def create_defaults(wire, version):
    create(wire, version, new(wire.full("both"), -1, -1))
    create(wire, version, new(wire.full("partitions"), -1, 1))
    create(wire, version, new(wire.full("replicas"), 1, -1))


@AREA.sweep("create with wrong numbers", "CreateTopics")
def create_wrong_numbers(wire, version):
    for partitions, replicas in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (1, 32767)):
        create(wire, version, new(wire.full(f"p{partitions}r{replicas}"), partitions, replicas))


@AREA.sweep("create with invalid names", "CreateTopics")
def create_invalid_names(wire, version):
    for name in ("", ".", "..", "a/b", "a b", "\u00e9", "n" * 249, "n" * 250, "__cluster_metadata", "__consumer_offsets"):
        create(wire, version, new(name), validateOnly=True)


@AREA.sweep("create with colliding names", "CreateTopics")
def create_colliding(wire, version):
    create(wire, version, new(wire.full("x.y")))
    create(wire, version, new(wire.full("x_y")))
    create(wire, version, new(wire.full("q.r")), new(wire.full("q_r")))


@AREA.sweep("create the same name twice", "CreateTopics")
def create_duplicates(wire, version):
    create(wire, version, new(wire.full("a")), new(wire.full("a")), new(wire.full("b")))


@AREA.sweep("create with assignments", "CreateTopics")
def create_assignments(wire, version):
    create(wire, version, new(wire.full("good"), -1, -1, [(0, [1]), (1, [1])]))
    create(wire, version, new(wire.full("unordered"), -1, -1, [(1, [1]), (0, [1])]))
    create(wire, version, new(wire.full("gap"), -1, -1, [(0, [1]), (2, [1])]))
    create(wire, version, new(wire.full("offset"), -1, -1, [(1, [1])]))
    create(wire, version, new(wire.full("negative"), -1, -1, [(-1, [1])]))
    create(wire, version, new(wire.full("twice"), -1, -1, [(0, [1]), (0, [1])]))
    create(wire, version, new(wire.full("unknownbroker"), -1, -1, [(0, [9])]))
    create(wire, version, new(wire.full("samebroker"), -1, -1, [(0, [1, 1])]))
    create(wire, version, new(wire.full("nobroker"), -1, -1, [(0, [])]))
    create(wire, version, new(wire.full("uneven"), -1, -1, [(0, [1]), (1, [1, 9])]))
    create(wire, version, new(wire.full("bothp"), 1, -1, [(0, [1])]))
    create(wire, version, new(wire.full("bothr"), -1, 1, [(0, [1])]))


@AREA.sweep("create with configs", "CreateTopics")
def create_configs(wire, version):
    create(wire, version, new(wire.full("good"), configs=[("cleanup.policy", "compact"), ("retention.ms", "1000")]))
    create(wire, version, new(wire.full("unknown"), configs=[("no.such.key", "1")]))
    create(wire, version, new(wire.full("type"), configs=[("retention.ms", "abc")]))
    create(wire, version, new(wire.full("range"), configs=[("retention.ms", "-2")]))
    create(wire, version, new(wire.full("segment"), configs=[("segment.bytes", "1048575")]))
    create(wire, version, new(wire.full("enum"), configs=[("cleanup.policy", "shred")]))
    create(wire, version, new(wire.full("null"), configs=[("retention.ms", None)]))
    create(wire, version, new(wire.full("empty"), configs=[("cleanup.policy", "")]))
    create(wire, version, new(wire.full("twice"), configs=[("retention.ms", "1"), ("retention.ms", "2")]))
    create(wire, version, new(wire.full("internal"), configs=[("remote.storage.enable", "true")]))


@AREA.sweep("validate only", "CreateTopics")
def validate_only(wire, version):
    create(wire, version, new(wire.full("a"), 2, configs=[("retention.ms", "5")]), validateOnly=True)
    wire.call("Metadata", 9, {"topics": [{"name": wire.full("a")}], "allowAutoTopicCreation": False})


@AREA.sweep("no topics", "CreateTopics")
def create_nothing(wire, version):
    create(wire, version)


@AREA.sweep("delete by name", "DeleteTopics", highest=5)
def delete(wire, version):
    one, other = wire.topic("a"), wire.topic("b")
    wire.call("DeleteTopics", version, {"topicNames": [one, wire.full("absent")], "timeoutMs": 10000})
    wire.call("DeleteTopics", version, {"topicNames": [one], "timeoutMs": 10000})
    wire.call("DeleteTopics", version, {"topicNames": [other, other], "timeoutMs": 10000})
    wire.call("DeleteTopics", version, {"topicNames": ["", "a/b"], "timeoutMs": 10000})
    wire.call("DeleteTopics", version, {"topicNames": [], "timeoutMs": 10000})


@AREA.case("delete v6")
def delete_by_id(wire):
    one, other, third = wire.topic("a"), wire.topic("b"), wire.topic("c")
    one_id, other_id = wire.topic_id(one), wire.topic_id(other)
    for topics in ([{"name": None, "topicId": one_id}, {"name": third}], [{"name": None, "topicId": UNKNOWN_ID}], [{"name": other, "topicId": other_id}],
                   [{"name": None}], [{"name": wire.full("absent")}], [{"name": other}, {"name": None, "topicId": other_id}],
                   [{"name": None, "topicId": other_id}, {"name": None, "topicId": other_id}], [{"name": other}], []):
        wire.call("DeleteTopics", 6, {"topics": topics, "timeoutMs": 10000})


@AREA.sweep("more partitions", "CreatePartitions")
def more_partitions(wire, version):
    topic = wire.topic(partitions=2)

    def grow(*topics, validate=False):
        given = [{"name": name, "count": count, "assignments": brokers and [{"brokerIds": each} for each in brokers]} for name, count, brokers in topics]
        wire.call("CreatePartitions", version, {"topics": given, "timeoutMs": 10000, "validateOnly": validate})

    grow((topic, 4, None), validate=True)
    grow((topic, 3, None))
    for count in (3, 2, 0, -1):
        grow((topic, count, None))
    grow((wire.full("absent"), 3, None))
    grow((topic, 4, [[1]]))
    grow((topic, 5, [[9]]))
    grow((topic, 5, [[1, 1]]))
    grow((topic, 5, [[]]))
    grow((topic, 6, [[1]]))
    grow((topic, 5, [[1], [1]]))
    grow((topic, 5, [[1, 2]]))
    grow((topic, 5, None), (topic, 6, None))
    grow(("", 5, None))
    grow()
    wire.call("Metadata", 9, {"topics": [{"name": topic}]})


@AREA.sweep("delete records", "DeleteRecords")
def delete_records(wire, version):
    topic = wire.topic(partitions=2)
    compacted = wire.topic("compacted", configs={"cleanup.policy": "compact"})
    wire.produce(topic, [{"records": [{"value": str(each)} for each in range(10)]}])
    wire.produce(compacted, [{"records": [{"key": "k", "value": "v"}]}])

    def delete(name, *partitions):
        given = [{"partitionIndex": index, "offset": offset} for index, offset in partitions]
        wire.call("DeleteRecords", version, {"topics": [{"name": name, "partitions": given}], "timeoutMs": 5000})

    delete(topic, (0, 4), (1, 0))
    delete(topic, (0, 4))
    delete(topic, (0, 2))
    delete(topic, (0, 11), (1, 1))
    delete(topic, (0, -2), (5, 0))
    delete(topic, (0, -1))
    delete(compacted, (0, 1))
    delete(wire.full("absent"), (0, 0))
    wire.call("DeleteRecords", version, {"topics": [], "timeoutMs": 5000})
    probe = {"replicaId": -1, "topics": [{"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -2}]}]}
    wire.call("ListOffsets", 5, probe)


def own(wire):
    """Reduces an answer about all topics to this case's."""
    return lambda answer: {**answer, "replicaElectionResults": [each for each in answer["replicaElectionResults"] if each["topic"].startswith(wire.full(""))]}


@AREA.sweep("elect leaders", "ElectLeaders")
def elect_leaders(wire, version):
    topic = wire.topic(partitions=2)
    for kind in (0, 1) if version >= 1 else (0,):
        wire.call("ElectLeaders", version, {"electionType": kind, "topicPartitions": [{"topic": topic, "partitions": [0, 1]}], "timeoutMs": 5000})
        wire.call("ElectLeaders", version, {"electionType": kind, "topicPartitions": [{"topic": wire.full("absent"), "partitions": [0]}], "timeoutMs": 5000})
        wire.call("ElectLeaders", version, {"electionType": kind, "topicPartitions": [{"topic": topic, "partitions": [7]}], "timeoutMs": 5000})
        wire.call("ElectLeaders", version, {"electionType": kind, "topicPartitions": [], "timeoutMs": 5000})
        wire.call("ElectLeaders", version, {"electionType": kind, "topicPartitions": None, "timeoutMs": 5000}, keep=own(wire))
    if version >= 1:
        wire.call("ElectLeaders", version, {"electionType": 5, "topicPartitions": [{"topic": topic, "partitions": [0]}], "timeoutMs": 5000})


@AREA.sweep("reassignments", "AlterPartitionReassignments")
def reassignments(wire, version):
    topic = wire.topic(partitions=2)

    def alter(name, index, replicas, **fields):
        topics = [{"name": name, "partitions": [{"partitionIndex": index, "replicas": replicas}]}]
        wire.call("AlterPartitionReassignments", version, {"topics": topics, "timeoutMs": 5000, **fields})

    alter(topic, 0, [1])
    alter(topic, 0, [9])
    alter(topic, 0, [1, 1])
    alter(topic, 0, [1, 9])
    alter(topic, 0, [])
    alter(topic, 0, None)
    alter(topic, 7, [1])
    alter(topic, 7, None)
    alter(wire.full("absent"), 0, [1])
    if version >= 1:
        alter(topic, 0, [1, 9], allowReplicationFactorChange=False)
    wire.call("AlterPartitionReassignments", version, {"topics": [], "timeoutMs": 5000})
    for topics in ([{"name": topic, "partitionIndexes": [0, 1]}], [{"name": wire.full("absent"), "partitionIndexes": [0]}], [], None):
        wire.call("ListPartitionReassignments", 0, {"topics": topics, "timeoutMs": 5000})


@AREA.case("move between log directories")
def alter_replica_log_dirs(wire):
    topic = wire.topic()
    for version in (1, 2):
        for path, name in ((str(wire.broker.log_dir), topic), ("/no/such/folder", topic), ("relative", topic), (str(wire.broker.log_dir), wire.full("absent"))):
            wire.call("AlterReplicaLogDirs", version, {"dirs": [{"path": path, "topics": [{"name": name, "partitions": [0]}]}]})
