import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import net.jpountz.lz4.LZ4FrameOutputStream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecord;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.common.TransactionVersion;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Writes what Kafka's own classes make of record batches.
 *
 * usage: RecordGolden OUTPUT_FOLDER            (compat-tests/golden/make-records runs it)
 *        RecordGolden --read FILE              reads batches (hex, one a line) and prints what is in them
 *
 * batches.txt: batches as Kafka builds them, and what Kafka reads in them.
 *
 *   batch NAME HEX
 *   header BASE_OFFSET LAST_OFFSET LEADER_EPOCH CODEC TIMESTAMP_TYPE TRANSACTIONAL CONTROL PRODUCER_ID EPOCH BASE_SEQUENCE LAST_SEQUENCE
 *          MAX_TIMESTAMP DELETE_HORIZON|- COUNT
 *   record OFFSET TIMESTAMP KEY VALUE [HEADER_KEY=HEADER_VALUE]...      bytes are "null", "x" and hex, or "LENGTH:CRC32" when long
 *
 * validation.txt: what a real log, with the check of the produce handler in front of it, does to batches that are appended as leader.
 *
 *   case NAME
 *   config KEY=VALUE...          topic configuration
 *   append ORIGIN VERSION        of the produce request, when the origin is CLIENT
 *   input HEX
 *   error CODE [INDEX]...        the error code and the indexes of the rejected records; or
 *   stored HEX                   what is then in the log, whose next offset was 1; the leader's epoch is 5 and the time NOW
 */
