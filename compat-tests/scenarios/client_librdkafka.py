"""librdkafka, through confluent-kafka-python."""
from harness.client_programs import client_restarts, client_suite
from harness.toolchains import python_client


def command():
    return python_client("with_librdkafka.py")


client_suite("librdkafka", command)
client_restarts("librdkafka", command)
