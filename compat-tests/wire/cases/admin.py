"""The keys of administration that one node without an authorizer answers: ACLs, tokens, quotas, log directories, the quorum, features."""
from wire.cases import Area

AREA = Area("admin")


@AREA.sweep("DescribeAcls", "DescribeAcls")
def describe_acls(wire, version):
    wire.call("DescribeAcls", version, {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "operation": 1, "permissionType": 1})


@AREA.sweep("CreateAcls", "CreateAcls")
def create_acls(wire, version):
    rule = {"resourceType": 2, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a", "host": "*", "operation": 3, "permissionType": 3}
    wire.call("CreateAcls", version, {"creations": [rule, rule]})
    wire.call("CreateAcls", version, {"creations": []})


@AREA.sweep("DeleteAcls", "DeleteAcls")
def delete_acls(wire, version):
    rule = {"resourceTypeFilter": 2, "resourceNameFilter": "t", "patternTypeFilter": 3, "operation": 1, "permissionType": 1}
    wire.call("DeleteAcls", version, {"filters": [rule, rule]})
    wire.call("DeleteAcls", version, {"filters": []})


@AREA.sweep("CreateDelegationToken", "CreateDelegationToken")
def create_token(wire, version):
    wire.call("CreateDelegationToken", version, {"renewers": [], "maxLifetimeMs": -1})


@AREA.sweep("RenewDelegationToken", "RenewDelegationToken")
def renew_token(wire, version):
    wire.call("RenewDelegationToken", version, {"hmac": {"utf8": "x"}, "renewPeriodMs": -1})


@AREA.sweep("ExpireDelegationToken", "ExpireDelegationToken")
def expire_token(wire, version):
    wire.call("ExpireDelegationToken", version, {"hmac": {"utf8": "x"}, "expiryTimePeriodMs": -1})


@AREA.sweep("DescribeDelegationToken", "DescribeDelegationToken")
def describe_token(wire, version):
    for owners in (None, [], [{"principalType": "User", "principalName": "a"}]):
        wire.call("DescribeDelegationToken", version, {"owners": owners})


def quota_entity(**names):
    return [{"entityType": kind.replace("_", "-"), "entityName": name} for kind, name in names.items()]


@AREA.sweep("client quotas", "AlterClientQuotas")
def client_quotas(wire, version):
    user = wire.full("user")

    def alter(entity, *operations, validate=False):
        ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in operations]
        wire.call("AlterClientQuotas", version, {"entries": [{"entity": entity, "ops": ops}], "validateOnly": validate})

    def describe(*components, strict=True):
        given = [{"entityType": kind, "matchType": match, "match": name} for kind, match, name in components]
        wire.call("DescribeClientQuotas", version, {"components": given, "strict": strict})

    alter(quota_entity(user=user), ("producer_byte_rate", 1000000.0), ("request_percentage", 99.5))
    alter(quota_entity(user=user, client_id="c"), ("consumer_byte_rate", 2000000.0))
    wire.until(lambda: quotas_of(wire, version, user) == 2, "the quotas are published")
    describe(("user", 0, user))
    describe(("user", 0, user), strict=False)
    describe(("user", 0, user), ("client-id", 0, "c"))
    describe(("user", 0, user), ("client-id", 2, None))
    describe(("user", 0, "nobody"))
    describe(("user", 1, None))
    for components in ([("nonsense", 0, "a")], [("user", 9, "a")], [("user", 0, None)], [("user", 1, "a")], [("user", 0, "a"), ("user", 0, "b")], [("ip", 0, "1.2.3.4"), ("user", 0, "a")], [("", 0, "a")]):
        describe(*components)
    for entity, operation in ((quota_entity(user=user), ("nonsense", 1.0)), (quota_entity(user=user), ("producer_byte_rate", -1.0)), (quota_entity(user=user), ("producer_byte_rate", 1.5)),
                              (quota_entity(nonsense="a"), ("producer_byte_rate", 1.0)), ([], ("producer_byte_rate", 1.0)), (quota_entity(user=""), ("producer_byte_rate", 1.0)),
                              (quota_entity(ip="1.2.3.4"), ("producer_byte_rate", 1.0)), (quota_entity(ip="not an address"), ("connection_creation_rate", 1.0)),
                              (quota_entity(ip="1.2.3.4", user="a"), ("connection_creation_rate", 1.0)), (quota_entity(user=user), ("connection_creation_rate", 1.0)),
                              (quota_entity(user=user), ("request_percentage", 0.0)), (quota_entity(user=user) * 2, ("producer_byte_rate", 1.0))):
        alter(entity, operation, validate=True)
    alter(quota_entity(user=user), ("producer_byte_rate", 5.0), validate=True)
    alter(quota_entity(user=user), ("producer_byte_rate", None), ("nothing_there", None))
    alter(quota_entity(user=user), ("producer_byte_rate", None), ("request_percentage", None))
    alter(quota_entity(user=user, client_id="c"), ("consumer_byte_rate", None))
    wire.call("AlterClientQuotas", version, {"entries": []})
    wire.until(lambda: quotas_of(wire, version, user) == 0, "the quotas are gone")
    describe(("user", 0, user), strict=False)


