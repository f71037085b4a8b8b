import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** Produces and commits until the input closes, and reads back what is there. */
final class Load {
    private static final int COMMIT_EVERY = 100;
    private final Connection connection;
    private final String topic;
    private final TopicPartition partition;
    private volatile boolean ending;

    Load(Connection connection, String topic) {
        this.connection = connection;
        this.topic = topic;
        this.partition = new TopicPartition(topic, 0);
    }

    void run() throws Exception {
        try (Admin admin = connection.admin()) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
        Thread input = new Thread(this::waitForEnd);
        input.setDaemon(true);
        input.start();
        Thread committing = new Thread(this::commitWhatIsRead);
        committing.start();
        try (Producer<byte[], byte[]> producer = connection.producer(Map.of("enable.idempotence", "true", "acks", "all", "linger.ms", "5"))) {
            for (int number = 0; !ending; number++) {
                String value = Integer.toString(number);
                producer.send(new ProducerRecord<>(topic, 0, null, Checks.bytes(value)), (metadata, error) ->
                    print(error == null ? "acked " + value : "# " + error));
                Thread.sleep(1);
            }
            producer.flush();
        }
        committing.join();
    }

    private void waitForEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException error) {
            print("# " + error);
        }
        ending = true;
    }

    private void commitWhatIsRead() {
        try (Consumer<byte[], byte[]> consumer = connection.consumer(topic, Map.of())) {
            consumer.subscribe(List.of(topic));
            int read = 0;
            while (!ending) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    read++;
                    if (read % COMMIT_EVERY == 0) {
                        commit(consumer, record.offset() + 1);
                    }
                }
            }
        }
    }

    private void commit(Consumer<byte[], byte[]> consumer, long offset) {
        try {
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(offset)));
            print("committed " + offset);
        } catch (KafkaException error) {
            print("# " + error);
        }
    }

    void verify() {
        long end;
        try (Consumer<byte[], byte[]> consumer = connection.consumer(topic, Map.of())) {
            OffsetAndMetadata committed = consumer.committed(Set.of(partition)).get(partition);
            print("committed " + (committed == null ? -1 : committed.offset()));
            end = consumer.endOffsets(List.of(partition)).get(partition);
        }
        for (ConsumerRecord<byte[], byte[]> record : connection.read(topic, (int) end, 0)) {
            print("record " + record.offset() + " " + Checks.text(record.value()));
        }
    }

    private static synchronized void print(String line) {
        System.out.println(line);
    }
}
