"""Requests that name something several times, name nothing of it, or give a type that does not exist."""
from wire.cases import Area
from wire.cases.groups import Member

AREA = Area("repeated")
OLD = 1600000000000
UNKNOWN_ID = "4L6g3nShT-eMCtK--X86sw"


def filled(wire, name="t", partitions=3):
    topic = wire.topic(name, partitions)
    for index in range(partitions):
        wire.produce(topic, [{"records": [{"value": str(each), "timestamp": OLD + each} for each in range(4)]}], partition=index)
    return topic


@AREA.case("Produce")
def produce(wire):
    topic, other = wire.topic("a", partitions=2), wire.topic("b")
    batch, broken = {"records": [{"value": "v", "timestamp": OLD}]}, {"records": [{"value": "v", "timestamp": OLD}], "baseOffset": 1}

    def data(index, *batches):
        return {"index": index, "records": list(batches)}

    for parts in ([data(0, batch), data(0)], [data(0), data(0, batch)], [data(0, broken), data(0, batch)], [data(0, batch), data(0, broken)],
                  [data(9, batch), data(9, batch)], [data(0, batch), data(1, batch), data(0, batch)], [data(0, {"magicByte": 3, **batch}), data(1, batch)]):
        wire.call("Produce", 12, {"acks": 1, "timeoutMs": 5000, "topicData": [{"name": topic, "partitionData": parts}]})
    split = [{"name": topic, "partitionData": [data(0, batch)]}, {"name": other, "partitionData": [data(0, batch)]}, {"name": topic, "partitionData": [data(1, batch)]}]
    wire.call("Produce", 12, {"acks": 1, "timeoutMs": 5000, "topicData": split})
    wire.call("Produce", 13, {"acks": 1, "timeoutMs": 5000, "topicData": [{"topicId": UNKNOWN_ID, "partitionData": [data(0, batch), data(0)]}]})
    wire.call("Produce", 12, {"acks": 5, "timeoutMs": 5000, "topicData": split + [{"name": wire.full("absent"), "partitionData": [data(0, batch)]}]})
    wire.call("Produce", 12, {"acks": 1, "timeoutMs": 5000, "topicData": [{"name": "__consumer_offsets", "partitionData": [data(0, batch)]}]})
    for name in (topic, other):
        for index in range(2):
            probe = {"replicaId": -1, "topics": [{"name": name, "partitions": [{"partitionIndex": index, "timestamp": -1}]}]}
            wire.call("ListOffsets", 5, probe)


@AREA.sweep("Fetch", "Fetch", lowest=6)
def fetch(wire, version):
    topic, other = filled(wire, "a"), filled(wire, "b", 1)

    def where(name):
        return {"topicId": wire.topic_id(name)} if version >= 13 else {"topic": name}

    def part(index=0, offset=0, **fields):
        return {"partition": index, "fetchOffset": offset, "partitionMaxBytes": 1000000, **fields}

    def call(*topics, **fields):
        asked = [{**where(name), "partitions": list(parts)} for name, parts in topics]
        return wire.call("Fetch", version, {"maxWaitMs": 0, "minBytes": 0, "topics": asked, **fields})

    call((topic, [part(0)]), (other, [part(0)]), (topic, [part(1)]))
    call((topic, [part(0)]), (topic, [part(1), part(0, 2)]))
    call((topic, []), (other, [part(0)]))
    call((topic, [part(0)]), (topic, [part(9)]), isolationLevel=5)
    call((topic, [part(0), part(0)]), isolationLevel=-1)
    call((topic, [part(9)]), isolationLevel=5)
    call((topic, [part(0, partitionMaxBytes=1), part(1, partitionMaxBytes=1)]), isolationLevel=1)
    call((topic, [part(0, 4, partitionMaxBytes=-1)]), maxBytes=-1)
    if version >= 7:
        opened = call((topic, [part(0), part(1)]), sessionId=0, sessionEpoch=0)["sessionId"]
        call((topic, [part(0, 4), part(0, 2)]), sessionId=opened, sessionEpoch=1)
        forgotten = [{**where(topic), "partitions": [0, 0, 7]}]
        call((topic, [part(0, 3)]), sessionId=opened, sessionEpoch=2, forgottenTopicsData=forgotten)
        call(sessionId=opened, sessionEpoch=3, isolationLevel=5)
        call(sessionId=opened, sessionEpoch=4)


