"""The Python clients that are not librdkafka: kafka-python and aiokafka."""
import functools

from harness.client_programs import client_suite
from harness.toolchains import python_client

client_suite("kafka-python", functools.partial(python_client, "with_kafka_python.py"))
client_suite("aiokafka", functools.partial(python_client, "with_aiokafka.py"), lacks={"delete-group": "its admin client has no such request"})
