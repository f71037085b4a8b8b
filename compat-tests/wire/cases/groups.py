"""The classic group protocol: joining, syncing, heartbeats, leaving, static members, and what describes and deletes groups."""
import time

from wire.cases import Area

AREA = Area("groups", config={"group.max.size": "4", "group.min.session.timeout.ms": "1000"})
MEMBER_ID_REQUIRED = 79
REBALANCE_IN_PROGRESS = 27
# Kafka loads groups at its start, and again when the broker has been unfenced under a new leader epoch.
LOADED_TWICE_S = 2


class Member:
    """One member on a connection of its own. `version` is JoinGroup's; the other keys follow as far as they go."""

    def __init__(self, wire, group, version, client_id, instance_id=None, **fields):
        self.wire, self.group, self.version = wire, group, version
        self.connection = wire.connect(client_id)
        self.member_id = ""
        self.generation = -1
        self.instance = {"groupInstanceId": instance_id} if instance_id is not None and version >= 5 else {}
        self.fields = {"sessionTimeoutMs": 10000, "rebalanceTimeoutMs": 10000, "protocolType": "consumer",
                       "protocols": [{"name": "range", "metadata": {"utf8": client_id}}], **fields}

    def send_join(self, **fields):
        return self.connection.send("JoinGroup", self.version, {"groupId": self.group, "memberId": self.member_id, **self.instance, **self.fields, **fields})

    def joined(self, sent, record=True):
        answer = self.connection.receive(sent, record=record, timeout_s=15)
        if answer and answer["memberId"]:
            self.member_id = answer["memberId"]
        if answer and answer["errorCode"] == 0:
            self.generation = answer["generationId"]
        return answer

    def join(self, record=True):
        """Joins, with the second request that a first member id takes."""
        answer = self.joined(self.send_join(), record)
        if answer and answer["errorCode"] == MEMBER_ID_REQUIRED:
            answer = self.joined(self.send_join(), record)
        return answer

    def enter(self):
        """Sends the join that will wait, after getting a member id."""
        if self.version >= 4 and not self.instance and not self.member_id:
            self.joined(self.send_join())
        return self.send_join()

    def common(self):
        return {"groupId": self.group, "generationId": self.generation, "memberId": self.member_id, **self.instance}

    def send_sync(self, assignments=(), **fields):
        given = [{"memberId": member.member_id, "assignment": {"utf8": text}} for member, text in assignments]
        names = {"protocolType": "consumer", "protocolName": "range"}
        return self.connection.send("SyncGroup", min(self.version, 5), {**self.common(), **names, "assignments": given, **fields})

    def sync(self, assignments=(), **fields):
        return self.connection.receive(self.send_sync(assignments, **fields))

    def heartbeat(self, record=True, **fields):
        version = min(self.version, 4)
        return self.connection.receive(self.connection.send("Heartbeat", version, {**self.common(), **fields}), record=record)

    def leave(self, **fields):
        version = min(self.version, 5)
        who = {"members": [{"memberId": self.member_id, **self.instance, "reason": "done"}]} if version >= 3 else {"memberId": self.member_id}
        return self.connection.receive(self.connection.send("LeaveGroup", version, {"groupId": self.group, **who, **fields}))

    def until_rebalance(self):
        self.wire.until(lambda: self.heartbeat(record=False)["errorCode"] == REBALANCE_IN_PROGRESS, "the group rebalances")
        self.heartbeat()


def describe(wire, group, version=5):
    wire.call("DescribeGroups", version, {"groups": [group]})


@AREA.sweep("life of a group", "JoinGroup")
def life(wire, version):
    group = wire.group()
    describe_version = min(version, 6)
    describe(wire, group, describe_version)
    one, two = Member(wire, group, version, "alpha"), Member(wire, group, version, "beta")
    one.join()
    describe(wire, group, describe_version)
    one.sync([(one, "all")])
    describe(wire, group, describe_version)
    one.heartbeat()
    waiting = two.enter()
    one.until_rebalance()
    describe(wire, group, describe_version)
    again = one.send_join()
    one.joined(again)
    two.joined(waiting)
    follower = two.send_sync()
    one.sync([(one, "half"), (two, "other half")])
    two.connection.receive(follower)
    for member in (one, two):
        member.heartbeat()
    describe(wire, group, describe_version)
    two.leave()
    one.until_rebalance()
    one.joined(one.send_join())
    one.sync([(one, "all again")])
    one.leave()
    describe(wire, group, describe_version)
    one.heartbeat()
    wire.call("DeleteGroups", 2, {"groupsNames": [group]})
    describe(wire, group, describe_version)


@AREA.sweep("refused joins", "JoinGroup")
def refused_joins(wire, version):
    group = wire.group()
    for fields in ({"sessionTimeoutMs": 999}, {"sessionTimeoutMs": 1800001}, {"protocols": []}, {"protocolType": ""}, {"groupId": ""}, {"memberId": "nobody"}):
        join_once(wire, group, version, fields)
    one = Member(wire, group, version, "alpha")
    one.join()
    one.sync([(one, "all")])
    for fields in ({"protocolType": "connect"}, {"protocols": [{"name": "roundrobin", "metadata": {"utf8": ""}}]}):
        join_once(wire, group, version, fields)
    one.leave()