@AREA.case("ListOffsets")
def list_offsets(wire):
    topic, other = filled(wire, "a"), filled(wire, "b", 1)

    def call(*topics, **fields):
        asked = [{"name": name, "partitions": [{"partitionIndex": index, "timestamp": -1} for index in indexes]} for name, indexes in topics]
        wire.call("ListOffsets", 7, {"replicaId": -1, "topics": asked, **fields})

    call((topic, [0]), (other, [0]), (topic, [1]))
    call((topic, [0, 1]), (topic, [0]))
    call((topic, []), (topic, [0]))
    call((topic, [0, 0]), (other, []), isolationLevel=5)
    call(isolationLevel=5)
    call((topic, []), isolationLevel=5)
    call((topic, [0]), replicaId=5)
    call((topic, [0]), replicaId=-2)
    call((topic, [0]), replicaId=-3, isolationLevel=-1)


@AREA.case("OffsetForLeaderEpoch")
def offset_for_leader_epoch(wire):
    topic, other = filled(wire, "a"), filled(wire, "b", 1)

    def call(*topics, **fields):
        asked = [{"topic": name, "partitions": [{"partition": index, "currentLeaderEpoch": -1, "leaderEpoch": 0} for index in indexes]} for name, indexes in topics]
        wire.call("OffsetForLeaderEpoch", 4, {"replicaId": -1, "topics": asked, **fields})

    call((topic, [0, 0, 9]))
    call((topic, [0]), (other, [0]), (topic, [1]))
    call((topic, []), (wire.full("absent"), []), ("", [0]))
    call((topic, [0]), replicaId=5)


@AREA.case("DeleteRecords")
def delete_records(wire):
    topic, other = filled(wire, "a"), filled(wire, "b", 1)

    def call(*topics):
        asked = [{"name": name, "partitions": [{"partitionIndex": index, "offset": offset} for index, offset in parts]} for name, parts in topics]
        wire.call("DeleteRecords", 2, {"topics": asked, "timeoutMs": 5000})

    call((topic, [(0, 1), (0, 2)]))
    call((topic, [(0, 3), (0, 2)]))
    call((topic, [(1, 1)]), (other, [(0, 1)]), (topic, [(2, 1)]))
    call((topic, []), (other, [(0, 2)]))
    call((topic, []), (wire.full("absent"), []))
    call((wire.full("absent"), [(0, 1), (0, 1)]), ("", [(0, 0)]))


@AREA.case("Metadata")
def metadata(wire):
    topic, other = wire.topic("a"), wire.topic("b")
    ids = [{"name": None, "topicId": wire.topic_id(topic)}]
    for topics in (ids * 2, [*ids, {"name": other}], [{"name": other}, {"name": None}], [*ids, {"name": None}], [{"name": "", "topicId": UNKNOWN_ID}], [{"name": ""}, {"name": topic}]):
        wire.call("Metadata", 12, {"topics": topics, "allowAutoTopicCreation": False, "includeTopicAuthorizedOperations": True})
    for topics in ([{"name": topic}, {"name": topic}, {"name": other}], [{"name": other, "topicId": UNKNOWN_ID}]):
        wire.call("Metadata", 11 if "topicId" not in topics[0] else 10, {"topics": topics, "allowAutoTopicCreation": False})


