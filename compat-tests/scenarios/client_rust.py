"""The Rust client that is not librdkafka: rskafka."""
import functools

from harness.client_programs import client_suite
from harness.toolchains import rust_client

NO_GROUPS = "rskafka has no groups"
NO_REQUEST = "rskafka has no such request"

client_suite("rskafka", functools.partial(rust_client, "rskafka"), ci=False, lacks={
    "idempotence": "rskafka has no idempotent producer",
    "group-rebalance": NO_GROUPS,
    "commit-resume": NO_GROUPS,
    "list-groups": NO_GROUPS,
    "describe-group": NO_GROUPS,
    "delete-group": NO_GROUPS,
    "describe-configs": NO_REQUEST,
    "alter-configs": NO_REQUEST,
    "create-partitions": NO_REQUEST,
    "describe-cluster": NO_REQUEST,
})
