"""The process that encodes and decodes messages with Kafka's own classes (java/WireTool.java)."""
import json
import subprocess

from harness import install
from harness.paths import COMPAT

SOURCES = sorted((COMPAT / "java").glob("*.java"))


class ToolError(Exception):
    """The tool refused: a field that does not exist, a value out of range, bytes that do not decode."""


class WireTool:
    def __init__(self):
        class_path = install.java_classes("wire", SOURCES, install.kafka_class_path())
        self.process = subprocess.Popen(
            ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path, "WireTool"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.versions = self.ask({"op": "versions"})

    def ask(self, call):
        self.process.stdin.write(json.dumps(call).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ToolError(f"{call['op']} {call.get('api') or call.get('name')} v{call.get('version')}: {answer['error']}")
        return answer

    def encode(self, api, version, request, correlation_id, client_id):
        """The bytes of a request, header included, length not."""
        answer = self.ask({"op": "encode", "api": api, "version": version, "request": request,
                           "correlationId": correlation_id, "clientId": client_id})
        return bytes.fromhex(answer["hex"])

    def decode(self, api, version, data):
        """{correlationId, response, left}: left counts the bytes after the message."""
        return self.ask({"op": "decode", "api": api, "version": version, "hex": data.hex()})

    def message(self, name, version, value):
        """The bytes of a message that is no request, such as ConsumerProtocolSubscription."""
        return bytes.fromhex(self.ask({"op": "message", "name": name, "version": version, "value": value})["hex"])

    def batches(self, value):
        """The bytes of record batches; java/Batches.java says how they are described."""
        return bytes.fromhex(self.ask({"op": "batches", "value": value})["hex"])

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