@AREA.case("DescribeTopicPartitions")
def describe_topic_partitions(wire):
    topic = wire.topic("a", partitions=2)
    for topics in ([topic, topic], [topic, ""], ["a/b", topic]):
        for cursor in (None, {"topicName": topic, "partitionIndex": 1}, {"topicName": "", "partitionIndex": 0}):
            wire.call("DescribeTopicPartitions", 0, {"topics": [{"name": name} for name in topics], "cursor": cursor})


@AREA.case("DescribeProducers")
def describe_producers(wire):
    topic = filled(wire, "a")
    for topics in ([(topic, [0, 0])], [(topic, [0]), (topic, [1])], [(topic, [])], [("", [0]), ("a/b", [])], [(topic, [9, -1])]):
        wire.call("DescribeProducers", 0, {"topics": [{"name": name, "partitionIndexes": indexes} for name, indexes in topics]})


@AREA.case("DescribeLogDirs")
def describe_log_dirs(wire):
    topic, other = filled(wire, "a"), filled(wire, "b", 1)

    def own(answer):
        return {**answer, "results": [{**each, "topics": [one for one in each["topics"] if one["name"].startswith(wire.full(""))]} for each in answer["results"]]}

    for topics in ([(topic, [0, 0])], [(topic, [0]), (other, [0]), (topic, [1])], [(topic, [])], [("", [0])]):
        wire.call("DescribeLogDirs", 4, {"topics": [{"topic": name, "partitions": indexes} for name, indexes in topics]}, keep=own)


@AREA.case("elections and reassignments")
def elections(wire):
    topic, other = wire.topic("a", partitions=2), wire.topic("b")
    absent = wire.full("absent")
    for topics in ([(topic, [0, 0])], [(topic, [0]), (other, [0]), (topic, [1])], [(topic, [])], [(absent, [0, 0]), ("", [0])], [(absent, []), (topic, [0, 9])]):
        asked = [{"topic": name, "partitions": indexes} for name, indexes in topics]
        for kind in (0, 1, -1):
            wire.call("ElectLeaders", 2, {"electionType": kind, "topicPartitions": asked, "timeoutMs": 5000})
        asked = [{"name": name, "partitions": [{"partitionIndex": index, "replicas": None} for index in indexes]} for name, indexes in topics]
        wire.call("AlterPartitionReassignments", 1, {"topics": asked, "timeoutMs": 5000})
        asked = [{"name": name, "partitions": [{"partitionIndex": index, "replicas": [1]} for index in indexes]} for name, indexes in topics]
        wire.call("AlterPartitionReassignments", 1, {"topics": asked, "timeoutMs": 5000})
        asked = [{"name": name, "partitionIndexes": indexes} for name, indexes in topics]
        wire.call("ListPartitionReassignments", 0, {"topics": asked, "timeoutMs": 5000})


@AREA.sweep("OffsetCommit and OffsetFetch", "OffsetCommit", lowest=9)
def offsets(wire, version):
    group, topic, other = wire.group(), wire.topic("a", partitions=2), wire.topic("b")
    absent = wire.full("absent")

    def where(name):
        if version < 10:
            return {"name": name}
        return {"topicId": UNKNOWN_ID if name == absent else wire.topic_id(name)}

    def commit(*topics):
        asked = [{**where(name), "partitions": [{"partitionIndex": index, "committedOffset": offset} for index, offset in parts]} for name, parts in topics]
        wire.call("OffsetCommit", version, {"groupId": group, "topics": asked})

    def fetch(*topics):
        asked = [{**where(name), "partitionIndexes": indexes} for name, indexes in topics]
        wire.call("OffsetFetch", version, {"groups": [{"groupId": group, "topics": asked}]})

    commit((topic, [(0, 1), (0, 2)]))
    commit((topic, [(0, 3)]), (other, [(0, 1)]), (topic, [(1, 4), (0, 5)]))
    commit((topic, []), (other, [(0, 2)]))
    commit((topic, [(9, 1), (0, 7), (9, 1)]))
    commit((absent, [(0, 1), (0, 1)]), (absent, [(1, 1)]))
    commit((absent, []), (topic, []))
    fetch((topic, [0, 0, 9]))
    fetch((topic, [0]), (other, [0]), (topic, [1]))
    fetch((topic, []), (other, [0]))
    fetch((absent, [0, 0]), (absent, [1]), (topic, [0]))
    one = {"groupId": group, "topics": [{**where(topic), "partitionIndexes": [0]}]}
    wire.call("OffsetFetch", version, {"groups": [one, one, {"groupId": group, "topics": None}]})


