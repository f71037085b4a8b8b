"""Frames, headers and ApiVersions: what is answered, and what ends the connection."""
import struct

from wire.cases import Area

AREA = Area("framing")

# Long enough for both brokers to answer or close; cases in which nothing happens wait that long.
SILENCE_S = 1.5


def send_raw(wire, label, data, first_bytes=None):
    """Sends bytes on a connection of their own and records what comes back, or as many bytes of it as are comparable."""
    connection = wire.connect()
    connection.send_bytes(data)
    received = connection.receive_bytes(SILENCE_S)
    wire.note(label, {"outcome": received if isinstance(received, str) else received[:first_bytes].hex()})
    connection.close()


def frame(body):
    return struct.pack(">i", len(body)) + body


def header(key, version, correlation=7, client=b"wire"):
    return struct.pack(">hhih", key, version, correlation, len(client)) + client


@AREA.case("negative length")
def negative_length(wire):
    send_raw(wire, "length -1", struct.pack(">i", -1))
    send_raw(wire, "lowest length", struct.pack(">i", -(2**31)))


@AREA.case("empty frame")
def empty_frame(wire):
    send_raw(wire, "length 0", struct.pack(">i", 0))


@AREA.case("oversized length")
def oversized_length(wire):
    send_raw(wire, "above socket.request.max.bytes", struct.pack(">i", 104857601))
    send_raw(wire, "highest length", struct.pack(">i", 2**31 - 1))


@AREA.case("short headers")
def short_headers(wire):
    whole = header(18, 0)
    for count in range(1, 10):
        send_raw(wire, f"{count} bytes", frame(whole[:count]))


@AREA.case("unlisted keys")
def unlisted_keys(wire):
    for key in (4, 5, 6, 7, 95, 1000, 32767, -1, -32768):
        send_raw(wire, f"key {key}", frame(header(key, 0)))


@AREA.case("controller keys on a broker listener")
def controller_keys(wire):
    for key in (52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82):
        send_raw(wire, f"key {key}", frame(header(key, 0) + b"\0" * 16))


@AREA.case("versions below and above")
def wrong_versions(wire):
    for key, lowest, highest in sorted(wire.tool.versions.values()):
        if key == 18:
            continue
        send_raw(wire, f"key {key} below", frame(header(key, lowest - 1)))
        send_raw(wire, f"key {key} above", frame(header(key, highest + 1)))


@AREA.case("split frames")
def split_frames(wire):
    connection = wire.connect()
    whole = frame(header(18, 0))
    for position in range(len(whole)):
        connection.send_bytes(whole[position:position + 1])
    received = connection.receive_bytes()
    wire.note("byte by byte", {"outcome": received if isinstance(received, str) else received[:6].hex()})


@AREA.case("surplus bytes")
def surplus_bytes(wire):
    for version, body in ((0, b""), (3, b"\x00\x05wire\x021\x00")):
        send_raw(wire, f"ApiVersions v{version}", frame(header(18, version) + body + b"\xff" * 5), first_bytes=6)


@AREA.case("absurd lengths")
def absurd_lengths(wire):
    send_raw(wire, "Metadata v1 array of 2^31-1", frame(header(3, 1) + struct.pack(">i", 2**31 - 1)))
    send_raw(wire, "Metadata v1 array of 1000001", frame(header(3, 1) + struct.pack(">i", 1000001)))
    send_raw(wire, "Metadata v1 array of -2", frame(header(3, 1) + struct.pack(">i", -2)), first_bytes=8)
    send_raw(wire, "Metadata v0 array of -2", frame(header(3, 0) + struct.pack(">i", -2)))
    send_raw(wire, "Metadata v9 compact array of 2^31-1", frame(header(3, 9) + b"\0\xff\xff\xff\xff\x07"))
    send_raw(wire, "Metadata v9 tags of 2^31-1", frame(header(3, 9) + b"\xff\xff\xff\xff\x07"))
    send_raw(wire, "Metadata v9 varint of six bytes", frame(header(3, 9) + b"\0\xff\xff\xff\xff\xff\xff"))
    send_raw(wire, "Metadata v9 tag with a length beyond the frame", frame(header(3, 9) + b"\x01\x63\xff\x01"))
    send_raw(wire, "string longer than the frame", frame(header(3, 1) + struct.pack(">ih", 1, 32000) + b"abc"))
    send_raw(wire, "string of length -2", frame(header(3, 1) + struct.pack(">ih", 1, -2)))
    send_raw(wire, "null where a string must be", frame(header(3, 1) + struct.pack(">ih", 1, -1)))


