"""OffsetCommit, OffsetFetch and OffsetDelete."""
import time

from wire.cases import Area
from wire.cases.groups import LOADED_TWICE_S, Member

AREA = Area("group_offsets")
UNKNOWN_ID = "4L6g3nShT-eMCtK--X86sw"


def where(wire, version, topic):
    return {"topicId": wire.topic_id(topic)} if version >= 10 else {"name": topic}


def commit(wire, version, group, topic, *partitions, **fields):
    return wire.call("OffsetCommit", version, {"groupId": group, "topics": [{**where(wire, version, topic), "partitions": list(partitions)}], **fields})


def at(offset, index=0, **fields):
    return {"partitionIndex": index, "committedOffset": offset, "committedMetadata": "m", **fields}


def fetch(wire, version, group, topic, *indexes, **fields):
    """One group's offsets of a topic, in the form of the version; no topic means all."""
    if version >= 8:
        topics = None if topic is None else [{**where(wire, version, topic), "partitionIndexes": list(indexes)}]
        return wire.call("OffsetFetch", version, {"groups": [{"groupId": group, "topics": topics}], **fields})
    topics = None if topic is None else [{"name": topic, "partitionIndexes": list(indexes)}]
    return wire.call("OffsetFetch", version, {"groupId": group, "topics": topics, **fields})


@AREA.sweep("commit without members", "OffsetCommit")
def commit_simple(wire, version):
    group, topic = wire.group(), wire.topic(partitions=2)
    commit(wire, version, group, topic, at(5), at(0, 1, committedMetadata=None))
    fetch(wire, 7, group, topic, 0, 1)
    commit(wire, version, group, topic, at(3), at(-1, 1), at(2**62, 1))
    fetch(wire, 7, group, topic, 0, 1)
    commit(wire, version, group, topic, at(-5))
    fetch(wire, 7, group, topic, 0)
    commit(wire, version, group, topic, at(5, committedLeaderEpoch=7))
    commit(wire, version, group, topic, at(5, committedLeaderEpoch=-2))
    fetch(wire, 7, group, topic, 0)


@AREA.sweep("refused commits", "OffsetCommit")
def refused(wire, version):
    group, topic = wire.group(), wire.topic()
    commit(wire, version, group, topic, at(5, 7), at(5, -1), at(5))
    for length in (4096, 4097):
        commit(wire, version, group, topic, at(5, committedMetadata="m" * length), at(6, 0))
    for name in (wire.full("absent"), "", "a/b"):
        if version < 10:
            commit(wire, version, group, name, at(5))
    if version >= 10:
        for topic_id in (UNKNOWN_ID, "AAAAAAAAAAAAAAAAAAAAAA"):
            wire.call("OffsetCommit", version, {"groupId": group, "topics": [{"topicId": topic_id, "partitions": [at(5)]}]})
    commit(wire, version, "", topic, at(5))
    commit(wire, version, wire.full("absent"), topic, at(5), generationIdOrMemberEpoch=5)
    commit(wire, version, group, topic, at(5), generationIdOrMemberEpoch=5, memberId="nobody")
    commit(wire, version, group, topic, at(5), generationIdOrMemberEpoch=-1, memberId="nobody")
    commit(wire, version, group, topic, at(5), generationIdOrMemberEpoch=0)
    wire.call("OffsetCommit", version, {"groupId": group, "topics": []})
    commit(wire, version, group, topic)


@AREA.sweep("commit as a member", "OffsetCommit")
def commit_member(wire, version):
    group, topic = wire.group(), wire.topic()
    member = Member(wire, group, 5, "alpha", instance_id="i1" if version >= 7 else None)
    member.join(record=False)
    own = {"generationIdOrMemberEpoch": member.generation, "memberId": member.member_id}
    commit(wire, version, group, topic, at(1), **own)
    member.sync([(member, "all")])
    commit(wire, version, group, topic, at(2), **own)
    commit(wire, version, group, topic, at(3), **{**own, "generationIdOrMemberEpoch": 9})
    commit(wire, version, group, topic, at(3), **{**own, "memberId": "nobody"})
    commit(wire, version, group, topic, at(3))
    if version >= 7:
        commit(wire, version, group, topic, at(3), **own, groupInstanceId="i1")
        commit(wire, version, group, topic, at(3), **own, groupInstanceId="other")
        commit(wire, version, group, topic, at(3), **{**own, "memberId": "nobody"}, groupInstanceId="i1")
    member.leave(members=[{"memberId": "", "groupInstanceId": "i1"}] if version >= 7 else [{"memberId": member.member_id}])
    commit(wire, version, group, topic, at(4), **own)
    commit(wire, version, group, topic, at(4), generationIdOrMemberEpoch=5)
    commit(wire, version, group, topic, at(4))
    fetch(wire, 7, group, topic, 0)