def quotas_of(wire, version, user):
    components = [{"entityType": "user", "matchType": 0, "match": user}]
    return len(wire.must("DescribeClientQuotas", version, {"components": components, "strict": False})["entries"] or [])


@AREA.sweep("log directories", "DescribeLogDirs")
def log_dirs(wire, version):
    topic = wire.topic(partitions=2)
    wire.produce(topic, [{"records": [{"value": "v", "timestamp": 1600000000000}]}])

    def own(answer):
        return {**answer, "results": [{**each, "topics": [one for one in each["topics"] if one["name"].startswith(wire.full(""))]} for each in answer["results"]]}

    for topics in ([{"topic": topic, "partitions": [0, 1]}], [{"topic": topic, "partitions": [1]}], [{"topic": topic, "partitions": [9]}], [{"topic": wire.full("absent"), "partitions": [0]}], [], None):
        wire.call("DescribeLogDirs", version, {"topics": topics}, keep=own)


# Positions in the metadata log follow from how many records a controller writes, which is its own affair.
def without_positions(answer):
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for key in ("leaderEpoch", "highWatermark"):
                partition[key] = partition[key] if partition["errorCode"] else "*"
            for replica in partition["currentVoters"] + partition["observers"]:
                replica["logEndOffset"] = "*"
    return answer


@AREA.sweep("DescribeQuorum", "DescribeQuorum")
def describe_quorum(wire, version):
    for name, index in (("__cluster_metadata", 0), ("__cluster_metadata", 1), (wire.full("absent"), 0)):
        wire.call("DescribeQuorum", version, {"topics": [{"topicName": name, "partitions": [{"partitionIndex": index}]}]}, keep=without_positions)
    wire.call("DescribeQuorum", version, {"topics": []}, keep=without_positions)


@AREA.sweep("UpdateFeatures", "UpdateFeatures")
def update_features(wire, version):
    def update(feature, level, kind=1, **fields):
        one = {"feature": feature, "maxVersionLevel": level, **({"allowDowngrade": kind != 1} if version == 0 else {"upgradeType": kind})}
        wire.call("UpdateFeatures", version, {"timeoutMs": 5000, "featureUpdates": [one], **fields})

    for feature, level, kind in (("nonsense", 1, 1), ("metadata.version", 99, 1), ("metadata.version", 33, 1), ("metadata.version", 1, 1), ("metadata.version", -1, 1), ("", 1, 1), ("metadata.version", 0, 2)):
        update(feature, level, kind, **({"validateOnly": True} if version >= 1 else {}))
    if version >= 1:
        update("metadata.version", 33, 9, validateOnly=True)
        update("metadata.version", 99, 1)
    wire.call("UpdateFeatures", version, {"timeoutMs": 5000, "featureUpdates": []})
    twice = {"feature": "metadata.version", "maxVersionLevel": 33, **({} if version == 0 else {"upgradeType": 1})}
    wire.call("UpdateFeatures", version, {"timeoutMs": 5000, "featureUpdates": [twice, twice]})


@AREA.case("UnregisterBroker")
def unregister_broker(wire):
    for broker in (99, -1):
        wire.call("UnregisterBroker", 0, {"brokerId": broker})
