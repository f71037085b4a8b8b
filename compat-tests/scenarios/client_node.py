"""The Node clients: kafkajs, and librdkafka through node-rdkafka."""
import functools

from harness import install
from harness.client_programs import client_suite
from harness.toolchains import node_client


def librdkafka():
    """node-rdkafka is compiled at its installation, here against Debian's librdkafka."""
    install.debian("librdkafka-dev", "g++", "make")


NO_REQUEST = "node-rdkafka has no such request"

client_suite("kafkajs", functools.partial(node_client, "kafkajs"))
client_suite("node-rdkafka", functools.partial(node_client, "node-rdkafka"), needs=[librdkafka], ci=False, lacks={
    "delete-records": NO_REQUEST,
    "describe-configs": NO_REQUEST,
    "alter-configs": NO_REQUEST,
    "list-groups": NO_REQUEST,
    "describe-group": NO_REQUEST,
    "delete-group": NO_REQUEST,
})
