"""What a broker allows its connections: how many, how long without a word, how large a request."""
import struct

from wire.cases import Area

AREA = Area("limits", config={"connections.max.idle.ms": "2000", "max.connections.per.ip": "6", "socket.request.max.bytes": "100000"})


@AREA.case("idle connections are closed")
def idle(wire):
    connection = wire.connect()
    connection.receive(connection.send("ListOffsets", 5, {"replicaId": -1}))
    wire.note("after the limit", {"outcome": connection.receive_bytes(15)})


@AREA.case("connections per address")
def per_address(wire):
    connections = [wire.connect() for _ in range(10)]
    answered = 0
    for connection in connections:
        answer = connection.receive(connection.send("ListOffsets", 5, {"replicaId": -1}), record=False, timeout_s=3)
        answered += answer is not None
    wire.note("answered", {"count": answered})
    for connection in connections:
        connection.close()
    wire.until(lambda: wire.call("ListOffsets", 5, {"replicaId": -1}, record=False) is not None, "connections are free again")


@AREA.case("largest request")
def largest_request(wire):
    head = struct.pack(">hhih", 18, 0, 7, 4) + b"wire"
    for size in (100000, 100001):
        connection = wire.connect()
        connection.send_bytes(struct.pack(">i", size) + head + b"\0" * (size - len(head)))
        received = connection.receive_bytes(3)
        wire.note(f"{size} bytes", {"outcome": received if isinstance(received, str) else "answered"})
        connection.close()