@AREA.sweep("retention in the request", "OffsetCommit", lowest=2, highest=4)
def retention(wire, version):
    group, topic = wire.group(), wire.topic()
    for retention_ms in (-1, 0, 100000):
        commit(wire, version, group, topic, at(5), retentionTimeMs=retention_ms)
    fetch(wire, 7, group, topic, 0)


@AREA.sweep("fetch", "OffsetFetch")
def fetch_offsets(wire, version):
    group, topic = wire.group(), wire.topic(partitions=3)
    commit(wire, 8, group, topic, at(5), at(7, 1, committedLeaderEpoch=0))
    fetch(wire, version, group, topic, 0, 1, 2, 9, -1)
    fetch(wire, version, group, topic, 0, 0)
    if version >= 2:
        fetch(wire, version, group, None)
    if version < 10:
        fetch(wire, version, group, wire.full("absent"), 0)
        fetch(wire, version, group, "", 0)
    fetch(wire, version, group, topic)
    fetch(wire, version, wire.full("absent"), topic, 0)
    fetch(wire, version, "", topic, 0)
    if version >= 7:
        fetch(wire, version, group, topic, 0, requireStable=True)
    if version >= 2:
        fetch(wire, version, wire.full("absent"), None)


@AREA.sweep("fetch of several groups", "OffsetFetch", lowest=8)
def fetch_groups(wire, version):
    one, other, topic = wire.group("a"), wire.group("b"), wire.topic()
    commit(wire, 8, one, topic, at(5))
    commit(wire, 8, other, topic, at(6))
    topics = [{**where(wire, version, topic), "partitionIndexes": [0]}]
    wire.call("OffsetFetch", version, {"groups": [{"groupId": one, "topics": topics}, {"groupId": other, "topics": None}, {"groupId": wire.full("c"), "topics": topics}]})
    wire.call("OffsetFetch", version, {"groups": []})
    wire.call("OffsetFetch", version, {"groups": [{"groupId": one, "topics": []}]})
    if version >= 9:
        for member, epoch in (("nobody", 1), ("nobody", -1), (None, 5)):
            wire.call("OffsetFetch", version, {"groups": [{"groupId": one, "memberId": member, "memberEpoch": epoch, "topics": topics}]})
    if version >= 10:
        wire.call("OffsetFetch", version, {"groups": [{"groupId": one, "topics": [{"topicId": UNKNOWN_ID, "partitionIndexes": [0]}]}]})


@AREA.case("deleting offsets")
def delete_offsets(wire):
    group, topic = wire.group(), wire.topic(partitions=2)

    def delete(name, where_topic, *indexes):
        partitions = [{"partitionIndex": index} for index in indexes]
        wire.call("OffsetDelete", 0, {"groupId": name, "topics": [{"name": where_topic, "partitions": partitions}]})

    delete(group, topic, 0)
    commit(wire, 8, group, topic, at(5), at(6, 1))
    delete(group, topic, 0, 7)
    fetch(wire, 7, group, topic, 0, 1)
    delete(group, wire.full("absent"), 0)
    delete(wire.full("absent"), topic, 0)
    delete("", topic, 0)
    delete(group, topic)
    subscribed = Member(wire, group, 5, "alpha", protocols=[{"name": "range", "metadata": {"message": "ConsumerProtocolSubscription", "version": 1, "value": {"topics": [topic]}}}])
    subscribed.join(record=False)
    subscribed.sync([(subscribed, "all")])
    delete(group, topic, 1)
    fetch(wire, 7, group, topic, 0, 1)
    subscribed.leave()
    delete(group, topic, 1)
    fetch(wire, 7, group, topic, 0, 1)
    wire.call("DeleteGroups", 2, {"groupsNames": [group]})


@AREA.case("offsets of a deleted topic")
def deleted_topic(wire):
    group, topic = wire.group(), wire.topic()
    commit(wire, 8, group, topic, at(5))
    wire.delete_topic(topic)
    time.sleep(0.3)
    fetch(wire, 7, group, topic, 0)
    wire.topic()
    fetch(wire, 7, group, topic, 0)


@AREA.case("offsets after a restart")
def restart(wire):
    group, topic = wire.group(), wire.topic(partitions=2)
    commit(wire, 8, group, topic, at(5, committedLeaderEpoch=0), at(6, 1, committedMetadata=""))
    wire.broker.restart(hard=True)
    wire.default.close()
    wire.group()
    time.sleep(LOADED_TWICE_S)
    wire.group()
    fetch(wire, 7, group, topic, 0, 1)
    fetch(wire, 8, group, None)
