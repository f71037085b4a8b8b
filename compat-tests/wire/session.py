"""What a case talks through: connections to one broker, and the transcript of their answers. Compares nothing."""
import socket
import struct
import time

CALL_TIMEOUT_S = 8
READY_TIMEOUT_S = 15
COORDINATOR_ERRORS = (14, 15, 16)
MAX_FRAME = 64 * 1024 * 1024


class CaseError(Exception):
    """A case cannot go on: an answer it builds upon did not come, or its preparation failed."""


class Connection:
    """One TCP connection. Requests may be sent ahead of the answers to earlier ones."""

    def __init__(self, wire, client_id):
        self.wire = wire
        self.client_id = client_id
        self.next_correlation_id = 1
        self.socket = socket.create_connection((wire.broker.host, wire.broker.port), timeout=CALL_TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.closed = False
        self.outcome = None

    def send(self, api, version, request=None):
        """Sends a request and returns what receive() wants."""
        correlation_id = self.next_correlation_id
        self.next_correlation_id += 1
        frame = self.wire.tool.encode(api, version, request or {}, correlation_id, self.client_id)
        self.send_bytes(struct.pack(">i", len(frame)) + frame)
        return api, version, correlation_id

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True

    def receive_bytes(self, timeout_s=CALL_TIMEOUT_S):
        """The next frame without its length, "closed" or "timeout"."""
        self.socket.settimeout(timeout_s)
        try:
            length = struct.unpack(">i", self._exactly(4))[0]
            if not 0 <= length <= MAX_FRAME:
                return "closed"
            return self._exactly(length)
        except TimeoutError:
            return "timeout"
        except OSError:
            self.closed = True
            return "closed"

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data

    def receive(self, sent, record=True, timeout_s=CALL_TIMEOUT_S, decode_version=None):
        """The answer to a request, decoded, or None when there was none; the transcript says why."""
        api, version, correlation_id = sent
        data = self.receive_bytes(timeout_s)
        if isinstance(data, str):
            outcome, response = {"outcome": data}, None
        else:
            decoded = self.wire.tool.decode(api, version if decode_version is None else decode_version, data)
            response = decoded["response"]
            outcome = {"response": response}
            if decoded["left"]:
                outcome["bytesLeft"] = decoded["left"]
            if decoded["correlationId"] != correlation_id:
                outcome["correlationId"] = f"{decoded['correlationId']} instead of {correlation_id}"
        self.outcome = outcome
        if record:
            self.wire.note(f"{api} v{version}", outcome)
        return response

    def close(self):
        self.closed = True
        self.socket.close()


class Wire:
    """A case's view of a broker. `name` prefixes topics and groups, so that cases do not meet each other's."""

    def __init__(self, tool, broker, name):
        self.tool = tool
        self.broker = broker
        self.name = name
        self.transcript = []
        self.connections = []
        self._default = None

    def note(self, label, outcome):
        self.transcript.append([label, outcome])

    def connect(self, client_id="wire"):
        connection = Connection(self, client_id)
        self.connections.append(connection)
        return connection

    @property
    def default(self):
        """The connection that call() uses; a new one after it was closed."""
        if self._default is None or self._default.closed:
            self._default = self.connect()
        return self._default

    def call(self, api, version, request=None, record=True, timeout_s=CALL_TIMEOUT_S, keep=None):
        """One request and its answer; `keep` reduces the recorded answer to what the case is about."""
        connection = self.default
        sent = connection.send(api, version, request)
        response = connection.receive(sent, record=record and keep is None, timeout_s=timeout_s)
        if response is None:
            connection.close()
        if record and keep is not None:
            self.note(f"{api} v{version}", {"response": keep(response) if response is not None else None})
        return response

    def must(self, api, version, request=None, timeout_s=CALL_TIMEOUT_S):
        """A request of the preparation: not recorded, and its answer has to come."""
        response = self.call(api, version, request, record=False, timeout_s=timeout_s)
        if response is None:
            raise CaseError(f"no answer to {api} v{version}")
        return response

    def close(self):
        for connection in self.connections:
            connection.close()

    def full(self, name):
        """The name of a topic or group of this case."""
        return f"{self.name}-{name}".replace("/", ".").replace(" ", ".")

    def topic(self, name="t", partitions=1, configs=None):
        """Creates a topic, waits until it can be used, and returns its full name."""
        topic = self.full(name)
        given = [{"name": key, "value": value} for key, value in (configs or {}).items()]
        request = {"topics": [{"name": topic, "numPartitions": partitions, "replicationFactor": 1, "configs": given}], "timeoutMs": 10000}
        code = self.must("CreateTopics", 7, request)["topics"][0]["errorCode"]
        if code not in (0, 36):
            raise CaseError(f"creating {topic} gave {code}")
        self.until(lambda: self.leaders(topic) == partitions, f"{topic} has leaders")
        return topic

    def leaders(self, topic):
        """How many partitions of a topic have a leader that serves them; 0 unless all have."""
        answer = self.must("Metadata", 12, {"topics": [{"name": topic}], "allowAutoTopicCreation": False})["topics"][0]
        ready = answer["errorCode"] == 0 and all(each["leaderId"] >= 0 and each["errorCode"] == 0 for each in answer["partitions"])
        if ready:
            probe = [{"partitionIndex": each["partitionIndex"], "timestamp": -1} for each in answer["partitions"]]
            offsets = self.must("ListOffsets", 7, {"replicaId": -1, "topics": [{"name": topic, "partitions": probe}]})
            ready = all(each["errorCode"] == 0 for each in offsets["topics"][0]["partitions"])
        return len(answer["partitions"]) if ready else 0

    def topic_id(self, topic):
        return self.must("Metadata", 12, {"topics": [{"name": topic}], "allowAutoTopicCreation": False})["topics"][0]["topicId"]

    def delete_topic(self, topic):
        """Deletes a topic and waits until it is gone."""
        self.must("DeleteTopics", 5, {"topicNames": [topic], "timeoutMs": 10000})
        request = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
        self.until(lambda: self.must("Metadata", 12, request)["topics"][0]["errorCode"] == 3, f"{topic} is gone")

    def group(self, name="g"):
        """Waits until the group's coordinator answers, and returns the group's full name."""
        group = self.full(name)

        def ready():
            found = self.must("FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": [group]})["coordinators"][0]["errorCode"]
            if found != 0:
                return False
            beat = self.must("Heartbeat", 4, {"groupId": group, "generationId": 1, "memberId": "nobody"})
            return beat["errorCode"] not in COORDINATOR_ERRORS
        self.until(ready, f"the coordinator of {group} answers")
        return group

    def until(self, condition, what):
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline:
                raise CaseError(f"waited in vain until {what}")
            time.sleep(0.02)

    def produce(self, topic, batches, partition=0, version=12, acks=-1):
        """Appends batches, for cases that are about something else; returns the partition's answer."""
        request = {"acks": acks, "timeoutMs": 5000, "topicData": [{"name": topic, "partitionData": [{"index": partition, "records": batches}]}]}
        answer = self.must("Produce", version, request)["responses"][0]["partitionResponses"][0]
        if answer["errorCode"] != 0:
            raise CaseError(f"producing to {topic} gave {answer['errorCode']}")
        return answer
