"""Every key at every version with the emptiest request, the same one byte short, and the same with bytes left over."""
import struct

from wire.cases import Area
from wire.cases.framing import SERVED

AREA = Area("bare")
PATIENCE_S = 4
# With its default, acks=0, Produce would rightly have no answer.
FIELDS = {"Produce": {"acks": 1}}


@AREA.case("preparation")
def preparation(wire):
    wire.group()
    wire.until(lambda: wire.must("InitProducerId", 4, {"transactionalId": None, "transactionTimeoutMs": 60000})["errorCode"] == 0, "producer ids are given")


def exchange(wire, label, api, version, change):
    """Sends a changed frame on a connection of its own; records the decoded answer or how the connection ended."""
    connection = wire.connect()
    connection.send_bytes(change(wire.tool.encode(api, version, FIELDS.get(api, {}), 7, "wire")))
    connection.receive((api, version, 7), record=False, timeout_s=PATIENCE_S)
    outcome = connection.outcome
    connection.close()
    wire.note(f"{api} v{version} {label}", outcome)


def framed(body):
    return struct.pack(">i", len(body)) + body


def register(api):
    @AREA.sweep(api, api, highest=5 if api == "InitProducerId" else None)
    def bare(wire, version):
        exchange(wire, "whole", api, version, framed)
        exchange(wire, "one byte short", api, version, lambda frame: framed(frame[:-1]))
        exchange(wire, "bytes left over", api, version, lambda frame: framed(frame + b"\0\1\2\3"))


NAMES = {0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 8: "OffsetCommit", 9: "OffsetFetch", 10: "FindCoordinator", 11: "JoinGroup",
         12: "Heartbeat", 13: "LeaveGroup", 14: "SyncGroup", 15: "DescribeGroups", 16: "ListGroups", 17: "SaslHandshake", 19: "CreateTopics",
         20: "DeleteTopics", 21: "DeleteRecords", 22: "InitProducerId", 23: "OffsetForLeaderEpoch", 29: "DescribeAcls", 30: "CreateAcls",
         31: "DeleteAcls", 32: "DescribeConfigs", 33: "AlterConfigs", 35: "DescribeLogDirs", 36: "SaslAuthenticate", 37: "CreatePartitions",
         38: "CreateDelegationToken", 39: "RenewDelegationToken", 40: "ExpireDelegationToken", 41: "DescribeDelegationToken", 42: "DeleteGroups",
         43: "ElectLeaders", 44: "IncrementalAlterConfigs", 45: "AlterPartitionReassignments", 46: "ListPartitionReassignments", 47: "OffsetDelete",
         48: "DescribeClientQuotas", 49: "AlterClientQuotas", 55: "DescribeQuorum", 57: "UpdateFeatures", 60: "DescribeCluster",
         61: "DescribeProducers", 64: "UnregisterBroker", 74: "ListConfigResources", 75: "DescribeTopicPartitions"}

for key in sorted(SERVED & set(NAMES)):
    register(NAMES[key])