@AREA.case("unknown tagged fields")
def unknown_tags(wire):
    software = b"\x05wire\x021"
    in_body = frame(header(18, 3) + b"\0" + software + b"\x02\x20\x02ab\x21\x01c")
    in_header = frame(header(18, 3) + b"\x01\x20\x02ab" + software + b"\0")
    out_of_order = frame(header(18, 3) + b"\0" + software + b"\x02\x21\x01c\x20\x02ab")
    for label, data in (("in the body", in_body), ("in the header", in_header), ("out of order", out_of_order)):
        send_raw(wire, label, data, first_bytes=6)


@AREA.case("null client id")
def null_client_id(wire):
    send_raw(wire, "Metadata", frame(struct.pack(">hhih", 3, 1, 9, -1) + struct.pack(">ih", 1, 1) + b"!"), first_bytes=8)


@AREA.case("truncated bodies")
def truncated_bodies(wire):
    for api in ("Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "FindCoordinator", "JoinGroup", "CreateTopics", "DescribeConfigs"):
        key, lowest, highest = wire.tool.versions[api]
        for version in (lowest, highest):
            send_raw(wire, f"{api} v{version} without a body", frame(header(key, version)))


@AREA.case("answers in request order")
def request_order(wire):
    connection = wire.connect()
    topic = wire.topic()
    slow = {"maxWaitMs": 400, "minBytes": 1, "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}]}]}
    sent = [connection.send("Fetch", 11, {"replicaId": -1, **slow}), connection.send("ListOffsets", 5, {"replicaId": -1}), connection.send("Metadata", 9, {"topics": []})]
    for each in sent:
        connection.receive(each)


@AREA.case("sixty-four requests ahead")
def many_ahead(wire):
    connection = wire.connect()
    sent = [connection.send("ListOffsets", 5, {"replicaId": -1}) for _ in range(64)]
    for each in sent:
        connection.receive(each)


# The keys that one node without transactions serves; what else a broker lists is compared by its own areas.
SERVED = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 29, 30, 31, 32, 33, 35, 36, 37, 38, 39, 40, 41, 42, 43,
          44, 45, 46, 47, 48, 49, 55, 57, 60, 61, 64, 74, 75}


# A feature is announced when it works; these have to from the beginning.
FEATURES = {"metadata.version", "kraft.version", "eligible.leader.replicas.version"}


def served_only(answer):
    """Reduces an ApiVersions answer to the keys and features that every version of Ottla serves."""
    features = {name: [each for each in answer[name] if each["name"] in FEATURES] for name in ("supportedFeatures", "finalizedFeatures") if name in answer}
    return {**answer, **features, "apiKeys": [each for each in answer["apiKeys"] if each["apiKey"] in SERVED]}


@AREA.sweep("ApiVersions", "ApiVersions")
def api_versions(wire, version):
    wire.call("ApiVersions", version, {"clientSoftwareName": "wire", "clientSoftwareVersion": "1.0"}, keep=served_only)


@AREA.sweep("ApiVersions with a bad software name", "ApiVersions", lowest=3)
def api_versions_bad_name(wire, version):
    wire.call("ApiVersions", version, {"clientSoftwareName": "", "clientSoftwareVersion": "1.0"})
    wire.call("ApiVersions", version, {"clientSoftwareName": "wire", "clientSoftwareVersion": "-1.0-"})
    wire.call("ApiVersions", version, {"clientSoftwareName": "wire space", "clientSoftwareVersion": "1.0"})


@AREA.case("ApiVersions of unknown versions")
def api_versions_unknown(wire):
    for version in (-1, 6, 7, 100, 32767, -32768):
        for tags in (b"", b"\0"):
            send_raw(wire, f"v{version}, {len(tags)} bytes of tags", frame(header(18, version) + tags))


@AREA.case("ApiVersions v5 for another cluster")
def api_versions_other_cluster(wire):
    same = {"clientSoftwareName": "wire", "clientSoftwareVersion": "1.0"}
    wire.call("ApiVersions", 5, {**same, "clusterId": "another", "nodeId": 1}, keep=served_only)
    wire.call("ApiVersions", 5, {**same, "clusterId": None, "nodeId": 5}, keep=served_only)


@AREA.case("SASL on a plaintext listener")
def sasl(wire):
    for version in (0, 1):
        wire.call("SaslHandshake", version, {"mechanism": "PLAIN"})
    for version in (0, 1, 2):
        wire.call("SaslAuthenticate", version, {"authBytes": {"utf8": "\0a\0b"}})
    wire.call("Metadata", 9, {"topics": []})


@AREA.case("telemetry without a reporter")
def telemetry(wire):
    wire.call("GetTelemetrySubscriptions", 0, {})
    wire.call("PushTelemetry", 0, {"subscriptionId": 1})
    wire.call("PushTelemetry", 0, {"clientInstanceId": "4L6g3nShT-eMCtK--X86sw", "subscriptionId": 1})
