import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Makes clients of one broker with settings that suit tests. */
final class Connection {
    final String address;

    Connection(String address) {
        this.address = address;
    }

    Admin admin() {
        return Admin.create(new HashMap<>(Map.of("bootstrap.servers", address, "request.timeout.ms", "20000", "default.api.timeout.ms", "20000")));
    }

    Producer<byte[], byte[]> producer(Map<String, Object> extra) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", address));
        settings.putAll(extra);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    Consumer<byte[], byte[]> consumer(String group, Map<String, Object> extra) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", address, "group.id", group, "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "session.timeout.ms", "6000", "heartbeat.interval.ms", "500"));
        settings.putAll(extra);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Sends the records and returns what was acknowledged; the first failure is thrown. */
    List<RecordMetadata> send(List<ProducerRecord<byte[], byte[]>> records, Map<String, Object> extra) throws Exception {
        try (Producer<byte[], byte[]> producer = producer(extra)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (ProducerRecord<byte[], byte[]> record : records) {
                futures.add(producer.send(record));
            }
            List<RecordMetadata> acknowledged = new ArrayList<>();
            for (Future<RecordMetadata> future : futures) {
                acknowledged.add(future.get(Checks.TIMEOUT_MS, TimeUnit.MILLISECONDS));
            }
            return acknowledged;
        }
    }

    /** The next records of partition 0 from an offset on. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, int count, long offset) {
        try (Consumer<byte[], byte[]> consumer = consumer(Checks.unique("java"), Map.of())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, offset);
            return take(consumer, count);
        }
    }

    /** The next records, at least `count`; a timeout is an error. */
    static List<ConsumerRecord<byte[], byte[]>> take(Consumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        long deadline = System.currentTimeMillis() + Checks.TIMEOUT_MS;
        while (records.size() < count) {
            consumer.poll(Duration.ofMillis(200)).forEach(records::add);
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError(records.size() + " of " + count + " records in time");
            }
        }
        return records;
    }
}
