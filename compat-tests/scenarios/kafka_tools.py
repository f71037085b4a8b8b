"""Kafka's own command line classes (the `kafka-*.sh` of the distribution)."""
from harness.kafka_tools import tool
from harness.registry import scenario


@scenario("kafka-tools/topics")
def topics(address, broker):
    topic = "kafka-tools-topics"
    tool("topics", "--bootstrap-server", address, "--create", "--topic", topic, "--partitions", "3")
    listed = tool("topics", "--bootstrap-server", address, "--list").split()
    assert topic in listed, listed
    described = tool("topics", "--bootstrap-server", address, "--describe", "--topic", topic)
    assert "PartitionCount: 3" in described, described
    tool("topics", "--bootstrap-server", address, "--delete", "--topic", topic)
    listed = tool("topics", "--bootstrap-server", address, "--list").split()
    assert topic not in listed, listed
