import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.zip.CRC32;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.DefaultRecord;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;
import org.apache.kafka.common.utils.internals.Crc32C;

/**
 * Record batches out of a JSON description, right or wrong on purpose, and back.
 *
 * A batch: magic (2), codec ("none"), baseOffset, leaderEpoch, producerId, producerEpoch, baseSequence, transactional,
 * control, records. Wrong on purpose: logAppendTime and deleteHorizon (attribute bits), codecBits, magicByte, count,
 * lastOffsetDelta, baseTimestamp, maxTimestamp, crc ("bad"), lengthDelta, truncate (bytes cut off the end).
 * A record: key and value (text or null), timestamp, offsetDelta, headers ([[name, text or null], ...]).
 */
final class Batches {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private Batches() { }

    static byte[] build(JsonNode batches) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (JsonNode batch : batches) {
            if (batch.has("hex")) {
                out.write(HexFormat.of().parseHex(batch.get("hex").asText()));
            } else {
                byte[] bytes = batch.path("magic").asInt(2) == 2 ? build2(batch) : buildLegacy(batch);
                out.write(bytes, 0, bytes.length - batch.path("truncate").asInt(0));
            }
        }
        return out.toByteArray();
    }

    private static byte[] build2(JsonNode batch) throws IOException {
        JsonNode records = batch.path("records");
        CompressionType codec = CompressionType.forName(batch.path("codec").asText("none"));
        long baseTimestamp = batch.path("baseTimestamp").asLong(records.isEmpty() ? 0 : timestamp(records.get(0)));
        byte[] body = body(records, codec, baseTimestamp);
        long maxTimestamp = -1;
        for (JsonNode record : records) {
            maxTimestamp = Math.max(maxTimestamp, timestamp(record));
        }
        ByteBuffer buffer = ByteBuffer.allocate(61 + body.length);
        buffer.putLong(batch.path("baseOffset").asLong(0));
        buffer.putInt(49 + body.length + batch.path("lengthDelta").asInt(0));
        buffer.putInt(batch.path("leaderEpoch").asInt(-1));
        buffer.put((byte) batch.path("magicByte").asInt(2));
        buffer.putInt(0);
        buffer.putShort((short) attributes(batch, codec));
        buffer.putInt(batch.path("lastOffsetDelta").asInt(Math.max(0, records.size() - 1)));
        buffer.putLong(baseTimestamp);
        buffer.putLong(batch.path("maxTimestamp").asLong(maxTimestamp));
        buffer.putLong(batch.path("producerId").asLong(-1));
        buffer.putShort((short) batch.path("producerEpoch").asInt(-1));
        buffer.putInt(batch.path("baseSequence").asInt(-1));
        buffer.putInt(batch.path("count").asInt(records.size()));
        buffer.put(body);
        int crc = (int) Crc32C.compute(buffer.array(), 21, buffer.capacity() - 21);
        buffer.putInt(17, batch.path("crc").asText("").equals("bad") ? crc ^ 1 : crc);
        return buffer.array();
    }

    private static int attributes(JsonNode batch, CompressionType codec) {
        int bits = batch.path("codecBits").asInt(codec.id);
        bits |= batch.path("logAppendTime").asBoolean(false) ? 0x08 : 0;
        bits |= batch.path("transactional").asBoolean(false) ? 0x10 : 0;
        bits |= batch.path("control").asBoolean(false) ? 0x20 : 0;
        bits |= batch.path("deleteHorizon").asBoolean(false) ? 0x40 : 0;
        return bits;
    }

    private static byte[] body(JsonNode records, CompressionType codec, long baseTimestamp) throws IOException {
        ByteBufferOutputStream bytes = new ByteBufferOutputStream(512);
        try (DataOutputStream out = new DataOutputStream(Compression.of(codec).build().wrapForOutput(bytes, RecordBatch.MAGIC_VALUE_V2))) {
            int position = 0;
            for (JsonNode record : records) {
                DefaultRecord.writeTo(out, record.path("offsetDelta").asInt(position), timestamp(record) - baseTimestamp,
                    buffer(record.get("key")), buffer(record.get("value")), headers(record));
                position++;
            }
        }
        ByteBuffer written = bytes.buffer();
        written.flip();
        byte[] result = new byte[written.remaining()];
        written.get(result);
        return result;
    }

    private static Header[] headers(JsonNode record) {
        JsonNode given = record.path("headers");
        Header[] headers = new Header[given.size()];
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new RecordHeader(given.get(i).get(0).asText(), bytes(given.get(i).get(1)));
        }
        return headers;
    }

    /** A message of magic 0 or 1 (one per record; a codec wraps them in one message). */
    private static byte[] buildLegacy(JsonNode batch) throws IOException {
        int magic = batch.get("magic").asInt();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long offset = batch.path("baseOffset").asLong(0);
        for (JsonNode record : batch.path("records")) {
            out.write(legacyMessage(magic, 0, offset++, timestamp(record), bytes(record.get("key")), bytes(record.get("value")), batch));
        }
        CompressionType codec = CompressionType.forName(batch.path("codec").asText("none"));
        if (codec == CompressionType.NONE) {
            return out.toByteArray();
        }
        ByteBufferOutputStream wrapped = new ByteBufferOutputStream(512);
        try (DataOutputStream stream = new DataOutputStream(Compression.of(codec).build().wrapForOutput(wrapped, (byte) magic))) {
            stream.write(out.toByteArray());
        }
        ByteBuffer written = wrapped.buffer();
        written.flip();
        byte[] value = new byte[written.remaining()];
        written.get(value);
        long lastTimestamp = timestamp(batch.get("records").get(batch.get("records").size() - 1));
        return legacyMessage(magic, codec.id, offset - 1, lastTimestamp, null, value, batch);
    }

    private static byte[] legacyMessage(int magic, int attributes, long offset, long timestamp, byte[] key, byte[] value, JsonNode batch) {
        int size = 14 + (magic == 1 ? 8 : 0) + (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
        ByteBuffer buffer = ByteBuffer.allocate(12 + size);
        buffer.putLong(offset).putInt(size).putInt(0).put((byte) magic).put((byte) attributes);
        if (magic == 1) {
            buffer.putLong(timestamp);
        }
        for (byte[] part : new byte[][] {key, value}) {
            buffer.putInt(part == null ? -1 : part.length);
            if (part != null) {
                buffer.put(part);
            }
        }
        CRC32 crc = new CRC32();
        crc.update(buffer.array(), 16, buffer.capacity() - 16);
        buffer.putInt(12, (int) crc.getValue() ^ (batch.path("crc").asText("").equals("bad") ? 1 : 0));
        return buffer.array();
    }

    private static long timestamp(JsonNode record) {
        return record.path("timestamp").asLong(0);
    }

    private static byte[] bytes(JsonNode text) {
        return text == null || text.isNull() ? null : text.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static ByteBuffer buffer(JsonNode text) {
        byte[] bytes = bytes(text);
        return bytes == null ? null : ByteBuffer.wrap(bytes);
    }

    /** The description of stored batches; bytes after the last whole batch are counted. */
    static JsonNode describe(MemoryRecords records) {
        ByteBuffer bytes = records.buffer();
        ArrayNode batches = NODES.arrayNode();
        int position = 0;
        for (MutableRecordBatch batch : records.batches()) {
            batches.add(describe(batch, bytes, position));
            position += batch.sizeInBytes();
        }
        ObjectNode result = NODES.objectNode();
        result.set("batches", batches);
        result.put("trailingBytes", bytes.remaining() - position);
        return result;
    }

    private static ObjectNode describe(MutableRecordBatch batch, ByteBuffer bytes, int position) {
        ObjectNode node = NODES.objectNode();
        node.put("magic", batch.magic());
        node.put("baseOffset", batch.baseOffset());
        node.put("lastOffset", batch.lastOffset());
        node.put("codec", batch.compressionType().name);
        node.put("timestampType", batch.timestampType().name);
        node.put("maxTimestamp", batch.maxTimestamp());
        node.put("sizeInBytes", batch.sizeInBytes());
        node.put("valid", batch.isValid());
        if (batch.magic() == RecordBatch.MAGIC_VALUE_V2) {
            int start = bytes.position() + position;
            node.put("leaderEpoch", batch.partitionLeaderEpoch());
            node.put("attributes", bytes.getShort(start + 21));
            node.put("baseTimestamp", bytes.getLong(start + 27));
            node.put("producerId", batch.producerId());
            node.put("producerEpoch", batch.producerEpoch());
            node.put("baseSequence", batch.baseSequence());
        }
        ArrayNode records = node.putArray("records");
        for (Record record : batch) {
            ObjectNode one = records.addObject();
            one.put("offset", record.offset());
            one.put("timestamp", record.timestamp());
            one.put("key", text(record.key()));
            one.put("value", text(record.value()));
            ArrayNode headers = one.putArray("headers");
            for (Header header : record.headers()) {
                headers.addArray().add(header.key()).add(text(header.value() == null ? null : ByteBuffer.wrap(header.value())));
            }
        }
        return node;
    }

    private static String text(ByteBuffer bytes) {
        return bytes == null ? null : StandardCharsets.ISO_8859_1.decode(bytes.duplicate()).toString();
    }
}