@AREA.case("OffsetDelete")
def delete_offsets(wire):
    group, topic = wire.group(), wire.topic(partitions=3)
    parts = [{"partitionIndex": index, "committedOffset": 5} for index in range(3)]
    wire.must("OffsetCommit", 8, {"groupId": group, "topics": [{"name": topic, "partitions": parts}]})
    for topics in ([(topic, [0, 0])], [(topic, [1]), (topic, [2])], [(topic, []), (wire.full("absent"), [])], [(wire.full("absent"), [0, 0]), (topic, [7, 7])], []):
        asked = [{"name": name, "partitions": [{"partitionIndex": index} for index in indexes]} for name, indexes in topics]
        wire.call("OffsetDelete", 0, {"groupId": group, "topics": asked})


@AREA.case("groups")
def groups(wire):
    group, absent = wire.group(), wire.full("absent")
    wire.must("OffsetCommit", 8, {"groupId": group, "topics": [{"name": wire.topic(), "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]})
    wire.call("DescribeGroups", 5, {"groups": [group, group, absent, "", absent]})
    wire.call("FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": [group, group, ""]})

    def own(answer):
        return {**answer, "groups": [each for each in answer["groups"] if each["groupId"].startswith(wire.full(""))]}

    for states in ([], ["Empty", "Empty"], ["empty"], ["Nonsense"], [""], ["Stable", "Dead"]):
        wire.call("ListGroups", 5, {"statesFilter": states, "typesFilter": []}, keep=own)
    for types in (["classic", "classic"], ["Classic"], ["nonsense"], [""], ["consumer"], ["share", "streams"]):
        wire.call("ListGroups", 5, {"statesFilter": [], "typesFilter": types}, keep=own)
    wire.call("DeleteGroups", 2, {"groupsNames": [group, absent, group, "", absent]})
    wire.call("DeleteGroups", 2, {"groupsNames": []})
    wire.call("DescribeGroups", 5, {"groups": []})


@AREA.case("members")
def members(wire):
    group = wire.group()
    protocols = [{"name": "other", "metadata": {"utf8": "1"}}, {"name": "range", "metadata": {"utf8": "2"}}]
    member = Member(wire, group, 9, "alpha", protocols=protocols)
    member.join()
    names = {"protocolType": "consumer", "protocolName": "other"}
    mine = {"memberId": member.member_id, "assignment": {"utf8": "first"}}
    for assignments in ([{"memberId": "nobody", "assignment": {"utf8": "x"}}, mine, {**mine, "assignment": {"utf8": "second"}}], []):
        member.connection.receive(member.connection.send("SyncGroup", 5, {**member.common(), **names, "assignments": assignments}))
    wire.call("DescribeGroups", 5, {"groups": [group]})
    leaving = {"memberId": member.member_id}
    wire.call("LeaveGroup", 5, {"groupId": group, "members": [{"memberId": "nobody"}, leaving, leaving]})
    wire.call("LeaveGroup", 5, {"groupId": group, "members": []})
    wire.call("DescribeGroups", 5, {"groups": [group]})


@AREA.case("configurations")
def configurations(wire):
    topic = wire.topic()
    same = {"resourceType": 2, "resourceName": topic, "configurationKeys": ["retention.ms", "retention.ms", "no.such.key", ""]}
    wire.call("DescribeConfigs", 4, {"resources": [same, same]})
    wire.call("DescribeConfigs", 4, {"resources": [{**same, "configurationKeys": []}]})
    wire.call("DescribeConfigs", 4, {"resources": []})
    one = {"resourceType": 2, "resourceName": topic, "configs": [{"name": "retention.ms", "value": "5"}]}
    # Kafka gives no answer to several resources of which one is refused.
    wire.call("AlterConfigs", 2, {"resources": [one, {**one, "resourceType": 4, "resourceName": "1", "configs": []}], "validateOnly": True})
    wire.call("AlterConfigs", 2, {"resources": []})
    logger = {"resourceType": 8, "resourceName": "1"}
    for operation, name, value in ((1, "root", None), (3, "root", "INFO"), (9, "root", "INFO"), (0, "root", "info"), (0, "no.such.logger", "INFO"), (0, "root", None)):
        wire.call("IncrementalAlterConfigs", 1, {"resources": [{**logger, "configs": [{"name": name, "configOperation": operation, "value": value}]}], "validateOnly": True})
    wire.call("IncrementalAlterConfigs", 1, {"resources": [{**logger, "configs": []}, {**logger, "resourceName": "", "configs": []}]})
    wire.call("ListConfigResources", 1, {"resourceTypes": [2, 2]}, keep=lambda answer: {**answer, "configResources": [each for each in answer["configResources"] if each["resourceName"] == topic]})


@AREA.case("rules and quotas")
def rules(wire):
    rule = {"resourceType": 2, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a", "host": "*", "operation": 3, "permissionType": 3}
    for field in ("resourceType", "resourcePatternType", "operation", "permissionType"):
        for value in (0, 99):
            wire.call("CreateAcls", 3, {"creations": [rule, {**rule, field: value}]})
    rule = {"resourceTypeFilter": 2, "resourceNameFilter": "t", "patternTypeFilter": 3, "operation": 1, "permissionType": 1}
    for field in ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType"):
        for value in (0, 99):
            wire.call("DeleteAcls", 3, {"filters": [rule, {**rule, field: value}]})
            wire.call("DescribeAcls", 3, {**rule, field: value})
    entry = {"entity": [{"entityType": "user", "entityName": wire.full("user")}], "ops": [{"key": "producer_byte_rate", "value": 5.0, "remove": False}]}
    wire.call("AlterClientQuotas", 1, {"entries": [entry, entry], "validateOnly": True})
    wire.call("AlterClientQuotas", 1, {"entries": [{**entry, "ops": entry["ops"] * 2}], "validateOnly": True})
    wire.call("AlterClientQuotas", 1, {"entries": [{**entry, "ops": []}], "validateOnly": True})


@AREA.case("the quorum")
def quorum(wire):
    def without_positions(answer):
        return [{**each, "partitions": [{"errorCode": one["errorCode"], "partitionIndex": one["partitionIndex"]} for one in each["partitions"]]} for each in answer["topics"]]

    for topics in ([("__cluster_metadata", [0, 0])], [("__cluster_metadata", [])], [("__cluster_metadata", [0]), ("__cluster_metadata", [0])], [("", [0])]):
        asked = [{"topicName": name, "partitions": [{"partitionIndex": index} for index in indexes]} for name, indexes in topics]
        wire.call("DescribeQuorum", 2, {"topics": asked}, keep=without_positions)


@AREA.case("InitProducerId")
def init_producer_id(wire):
    first = {"transactionTimeoutMs": 60000, "transactionalId": None}
    wire.until(lambda: wire.must("InitProducerId", 4, first)["errorCode"] == 0, "there are producer ids")
    for fields in ({"transactionalId": None}, {"transactionalId": ""}, {"transactionalId": None, "producerId": 5, "producerEpoch": 0}, {"transactionalId": None, "producerId": -1, "producerEpoch": 3},
                   {"transactionalId": None, "producerId": 5, "producerEpoch": -1}):
        answer = wire.call("InitProducerId", 4, {"transactionTimeoutMs": 60000, **fields})
        assert answer is not None
