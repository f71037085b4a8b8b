"""Metadata, DescribeTopicPartitions, DescribeCluster, FindCoordinator: who and what is where."""
from wire.cases import Area

AREA = Area("metadata")
UNKNOWN_ID = "4L6g3nShT-eMCtK--X86sw"
LONG_NAME = "n" * 250


def own(wire):
    """Reduces a Metadata answer to this case's topics."""
    return lambda answer: {**answer, "topics": [each for each in answer["topics"] if (each["name"] or "").startswith(wire.full(""))]}


@AREA.sweep("one topic", "Metadata")
def one_topic(wire, version):
    topic = wire.topic(partitions=3)
    wire.call("Metadata", version, {"topics": [{"name": topic}]})


@AREA.sweep("all topics", "Metadata")
def all_topics(wire, version):
    wire.topic("a")
    wire.topic("b", partitions=2)
    wire.call("Metadata", version, {"topics": None if version > 0 else []}, keep=own(wire))


@AREA.sweep("no topics", "Metadata", lowest=1)
def no_topics(wire, version):
    wire.call("Metadata", version, {"topics": []})


@AREA.sweep("a topic twice", "Metadata")
def topic_twice(wire, version):
    topic = wire.topic()
    wire.call("Metadata", version, {"topics": [{"name": topic}, {"name": topic}]})


@AREA.sweep("unknown topic without creation", "Metadata", lowest=4)
def unknown_topic(wire, version):
    wire.call("Metadata", version, {"topics": [{"name": wire.full("absent")}], "allowAutoTopicCreation": False})


@AREA.sweep("invalid names", "Metadata", lowest=4)
def invalid_names(wire, version):
    for allowed in (False, True):
        for name in ("", ".", "..", "a/b", "a b", "\u00e9", LONG_NAME):
            wire.call("Metadata", version, {"topics": [{"name": name}], "allowAutoTopicCreation": allowed})


@AREA.sweep("automatic creation", "Metadata")
def automatic_creation(wire, version):
    name = wire.full("auto")
    request = {"topics": [{"name": name}], "allowAutoTopicCreation": True}
    first = wire.call("Metadata", version, request, keep=lambda answer: {"topics": [{**each, "topicId": ""} for each in answer["topics"]]})
    assert first["topics"][0]["errorCode"] in (0, 3, 5), first
    wire.until(lambda: wire.must("Metadata", version, request)["topics"][0]["errorCode"] == 0, "the topic is there")
    wire.call("Metadata", version, request)


@AREA.case("automatic creation of internal topics")
def internal_creation(wire):
    for name in ("__consumer_offsets", "__transaction_state"):
        wire.must("Metadata", 9, {"topics": [{"name": name}], "allowAutoTopicCreation": True})
        request = {"topics": [{"name": name}], "allowAutoTopicCreation": False}
        wire.until(lambda: wire.must("Metadata", 9, request)["topics"][0]["errorCode"] == 0, "the topic is there")
        wire.call("Metadata", 12, request)


@AREA.sweep("by id", "Metadata", lowest=10)
def by_id(wire, version):
    topic = wire.topic()
    topic_id = wire.topic_id(topic)
    wire.call("Metadata", version, {"topics": [{"name": None, "topicId": topic_id}]})
    wire.call("Metadata", version, {"topics": [{"name": None, "topicId": UNKNOWN_ID}]})
    wire.call("Metadata", version, {"topics": [{"name": None}]})
    wire.call("Metadata", version, {"topics": [{"name": topic, "topicId": topic_id}]})
    wire.call("Metadata", version, {"topics": [{"name": topic}, {"name": None, "topicId": topic_id}]})


@AREA.sweep("authorized operations", "Metadata", lowest=8)
def authorized_operations(wire, version):
    topic = wire.topic()
    request = {"topics": [{"name": topic}], "includeTopicAuthorizedOperations": True}
    if version <= 10:
        request["includeClusterAuthorizedOperations"] = True
    wire.call("Metadata", version, request)


@AREA.case("a deleted topic")
def deleted(wire):
    topic = wire.topic()
    topic_id = wire.topic_id(topic)
    wire.delete_topic(topic)
    wire.call("Metadata", 12, {"topics": [{"name": topic}], "allowAutoTopicCreation": False})
    wire.call("Metadata", 12, {"topics": [{"name": None, "topicId": topic_id}], "allowAutoTopicCreation": False})
    again = wire.topic()
    assert wire.topic_id(again) != topic_id
    wire.call("Metadata", 12, {"topics": [{"name": again}]})


@AREA.case("DescribeTopicPartitions")
def describe_topic_partitions(wire):
    one, other = wire.topic("a", partitions=3), wire.topic("b", partitions=2)
    both = [{"name": one}, {"name": other}]
    wire.call("DescribeTopicPartitions", 0, {"topics": both})
    wire.call("DescribeTopicPartitions", 0, {"topics": [{"name": other}, {"name": one}, {"name": wire.full("absent")}]})
    wire.call("DescribeTopicPartitions", 0, {"topics": [{"name": ""}, {"name": "a/b"}]})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "responsePartitionLimit": 4})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "responsePartitionLimit": 3})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "responsePartitionLimit": 1})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "responsePartitionLimit": 0})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "cursor": {"topicName": one, "partitionIndex": 1}})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "cursor": {"topicName": other, "partitionIndex": 0}})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "cursor": {"topicName": one, "partitionIndex": 9}})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "cursor": {"topicName": one, "partitionIndex": -1}})
    wire.call("DescribeTopicPartitions", 0, {"topics": both, "cursor": {"topicName": wire.full("aa"), "partitionIndex": 0}})


@AREA.sweep("DescribeCluster", "DescribeCluster")
def describe_cluster(wire, version):
    wire.call("DescribeCluster", version, {})
    wire.call("DescribeCluster", version, {"includeClusterAuthorizedOperations": True})
    if version >= 1:
        for endpoint_type in (0, 1, 2, 3, 99):
            wire.call("DescribeCluster", version, {"endpointType": endpoint_type})
    if version >= 2:
        wire.call("DescribeCluster", version, {"includeFencedBrokers": True})


@AREA.sweep("FindCoordinator", "FindCoordinator", highest=3)
def find_coordinator(wire, version):
    group = wire.group()
    wire.call("FindCoordinator", version, {"key": group, "keyType": 0})
    wire.call("FindCoordinator", version, {"key": "", "keyType": 0})
    if version >= 1:
        for key_type in (2, 3, -1):
            wire.call("FindCoordinator", version, {"key": group, "keyType": key_type})


@AREA.sweep("FindCoordinator of several", "FindCoordinator", lowest=4)
def find_coordinators(wire, version):
    group = wire.group()
    wire.call("FindCoordinator", version, {"keyType": 0, "coordinatorKeys": [group, group + "2", ""]})
    wire.call("FindCoordinator", version, {"keyType": 0, "coordinatorKeys": []})
    for key_type in (2, 3, -1):
        wire.call("FindCoordinator", version, {"keyType": key_type, "coordinatorKeys": [group]})


@AREA.case("FindCoordinator for transactions")
def find_transaction_coordinator(wire):
    name = wire.full("tx")
    several = {"keyType": 1, "coordinatorKeys": [name]}
    wire.until(lambda: wire.must("FindCoordinator", 4, several)["coordinators"][0]["errorCode"] == 0, "there is a transaction coordinator")
    for version in range(1, 7):
        for key in (name, ""):
            wire.call("FindCoordinator", version, {"keyType": 1, "coordinatorKeys": [key]} if version >= 4 else {"keyType": 1, "key": key})