public final class RecordGolden {
    private static final long NOW = 1_700_000_000_000L;
    private static final int LEADER_EPOCH = 5;
    private static final short PRODUCE_VERSION = 13;
    private static final KafkaScheduler SCHEDULER = new KafkaScheduler(1);
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("--read")) {
            try (PrintWriter out = new PrintWriter(System.out)) {
                for (String line : Files.readAllLines(Path.of(arguments[1])))
                    describe(out, HexFormat.of().parseHex(line));
            }
            return;
        }
        Path folder = Path.of(arguments[0]);
        try (PrintWriter out = new PrintWriter(folder.resolve("batches.txt").toFile(), StandardCharsets.UTF_8)) {
            writeBatches(out);
        }
        try (PrintWriter out = new PrintWriter(folder.resolve("validation.txt").toFile(), StandardCharsets.UTF_8)) {
            SCHEDULER.startup();
            new ValidationCases(out).write();
            SCHEDULER.shutdown();
        }
    }

    // ---- batches ----------------------------------------------------------------------------------------------------

    private static void writeBatches(PrintWriter out) throws IOException {
        for (String codec : CODECS) {
            write(out, "three-" + codec, MemoryRecords.withRecords(7L, compression(codec), 3, three()));
            write(out, "many-" + codec, many(compression(codec)));
            if (!codec.equals("none"))
                write(out, "large-" + codec, MemoryRecords.withRecords(compression(codec), new SimpleRecord(5L, bytes("k"), pattern(200_000)),
                new SimpleRecord(6L, pattern(70_000), null), new SimpleRecord(4L, null, bytes("small"))));
        }
        write(out, "idempotent", MemoryRecords.withIdempotentRecords(Compression.NONE, 4000L, (short) 7, Integer.MAX_VALUE - 1, three()));
        write(out, "transactional", MemoryRecords.withTransactionalRecords(Compression.lz4().build(), 4001L, (short) 8, 12, three()));
        write(out, "log-append-time", build(builder(Compression.NONE, TimestampType.LOG_APPEND_TIME, 10L, NOW, RecordBatch.NO_TIMESTAMP)));
        write(out, "delete-horizon", build(builder(Compression.NONE, TimestampType.CREATE_TIME, 10L, -1L, 900L)));
        for (ControlRecordType type : List.of(ControlRecordType.ABORT, ControlRecordType.COMMIT))
            write(out, "marker-" + type.name().toLowerCase(), MemoryRecords.withEndTransactionMarker(0L, NOW, -1, 4002L, (short) 9,
                new EndTransactionMarker(type, 17)));
        writeKraft(out);
        ByteBuffer empty = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(empty, RecordBatch.MAGIC_VALUE_V2, 4003L, (short) 1, 20, 100L, 109L, 4, TimestampType.CREATE_TIME, NOW,
            true, false);
        empty.flip();
        write(out, "empty", MemoryRecords.readableRecords(empty));
    }

    private static void writeKraft(PrintWriter out) throws IOException {
        write(out, "leader-change", MemoryRecords.withLeaderChangeMessage(11L, NOW, 2, buffer(), new LeaderChangeMessage().setLeaderId(1)));
        write(out, "snapshot-header", MemoryRecords.withSnapshotHeaderRecord(0L, NOW, 2, buffer(), new SnapshotHeaderRecord()));
        write(out, "snapshot-footer", MemoryRecords.withSnapshotFooterRecord(9L, NOW, 2, buffer(), new SnapshotFooterRecord()));
        write(out, "kraft-version", MemoryRecords.withKRaftVersionRecord(1L, NOW, 2, buffer(), new KRaftVersionRecord().setKRaftVersion((short) 1)));
        write(out, "kraft-voters", MemoryRecords.withVotersRecord(2L, NOW, 2, buffer(), new VotersRecord()));
    }

    private static ByteBuffer buffer() {
        return ByteBuffer.allocate(1024);
    }

    private static MemoryRecordsBuilder builder(Compression compression, TimestampType type, long baseOffset, long appendTime, long horizon) {
        return new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), RecordBatch.MAGIC_VALUE_V2, compression, type, baseOffset, appendTime, -1L,
            (short) -1, -1, false, false, 6, Integer.MAX_VALUE, horizon);
    }

    private static MemoryRecords build(MemoryRecordsBuilder builder) {
        for (SimpleRecord record : three())
            builder.append(record);
        return builder.build();
    }

    private static SimpleRecord[] three() {
        Header[] headers = {new RecordHeader("trace", bytes("1-2")), new RecordHeader("", null), new RecordHeader("trace", new byte[0])};
        return new SimpleRecord[] {new SimpleRecord(1000L, bytes("key"), bytes("value")), new SimpleRecord(990L, (byte[]) null, null, headers),
            new SimpleRecord(1200L, new byte[0], new byte[0])};
    }

    private static MemoryRecords many(Compression compression) {
        SimpleRecord[] records = new SimpleRecord[120];
        for (int index = 0; index < records.length; index++)
            records[index] = new SimpleRecord(NOW + index * 37L, bytes("key-" + index % 7), pattern(index));
        return MemoryRecords.withRecords(compression, records);
    }

    private static void write(PrintWriter out, String name, MemoryRecords records) throws IOException {
        byte[] batch = toArray(records);
        out.println("batch " + name + " " + HexFormat.of().formatHex(batch));
        describe(out, batch);
    }

    private static void describe(PrintWriter out, byte[] bytes) {
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
            batch.ensureValid();
            String horizon = batch.deleteHorizonMs().isPresent() ? Long.toString(batch.deleteHorizonMs().getAsLong()) : "-";
            out.println("header " + batch.baseOffset() + " " + batch.lastOffset() + " " + batch.partitionLeaderEpoch() + " "
                + batch.compressionType() + " " + batch.timestampType() + " " + batch.isTransactional() + " " + batch.isControlBatch() + " "
                + batch.producerId() + " " + batch.producerEpoch() + " " + batch.baseSequence() + " " + batch.lastSequence() + " "
                + batch.maxTimestamp() + " " + horizon + " " + batch.countOrNull());
            for (Record record : batch) {
                StringBuilder line = new StringBuilder("record " + record.offset() + " " + record.timestamp() + " " + text(record.key()) + " "
                    + text(record.value()));
                for (Header header : record.headers())
                    line.append(" ").append(text(ByteBuffer.wrap(bytes(header.key())))).append("=")
                        .append(text(header.value() == null ? null : ByteBuffer.wrap(header.value())));
                out.println(line);
            }
        }
    }

    private static String text(ByteBuffer buffer) {
        if (buffer == null)
            return "null";
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        if (bytes.length <= 16)
            return "x" + HexFormat.of().formatHex(bytes);
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return bytes.length + ":" + crc.getValue();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Bytes that compress well but not to nothing. */
    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int index = 0; index < length; index++)
            bytes[index] = (byte) (index % 64 + index / 8192);
        return bytes;
    }

    private static byte[] toArray(MemoryRecords records) {
        byte[] bytes = new byte[records.sizeInBytes()];
        records.buffer().duplicate().get(bytes);
        return bytes;
    }

    private static Compression compression(String name) {
        return Compression.of(name).build();
    }

    // ---- validation -------------------------------------------------------------------------------------------------

    private static final class ValidationCases {
        private final PrintWriter out;

        ValidationCases(PrintWriter out) {
            this.out = out;
        }

        void write() throws Exception {
            compressionTypes();
            timestamps();
            headers();
            framing();
            keysAndSizes();
            structure();
            offsets();
            compressedStreams();
        }

        private void compressionTypes() throws Exception {
            for (String codec : CODECS) {
                for (String target : List.of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")) {
                    check(codec + "-to-" + target, plain(codec), "compression.type=" + target);
                    check(codec + "-to-" + target + "-log-append-time", plain(codec), "compression.type=" + target,
                        "message.timestamp.type=LogAppendTime");
                }
                check("idempotent-" + codec, toArray(MemoryRecords.withIdempotentRecords(compression(codec), 9L, (short) 2, 0, recent())),
                    "compression.type=snappy");
                check("transactional-" + codec, toArray(MemoryRecords.withTransactionalRecords(compression(codec), 9L, (short) 2, 0, recent())),
                    "compression.type=gzip", "compression.gzip.level=9");
            }
            byte[] marker = toArray(MemoryRecords.withEndTransactionMarker(NOW, 4002L, (short) 9, new EndTransactionMarker(ControlRecordType.COMMIT, 1)));
            check("marker-by-client", marker);
            checkCoordinator("marker-by-coordinator", marker, "compression.type=zstd");
            checkCoordinator("plain-by-coordinator", plain("none"), "compression.type=lz4");
        }

        private void timestamps() throws Exception {
            String before = "message.timestamp.before.max.ms=5000";
            String after = "message.timestamp.after.max.ms=3000";
            for (String codec : CODECS) {
                byte[] spread = batch(codec, NOW - 5001, NOW - 5000, NOW, NOW + 3000, NOW + 3001, -1L);
                check("range-" + codec, spread, before, after);
                check("range-recompressed-" + codec, spread, before, after, "compression.type=gzip");
                check("range-log-append-time-" + codec, spread, before, after, "message.timestamp.type=LogAppendTime");
                check("range-good-" + codec, batch(codec, NOW - 5000, NOW + 3000, NOW, -1L), before, after);
                check("wrong-max-" + codec, resealed(plain(codec), b -> b.putLong(35, 5L)));
                check("claims-log-append-time-" + codec, resealed(plain(codec), b -> b.putShort(21, (short) (b.getShort(21) | 8))));
                check("claims-log-append-time-recompressed-" + codec, resealed(plain(codec), b -> b.putShort(21, (short) (b.getShort(21) | 8))),
                    "compression.type=zstd");
                check("claims-log-append-time-to-it-" + codec, resealed(plain(codec), b -> b.putShort(21, (short) (b.getShort(21) | 8))),
                    "message.timestamp.type=LogAppendTime");
                check("claims-log-append-time-never-" + codec,
                    resealed(plain(codec), b -> b.putShort(21, (short) (b.getShort(21) | 8)).putLong(35, -1L)));
            }
            check("default-future", batch("none", NOW + 3_600_000, NOW + 3_600_001));
            check("default-past", batch("none", 0L, 1L));
            check("no-timestamps", batch("none", -1L, -1L));
            check("negative", resealed(plain("none"), b -> b.putLong(27, -500L)));
            check("negative-recompressed", resealed(plain("none"), b -> b.putLong(27, -500L)), "compression.type=gzip");
            check("overflowing", resealed(plain("none"), b -> b.putLong(27, Long.MAX_VALUE)));
            check("underflowing", resealed(plain("none"), b -> b.putLong(27, Long.MIN_VALUE)), before, after);
        }

        private void headers() throws Exception {
            for (String codec : List.of("none", "gzip")) {
                byte[] good = plain(codec);
                check("base-offset-" + codec, patched(good, b -> b.putLong(0, 1L)));
                check("leader-epoch-" + codec, patched(good, b -> b.putInt(12, 77)));
                check("crc-" + codec, patched(good, b -> b.putInt(17, b.getInt(17) ^ 1)));
                check("unused-bits-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x7f80))));
                check("unused-bits-wrong-max-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x7f80)).putLong(35, 1L)));
                check("delete-horizon-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x40))));
                check("delete-horizon-recompressed-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x40))),
                    "compression.type=lz4");
                check("control-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x20))));
                check("count-zero-" + codec, resealed(good, b -> b.putInt(57, 0)));
                check("count-zero-delta-" + codec, resealed(good, b -> b.putInt(57, 0).putInt(23, -1)));
                check("count-negative-" + codec, resealed(good, b -> b.putInt(57, -3)));
                check("count-high-" + codec, resealed(good, b -> b.putInt(57, 4)));
                check("count-and-delta-high-" + codec, resealed(good, b -> b.putInt(57, 4).putInt(23, 3)));
                check("count-and-delta-low-" + codec, resealed(good, b -> b.putInt(57, 2).putInt(23, 1)));
                check("count-and-delta-huge-" + codec, resealed(good, b -> b.putInt(57, Integer.MAX_VALUE).putInt(23, Integer.MAX_VALUE - 1)));
                check("delta-high-" + codec, resealed(good, b -> b.putInt(23, 9)));
                check("delta-negative-" + codec, resealed(good, b -> b.putInt(23, -2)));
                check("sequence-negative-" + codec, resealed(good, b -> b.putLong(43, 9L).putShort(51, (short) 0).putInt(53, -1)));
                check("transactional-without-producer-" + codec, resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x10))));
                check("transactional-without-producer-recompressed-" + codec,
                    resealed(good, b -> b.putShort(21, (short) (b.getShort(21) | 0x10))), "compression.type=snappy");
                for (int id : new int[] {5, 6, 7})
                    check("codec-" + id + "-" + codec, resealed(good, b -> b.putShort(21, (short) id)));
            }
            check("crc-and-too-large", patched(plain("none"), b -> b.putInt(17, 1)), "max.message.bytes=80");
            check("crc-and-count", patched(plain("none"), b -> b.putInt(17, 1).putInt(57, 9)));
            check("base-offset-and-too-large", patched(plain("none"), b -> b.putLong(0, 4L)), "max.message.bytes=80");
        }

        private void framing() throws Exception {
            byte[] good = plain("none");
            check("nothing", new byte[0]);
            for (int length : new int[] {1, 11, 12, 16, 17, 60, 61, good.length - 1})
                check("truncated-" + length, Arrays.copyOf(good, length));
            check("two", concatenated(good, good));
            check("one-and-a-part", concatenated(good, Arrays.copyOf(good, good.length - 1)));
            check("one-and-a-byte", concatenated(good, new byte[1]));
            check("one-and-zeros", concatenated(good, new byte[30]));
            check("one-and-wrong-magic", concatenated(good, patched(good, b -> b.put(16, (byte) 3))));
            check("one-and-old-magic", concatenated(good, patched(good, b -> b.put(16, (byte) 1))));
            for (int magic : new int[] {0, 1, 3, -1})
                check("magic" + magic, patched(good, b -> b.put(16, (byte) magic)));
            for (int length : new int[] {-1, 0, 13, 20, 48})
                check("length" + length, patched(good, b -> b.putInt(8, length)));
            for (short version : new short[] {3, 6, 7, 9, 13})
                for (String codec : List.of("gzip", "zstd"))
                    check("version-" + version + "-" + codec, "CLIENT", version, plain(codec));
        }

        private void keysAndSizes() throws Exception {
            for (String codec : CODECS) {
                byte[] keyless = toArray(MemoryRecords.withRecords(compression(codec), new SimpleRecord(NOW, bytes("k"), bytes("v")),
                    new SimpleRecord(NOW, null, bytes("v")), new SimpleRecord(NOW, new byte[0], null), new SimpleRecord(5L, null, bytes("v"))));
                check("keyless-" + codec, keyless, "cleanup.policy=compact");
                check("keyless-and-late-" + codec, keyless, "cleanup.policy=compact,delete", "message.timestamp.before.max.ms=1000");
                check("keyless-recompressed-" + codec, keyless, "cleanup.policy=compact", "compression.type=zstd");
                check("keyless-deleted-" + codec, keyless, "cleanup.policy=delete");
                byte[] small = toArray(MemoryRecords.withRecords(compression(codec), new SimpleRecord(NOW, bytes("k"), pattern(2000))));
                check("size-" + codec, small, "max.message.bytes=" + small.length);
                check("size-exceeded-" + codec, small, "max.message.bytes=" + (small.length - 1));
                check("size-decompressed-" + codec, small, "max.message.bytes=1000", "compression.type=uncompressed");
                check("size-compressed-" + codec, small, "max.message.bytes=2100", "compression.type=gzip");
            }
        }

        /** Records that are not as they should be; the size of each is right unless the case says otherwise. */
        private void structure() throws Exception {
            for (String codec : CODECS) {
                for (String target : List.of("producer", "uncompressed", "gzip")) {
                    String suffix = "-" + codec + "-to-" + target;
                    String config = "compression.type=" + target;
                    check("record-good" + suffix, raw(codec, 1, sized(0, 0, 0, 2, 'k', 2, 'v', 0)), config);
                    check("record-null-lengths" + suffix, raw(codec, 1, sized(0, 0, 0, 5, 7, 0)), config);
                    check("record-long-varints" + suffix, raw(codec, 1, sized(0, 0x80, 0, 0x80, 0x80, 0, 0x81, 0, 0x81, 0x80, 0, 0x80, 0)), config);
                    check("record-attributes" + suffix, raw(codec, 1, sized(0xff, 0, 0, 1, 1, 0)), config);
                    check("record-endless-varint" + suffix, raw(codec, 1, sized(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0)), config);
                    check("record-endless-varlong" + suffix,
                        raw(codec, 1, sized(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0)), config);
                    check("record-headers-negative" + suffix, raw(codec, 1, sized(0, 0, 0, 1, 1, 1)), config);
                    check("record-headers-many" + suffix, raw(codec, 1, sized(0, 0, 0, 1, 1, 40)), config);
                    check("record-header-key-null" + suffix, raw(codec, 1, sized(0, 0, 0, 1, 1, 2, 1, 1)), config);
                    check("record-header-good" + suffix, raw(codec, 1, sized(0, 0, 0, 1, 1, 4, 2, 'h', 1, 0, 2, 'v')), config);
                    check("record-last-too-long" + suffix, raw(codec, 1, sized(0, 0, 0, 2, 'k', 40, 'v', 0)), config);
                    check("record-key-huge" + suffix, raw(codec, 1, sized(0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 'k', 1, 0)), config);
                    check("record-cut" + suffix, raw(codec, 1, bytes(24, 0, 0, 0, 2, 'k')), config);
                    check("record-missing" + suffix, raw(codec, 2, sized(0, 0, 0, 1, 1, 0)), config);
                    check("record-surplus" + suffix, raw(codec, 1, concatenated(sized(0, 0, 0, 1, 1, 0), sized(0, 0, 2, 1, 1, 0))), config);
                    check("records-none" + suffix, raw(codec, 1, new byte[0]), config);
                }
            }
            check("record-size-negative", raw("none", 1, bytes(5, 0, 0, 0, 1, 1, 0)));
            check("record-size-low", raw("none", 1, bytes(10, 0, 0, 0, 1, 1, 0)));
            check("record-size-high", raw("none", 1, bytes(14, 0, 0, 0, 1, 1, 0, 0)));
            check("record-size-endless", raw("none", 1, bytes(0x8c, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 1, 1, 0)));
        }

        private void offsets() throws Exception {
            for (String codec : CODECS)
                for (String target : List.of("producer", "uncompressed", "gzip")) {
                    byte[] gap = concatenated(sized(0, 0, 0, 1, 1, 0), sized(0, 0, 6, 1, 1, 0), sized(0, 0, 8, 1, 1, 0));
                    check("offsets-gap-" + codec + "-to-" + target, raw(codec, 3, gap), "compression.type=" + target);
                    byte[] same = concatenated(sized(0, 0, 0, 1, 1, 0), sized(0, 2, 0, 1, 1, 0));
                    check("offsets-same-" + codec + "-to-" + target, raw(codec, 2, same), "compression.type=" + target);
                    check("offsets-negative-" + codec + "-to-" + target, raw(codec, 1, sized(0, 0, 3, 1, 1, 0)), "compression.type=" + target);
                }
        }

        private void compressedStreams() throws Exception {
            byte[] records = concatenated(sized(0, 0, 0, 2, 'k', 2, 'v', 0), sized(0, 2, 2, 2, 'k', 2, 'w', 0));
            for (String codec : CODECS.subList(1, CODECS.size())) {
                byte[] whole = compressed(codec, records);
                for (String target : List.of("producer", "uncompressed")) {
                    String suffix = "-" + codec + "-to-" + target;
                    String config = "compression.type=" + target;
                    check("stream-empty" + suffix, payload(codec, 2, new byte[0]), config);
                    check("stream-cut" + suffix, payload(codec, 2, Arrays.copyOf(whole, whole.length - 1)), config);
                    check("stream-half" + suffix, payload(codec, 2, Arrays.copyOf(whole, whole.length / 2)), config);
                    check("stream-garbage" + suffix, payload(codec, 2, bytes("this is not compressed data")), config);
                    check("stream-and-zeros" + suffix, payload(codec, 2, concatenated(whole, new byte[40])), config);
                    check("stream-and-text" + suffix, payload(codec, 2, concatenated(whole, bytes("trailing"))), config);
                    check("stream-twice" + suffix, payload(codec, 2, concatenated(compressed(codec, Arrays.copyOf(records, 10)),
                        compressed(codec, Arrays.copyOfRange(records, 10, records.length)))), config);
                }
            }
            check("snappy-raw-block", payload("snappy", 2, org.xerial.snappy.Snappy.compress(records)));
            byte[] many = toArray(fifty());
            byte[] manyRecords = Arrays.copyOfRange(many, DefaultRecordBatch.RECORD_BATCH_OVERHEAD, many.length);
            check("snappy-raw-block-many", payload("snappy", 50, org.xerial.snappy.Snappy.compress(manyRecords)));
            for (LZ4FrameOutputStream.FLG.Bits[] flags : LZ4_FLAGS) {
                ByteArrayOutputStream stream = new ByteArrayOutputStream();
                long size = Arrays.asList(flags).contains(LZ4FrameOutputStream.FLG.Bits.CONTENT_SIZE) ? records.length : -1L;
                try (OutputStream lz4 = new LZ4FrameOutputStream(stream, LZ4FrameOutputStream.BLOCKSIZE.SIZE_1MB, size, flags)) {
                    lz4.write(records);
                }
                String name = "lz4-" + String.join("-", Stream.of(flags).map(flag -> flag.name().toLowerCase()).toList());
                check(name, payload("lz4", 2, stream.toByteArray()));
                byte[] damaged = stream.toByteArray();
                damaged[6] ^= 1;
                check(name + "-header-checksum", payload("lz4", 2, damaged));
                damaged = stream.toByteArray();
                damaged[damaged.length - 1] ^= 1;
                check(name + "-last-byte", payload("lz4", 2, damaged));
                damaged = stream.toByteArray();
                damaged[size < 0 ? 13 : 21] ^= 2;
                check(name + "-data", payload("lz4", 2, damaged));
            }
            byte[] dependent = compressed("lz4", records);
            dependent[4] &= ~0x20;
            check("lz4-dependent", payload("lz4", 2, dependent));
            byte[] trailer = compressed("gzip", records);
            trailer[trailer.length - 1] ^= 1;
            check("gzip-trailer", payload("gzip", 2, trailer));
        }

        private static final LZ4FrameOutputStream.FLG.Bits[][] LZ4_FLAGS = {
            {LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE},
            {LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE, LZ4FrameOutputStream.FLG.Bits.BLOCK_CHECKSUM},
            {LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE, LZ4FrameOutputStream.FLG.Bits.CONTENT_CHECKSUM},
            {LZ4FrameOutputStream.FLG.Bits.BLOCK_INDEPENDENCE, LZ4FrameOutputStream.FLG.Bits.CONTENT_SIZE},
        };

        private void check(String name, byte[] input, String... config) throws Exception {
            check(name, "CLIENT", PRODUCE_VERSION, input, config);
        }

        private void checkCoordinator(String name, byte[] input, String... config) throws Exception {
            check(name, "COORDINATOR", PRODUCE_VERSION, input, config);
        }

        private void check(String name, String origin, short version, byte[] input, String... config) throws Exception {
            out.println("case " + name);
            out.println(("config " + String.join(" ", config)).strip());
            out.println("append " + origin + " " + version);
            out.println(("input " + HexFormat.of().formatHex(input)).strip());
            try (Log log = new Log(config)) {
                out.println("stored " + HexFormat.of().formatHex(log.append(AppendOrigin.valueOf(origin), version, input)));
            } catch (Throwable error) {
                StringBuilder line = new StringBuilder("error ");
                if (error instanceof RecordValidationException rejected) {
                    line.append(Errors.forException(rejected.invalidException()).code());
                    for (ProduceResponse.RecordError record : rejected.recordErrors())
                        line.append(" ").append(record.batchIndex);
                } else {
                    line.append(Errors.forException(error).code());
                }
                out.println(line);
            }
        }
    }

    private static MemoryRecords fifty() {
        SimpleRecord[] records = new SimpleRecord[50];
        Arrays.fill(records, new SimpleRecord(NOW, bytes("key"), pattern(30)));
        return MemoryRecords.withRecords(Compression.NONE, records);
    }

    private static SimpleRecord[] recent() {
        return new SimpleRecord[] {new SimpleRecord(NOW - 20, bytes("a"), bytes("1")), new SimpleRecord(NOW - 10, null, bytes("2"),
            new Header[] {new RecordHeader("h", bytes("x"))}), new SimpleRecord(NOW - 15, bytes("c"), null)};
    }

    private static byte[] plain(String codec) {
        return toArray(MemoryRecords.withRecords(compression(codec), recent()));
    }

    private static byte[] batch(String codec, long... timestamps) {
        List<SimpleRecord> records = new ArrayList<>();
        for (long timestamp : timestamps)
            records.add(new SimpleRecord(timestamp, bytes("k"), bytes("v")));
        return toArray(MemoryRecords.withRecords(compression(codec), records.toArray(new SimpleRecord[0])));
    }

    private static byte[] patched(byte[] batch, Consumer<ByteBuffer> patch) {
        byte[] copy = batch.clone();
        patch.accept(ByteBuffer.wrap(copy));
        return copy;
    }

    private static byte[] resealed(byte[] batch, Consumer<ByteBuffer> patch) {
        return patched(batch, buffer -> {
            patch.accept(buffer);
            CRC32C crc = new CRC32C();
            crc.update(buffer.array(), 21, buffer.capacity() - 21);
            buffer.putInt(17, (int) crc.getValue());
        });
    }

    private static byte[] concatenated(byte[]... parts) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (byte[] part : parts)
            whole.writeBytes(part);
        return whole.toByteArray();
    }

    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int index = 0; index < values.length; index++)
            bytes[index] = (byte) values[index];
        return bytes;
    }

    /** A record's body behind its size. */
    private static byte[] sized(int... body) {
        return concatenated(new byte[] {(byte) (2 * body.length)}, bytes(body));
    }

    private static byte[] compressed(String codec, byte[] records) throws IOException {
        ByteBufferOutputStream stream = new ByteBufferOutputStream(1024);
        try (OutputStream out = compression(codec).wrapForOutput(stream, RecordBatch.MAGIC_VALUE_V2)) {
            out.write(records);
        }
        ByteBuffer buffer = stream.buffer();
        buffer.flip();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** A batch of `count` records whose encoded form is `records`. */
    private static byte[] raw(String codec, int count, byte[] records) throws IOException {
        return payload(codec, count, compressed(codec, records));
    }

    /** A batch of `count` records behind whose header stands `payload`. */
    private static byte[] payload(String codec, int count, byte[] payload) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD + payload.length);
        buffer.put(DefaultRecordBatch.RECORD_BATCH_OVERHEAD, payload);
        DefaultRecordBatch.writeHeader(buffer, 0L, count - 1, buffer.capacity(), RecordBatch.MAGIC_VALUE_V2, CompressionType.forName(codec),
            TimestampType.CREATE_TIME, NOW, NOW, -1L, (short) -1, -1, false, false, false, -1, count);
        return buffer.array();
    }

    /** A partition's log in a folder of its own, with one record in it. */
    private static final class Log implements AutoCloseable {
        private final File folder;
        private final UnifiedLog log;

        Log(String... config) throws IOException {
            Properties properties = new Properties();
            properties.put("segment.index.bytes", "1024");
            for (String entry : config)
                properties.put(entry.substring(0, entry.indexOf('=')), entry.substring(entry.indexOf('=') + 1));
            folder = Files.createTempDirectory("record-golden").toFile();
            log = UnifiedLog.create(new File(folder, "topic-0"), new LogConfig(properties), 0L, 0L, SCHEDULER, new BrokerTopicStats(),
                new FixedTime(), 900_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true,
                Optional.empty());
            log.appendAsLeader(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(NOW, bytes("k"), null)), 4);
        }

        byte[] append(AppendOrigin origin, short version, byte[] input) throws IOException {
            long start = log.size();
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(input.clone()));
            if (origin == AppendOrigin.CLIENT)
                ProduceRequest.validateRecords(version, records);
            log.appendAsLeader(records, LEADER_EPOCH, origin, RequestLocal.noCaching(), VerificationGuard.SENTINEL, TransactionVersion.TV_1.featureLevel());
            log.flush(false);
            byte[] stored = Files.readAllBytes(new File(log.dir(), "00000000000000000000.log").toPath());
            return Arrays.copyOfRange(stored, (int) start, stored.length);
        }

        @Override
        public void close() throws IOException {
            log.close();
            try (Stream<Path> files = Files.walk(folder.toPath())) {
                files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
            }
        }
    }

    private static final class FixedTime implements Time {
        @Override
        public long milliseconds() {
            return NOW;
        }

        @Override
        public long nanoseconds() {
            return 0L;
        }

        @Override
        public void sleep(long ms) {
        }
    }
}
