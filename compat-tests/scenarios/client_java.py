"""Kafka's own Java client: producer, consumer and admin of the current version, and of two old ones from the same source."""
import functools

from harness.client_programs import client_restarts, client_suite
from harness.toolchains import java_client

CURRENT = "4.4.0"
OLD = ("3.9.2", "2.8.2")

for version in (CURRENT, *OLD):
    client_suite(f"java-{version}", functools.partial(java_client, version))

client_restarts(f"java-{CURRENT}", functools.partial(java_client, CURRENT))