def join_once(wire, group, version, fields):
    member = Member(wire, group, version, "alpha")
    member.joined(member.send_join(**fields))


@AREA.sweep("wrong generations and members", "Heartbeat")
def wrong_heartbeats(wire, version):
    group = wire.group()
    one = Member(wire, group, version, "alpha")
    one.join(record=False)
    one.heartbeat()
    one.sync([(one, "all")])
    for fields in ({}, {"generationId": 0}, {"generationId": 2}, {"generationId": -1}, {"memberId": "nobody"}, {"memberId": ""}, {"groupId": ""}, {"groupId": wire.full("absent")}):
        one.heartbeat(**fields)
    if version >= 3:
        one.heartbeat(groupInstanceId="never joined")
    one.leave()
    one.heartbeat()


@AREA.sweep("wrong syncs", "SyncGroup")
def wrong_syncs(wire, version):
    group = wire.group()
    one = Member(wire, group, version, "alpha")
    one.join(record=False)
    for fields in ({"generationId": 0}, {"generationId": 5}, {"memberId": "nobody"}, {"memberId": ""}, {"groupId": ""}, {"groupId": wire.full("absent")}):
        one.sync([(one, "all")], **fields)
    if version >= 5:
        for fields in ({"protocolType": "connect"}, {"protocolName": "roundrobin"}, {"protocolType": None, "protocolName": None}):
            one.sync([(one, "all")], **fields)
    one.sync([(one, "all")])
    one.sync([(one, "ignored")])
    one.sync()
    one.leave()


@AREA.sweep("leaving", "LeaveGroup")
def leaving(wire, version):
    group = wire.group()
    one = Member(wire, group, version, "alpha")
    one.join(record=False)
    one.sync([(one, "all")])
    for fields in ({"groupId": ""}, {"groupId": wire.full("absent")}):
        one.leave(**fields)
    if version < 3:
        one.leave(memberId="nobody")
    else:
        one.leave(members=[])
        one.leave(members=[{"memberId": "nobody"}, {"memberId": "", "groupInstanceId": "nobody"}])
        one.leave(members=[{"memberId": one.member_id}, {"memberId": one.member_id}])
    one.leave()


@AREA.sweep("several protocols", "JoinGroup")
def several_protocols(wire, version):
    group = wire.group()

    def protocols(*names):
        return {"protocols": [{"name": name, "metadata": {"utf8": name}} for name in names]}

    one = Member(wire, group, version, "alpha", **protocols("sticky", "range"))
    two = Member(wire, group, version, "beta", **protocols("range", "roundrobin"))
    one.join(record=False)
    one.sync([(one, "all")], protocolName="sticky")
    waiting = two.enter()
    one.until_rebalance()
    one.joined(one.send_join())
    two.joined(waiting)
    describe(wire, group)
    one.leave()
    two.leave()


@AREA.sweep("static members", "JoinGroup", lowest=5)
def static_members(wire, version):
    group = wire.group()
    one = Member(wire, group, version, "alpha", instance_id="i1")
    two = Member(wire, group, version, "beta", instance_id="i2")
    one.join()
    one.sync([(one, "all")])
    waiting = two.enter()
    one.until_rebalance()
    one.joined(one.send_join())
    two.joined(waiting)
    follower = two.send_sync()
    one.sync([(one, "half"), (two, "other half")])
    two.connection.receive(follower)
    describe(wire, group)
    returned = Member(wire, group, version, "gamma", instance_id="i2")
    returned.join()
    two.heartbeat()
    returned.heartbeat()
    returned.sync()
    two.leave()
    restarted = Member(wire, group, version, "delta", instance_id="i1")
    restarted.join()
    one.heartbeat()
    restarted.sync([(restarted, "half"), (returned, "other half")])
    restarted.heartbeat()
    wire.call("LeaveGroup", 4, {"groupId": group, "members": [{"memberId": "", "groupInstanceId": "i1"}, {"memberId": "wrong", "groupInstanceId": "i2"}]})
    returned.until_rebalance()
    wire.call("LeaveGroup", 4, {"groupId": group, "members": [{"memberId": "", "groupInstanceId": "i2"}]})
    describe(wire, group)


@AREA.sweep("a static member's changed subscription", "JoinGroup", lowest=5)
def static_changed(wire, version):
    group = wire.group()
    one = Member(wire, group, version, "alpha", instance_id="i1")
    one.join()
    one.sync([(one, "all")])
    changed = Member(wire, group, version, "beta", instance_id="i1", protocols=[{"name": "range", "metadata": {"utf8": "changed"}}, {"name": "sticky", "metadata": {"utf8": ""}}])
    changed.join()
    describe(wire, group)
    changed.sync([(changed, "all")])
    changed.joined(changed.send_join())


