"""The Go clients: franz-go, sarama, kafka-go."""
import functools

from harness.client_programs import client_restarts, client_suite
from harness.toolchains import go_client

client_suite("franz-go", functools.partial(go_client, "franz-go"))
client_restarts("franz-go", functools.partial(go_client, "franz-go"), ci=False)
client_suite("sarama", functools.partial(go_client, "sarama"))
client_suite("kafka-go", functools.partial(go_client, "kafka-go"), lacks={
    "idempotence": "its writer has no idempotent mode",
    "delete-records": "its client has no such request",
})
