"""The Node clients: kafkajs."""
import functools

from harness.client_programs import client_suite
from harness.toolchains import node_client

client_suite("kafkajs", functools.partial(node_client, "kafkajs"))