@AREA.sweep("odd instance ids", "JoinGroup", lowest=5)
def odd_instance_ids(wire, version):
    for number, instance_id in enumerate(("", "a b", "a/b", "\u00e9", ".", "i" * 249, "i" * 250)):
        Member(wire, wire.group(f"g{number}"), version, "alpha", instance_id=instance_id).join()


@AREA.case("members above the limit")
def group_limit(wire):
    group = wire.group()
    members = [Member(wire, group, 3, f"m{each}") for each in range(5)]
    members[0].join(record=False)
    members[0].sync([(members[0], "all")])
    waiting = [member.send_join() for member in members[1:4]]
    wire.until(lambda: len(wire.must("DescribeGroups", 5, {"groups": [group]})["groups"][0]["members"]) == 4, "four members are in")
    members[0].joined(members[0].send_join())
    for member, sent in zip(members[1:4], waiting):
        member.joined(sent)
    members[4].joined(members[4].send_join())
    for member in members[:4]:
        member.leave()


@AREA.case("an expired session")
def expired_session(wire):
    group = wire.group()
    one = Member(wire, group, 5, "alpha", sessionTimeoutMs=1000)
    two = Member(wire, group, 5, "beta", sessionTimeoutMs=30000)
    one.join(record=False)
    one.sync([(one, "all")])
    waiting = two.enter()
    one.until_rebalance()
    one.joined(one.send_join())
    two.joined(waiting)
    follower = two.send_sync()
    one.sync([(one, "half"), (two, "other half")])
    two.connection.receive(follower)
    time.sleep(1.8)
    two.heartbeat()
    one.heartbeat()
    two.joined(two.send_join())
    describe(wire, group)
    two.leave()


@AREA.case("a member that does not rejoin in time")
def slow_rejoin(wire):
    group = wire.group()
    one = Member(wire, group, 5, "alpha", rebalanceTimeoutMs=1200)
    two = Member(wire, group, 5, "beta", rebalanceTimeoutMs=1200)
    one.join(record=False)
    one.sync([(one, "all")])
    waiting = two.enter()
    one.until_rebalance()
    two.joined(waiting)
    one.heartbeat()
    describe(wire, group)
    two.leave()


@AREA.case("a leader that does not sync in time")
def slow_sync(wire):
    group = wire.group()
    one = Member(wire, group, 5, "alpha", rebalanceTimeoutMs=1200)
    one.join(record=False)
    time.sleep(2)
    one.heartbeat()
    describe(wire, group)


@AREA.sweep("DescribeGroups", "DescribeGroups")
def describe_groups(wire, version):
    group = wire.group()
    one = Member(wire, group, 5, "alpha", instance_id="i1")
    one.join(record=False)
    one.sync([(one, "all")])
    wire.call("DescribeGroups", version, {"groups": [group, wire.full("absent"), ""], "includeAuthorizedOperations": True} if version >= 3 else {"groups": [group, wire.full("absent"), ""]})
    wire.call("DescribeGroups", version, {"groups": [group, group]})
    wire.call("DescribeGroups", version, {"groups": []})
    one.leave()


@AREA.sweep("ListGroups", "ListGroups")
def list_groups(wire, version):
    stable, empty = wire.group("stable"), wire.group("empty")
    one = Member(wire, stable, 5, "alpha")
    one.join(record=False)
    one.sync([(one, "all")])
    other = Member(wire, empty, 5, "beta")
    other.join(record=False)
    other.leave()

    def own(answer):
        return {**answer, "groups": [each for each in answer["groups"] if each["groupId"].startswith(wire.full(""))]}

    filters = [{}]
    if version >= 4:
        filters += [{"statesFilter": states} for states in (["Stable"], ["Empty", "Dead"], ["stable"], ["Nonsense"], [""])]
    if version >= 5:
        filters += [{"typesFilter": types} for types in (["classic"], ["Classic"], ["consumer"], ["share"], ["Nonsense"])]
    for each in filters:
        wire.call("ListGroups", version, each, keep=own)
    one.leave()


@AREA.sweep("DeleteGroups", "DeleteGroups")
def delete_groups(wire, version):
    live, empty = wire.group("live"), wire.group("empty")
    one, other = Member(wire, live, 5, "alpha"), Member(wire, empty, 5, "beta")
    one.join(record=False)
    other.join(record=False)
    other.leave()
    wire.call("DeleteGroups", version, {"groupsNames": [live, empty, wire.full("absent"), ""]})
    wire.call("DeleteGroups", version, {"groupsNames": [empty]})
    wire.call("DeleteGroups", version, {"groupsNames": [empty, empty]})
    wire.call("DeleteGroups", version, {"groupsNames": []})
    one.leave()


@AREA.case("members after a restart")
def restart(wire):
    group = wire.group()
    one = Member(wire, group, 5, "alpha")
    one.join(record=False)
    one.sync([(one, "all")])
    describe(wire, group)
    wire.broker.restart()
    wire.default.close()
    wire.group()
    time.sleep(LOADED_TWICE_S)
    wire.group()
    describe(wire, group)
    one.connection = wire.connect("alpha")
    one.heartbeat()
    one.leave()
    describe(wire, group)
