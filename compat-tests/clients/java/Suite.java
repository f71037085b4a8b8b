import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.time.Duration;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** The checks of the Java client: producer, consumer and admin. Compiles against kafka-clients 2.8 to 4.4. */
final class Suite implements AutoCloseable {
    private final Connection connection;
    private final Admin admin;

    Suite(Connection connection) {
        this.connection = connection;
        this.admin = connection.admin();
    }

    void run() {
        Checks.report("create-topic", this::createTopic);
        for (String codec : Checks.CODECS) {
            Checks.report("codec-" + codec, () -> codec(codec));
        }
        Map<String, Checks.Action> checks = new LinkedHashMap<>();
        checks.put("headers", this::headers);
        checks.put("tombstones", this::tombstones);
        checks.put("large-record", this::largeRecord);
        checks.put("too-large-record", this::tooLargeRecord);
        checks.put("idempotence", this::idempotence);
        checks.put("group-rebalance", this::groupRebalance);
        checks.put("commit-resume", this::commitResume);
        checks.put("seek-by-time", this::seekByTime);
        checks.put("delete-records", this::deleteRecords);
        checks.put("describe-configs", this::describeConfigs);
        checks.put("alter-configs", this::alterConfigs);
        checks.put("create-partitions", this::createPartitions);
        checks.put("list-groups", this::listGroups);
        checks.put("describe-group", this::describeGroup);
        checks.put("delete-group", this::deleteGroup);
        checks.put("describe-cluster", this::describeCluster);
        checks.put("unknown-topic", this::unknownTopic);
        checks.put("invalid-topic", this::invalidTopic);
        checks.put("delete-topic", this::deleteTopic);
        checks.forEach(Checks::report);
    }

    @Override
    public void close() {
        admin.close(Duration.ofSeconds(5));
    }

    private String topic(String name, int partitions, Map<String, String> config) throws Exception {
        String topic = Checks.unique("java-" + name);
        admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(config))).all().get();
        return topic;
    }

    private String topic(String name) throws Exception {
        return topic(name, 1, Map.of());
    }

    private static List<ProducerRecord<byte[], byte[]>> samples(String topic, int count) {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (byte[] value : Checks.sampleValues(count)) {
            records.add(new ProducerRecord<>(topic, 0, Checks.bytes("key-" + records.size()), value));
        }
        return records;
    }

    private void createTopic() throws Exception {
        String topic = topic("create", 3, Map.of());
        try (Consumer<byte[], byte[]> consumer = connection.consumer(topic, Map.of())) {
            Checks.until(() -> consumer.partitionsFor(topic).size() == 3, "three partitions");
        }
        Checks.expectError(TopicExistsException.class, () -> admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get());
    }

    private void codec(String codec) throws Exception {
        String topic = topic(codec);
        List<ProducerRecord<byte[], byte[]>> sent = samples(topic, Checks.RECORDS);
        List<RecordMetadata> acknowledged = connection.send(sent, Map.of("compression.type", codec, "linger.ms", "20"));
        List<ConsumerRecord<byte[], byte[]>> read = connection.read(topic, sent.size(), 0);
        for (int number = 0; number < sent.size(); number++) {
            Checks.expect(acknowledged.get(number).offset(), (long) number, "the acknowledged offset");
            Checks.expect(Checks.text(read.get(number).key()), "key-" + number, "the key");
            Checks.expect(Arrays.equals(read.get(number).value(), sent.get(number).value()), true, "whether the value is the same");
        }
    }

    private void headers() throws Exception {
        String topic = topic("headers");
        List<Header> headers = List.of(new RecordHeader("first", Checks.bytes("1")), new RecordHeader("none", (byte[]) null),
            new RecordHeader("first", Checks.bytes("again")), new RecordHeader("empty", new byte[0]));
        connection.send(List.of(new ProducerRecord<>(topic, 0, Checks.bytes("k"), Checks.bytes("v"), headers)), Map.of());
        Checks.expect(List.of(connection.read(topic, 1, 0).get(0).headers().toArray()), headers, "the headers");
    }

    private void tombstones() throws Exception {
        String topic = topic("tombstones", 1, Map.of("cleanup.policy", "compact"));
        connection.send(List.of(new ProducerRecord<>(topic, 0, Checks.bytes("k"), Checks.bytes("v")), new ProducerRecord<>(topic, 0, Checks.bytes("k"), null)), Map.of());
        List<ConsumerRecord<byte[], byte[]>> read = connection.read(topic, 2, 0);
        Checks.expect(Checks.text(read.get(0).value()), "v", "the first value");
        Checks.expect(read.get(1).value(), null, "the tombstone");
        Checks.expectError(InvalidRecordException.class, () ->
            connection.send(List.of(new ProducerRecord<>(topic, 0, null, Checks.bytes("no key"))), Map.of()));
    }

    private void largeRecord() throws Exception {
        String topic = topic("large");
        connection.send(List.of(new ProducerRecord<>(topic, 0, null, new byte[Checks.LARGE])), Map.of());
        Checks.expect(connection.read(topic, 1, 0).get(0).value().length, Checks.LARGE, "the length");
    }

    private void tooLargeRecord() throws Exception {
        String topic = topic("too-large");
        Checks.expectError(RecordTooLargeException.class, () ->
            connection.send(List.of(new ProducerRecord<>(topic, 0, null, new byte[Checks.TOO_LARGE])), Map.of("max.request.size", 4 * Checks.TOO_LARGE)));
    }

    private void idempotence() throws Exception {
        String topic = topic("idempotence");
        List<RecordMetadata> acknowledged = connection.send(samples(topic, 1000), Map.of("enable.idempotence", "true", "acks", "all", "batch.size", "500"));
        Checks.expect(acknowledged.get(999).offset(), 999L, "the last offset");
        Checks.expect(Checks.text(connection.read(topic, 1000, 0).get(999).key()), "key-999", "the last key");
    }

    private void groupRebalance() throws Exception {
        rebalance(Map.of());
        rebalance(Map.of("partition.assignment.strategy", CooperativeStickyAssignor.class.getName()));
    }

    /** Two members share four partitions; one leaves, and the other one has everything. */
    private void rebalance(Map<String, Object> settings) throws Exception {
        String topic = topic("rebalance", 4, Map.of());
        String group = Checks.unique("java-rebalance");
        try (Consumer<byte[], byte[]> first = connection.consumer(group, settings)) {
            first.subscribe(List.of(topic));
            Checks.until(() -> polled(first) == 4, "the first member owning all");
            try (Consumer<byte[], byte[]> second = connection.consumer(group, settings)) {
                second.subscribe(List.of(topic));
                Checks.until(() -> polled(first) + polled(second) == 4 && first.assignment().size() == 2, "an even share");
            }
            Checks.until(() -> polled(first) == 4, "the first member owning all again");
            List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (int partition = 0; partition < 4; partition++) {
                records.add(new ProducerRecord<>(topic, partition, null, Checks.bytes("v" + partition)));
            }
            connection.send(records, Map.of());
            Set<String> values = Connection.take(first, 4).stream().map(record -> Checks.text(record.value())).collect(Collectors.toSet());
            Checks.expect(values, Set.of("v0", "v1", "v2", "v3"), "the values");
        }
    }

    private static int polled(Consumer<byte[], byte[]> consumer) {
        consumer.poll(Duration.ofMillis(100));
        return consumer.assignment().size();
    }

    private void commitResume() throws Exception {
        String topic = topic("resume");
        String group = Checks.unique("java-resume");
        TopicPartition partition = new TopicPartition(topic, 0);
        connection.send(samples(topic, 100), Map.of());
        try (Consumer<byte[], byte[]> consumer = connection.consumer(group, Map.of("max.poll.records", "40"))) {
            consumer.subscribe(List.of(topic));
            Connection.take(consumer, 40);
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(40, "forty")));
        }
        try (Consumer<byte[], byte[]> consumer = connection.consumer(group, Map.of())) {
            Checks.expect(consumer.committed(Set.of(partition)).get(partition).metadata(), "forty", "the committed metadata");
            consumer.subscribe(List.of(topic));
            Checks.expect(Connection.take(consumer, 1).get(0).offset(), 40L, "the first offset after the restart");
        }
    }

    private void seekByTime() throws Exception {
        String topic = topic("time");
        TopicPartition partition = new TopicPartition(topic, 0);
        long start = System.currentTimeMillis() - 100_000;
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (int number = 0; number < 50; number++) {
            records.add(new ProducerRecord<>(topic, 0, start + 1000L * number, Checks.bytes("k"), Checks.bytes("v")));
        }
        connection.send(records, Map.of());
        try (Consumer<byte[], byte[]> consumer = connection.consumer(topic, Map.of())) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, start + 20_001)).get(partition);
            Checks.expect(found.offset(), 21L, "the offset for a time between two records");
            Checks.expect(found.timestamp(), start + 21_000, "its timestamp");
            Checks.expect(consumer.offsetsForTimes(Map.of(partition, start + 1_000_000)).get(partition), null, "what is found past the end");
            Checks.expect(consumer.beginningOffsets(List.of(partition)).get(partition), 0L, "the earliest offset");
            Checks.expect(consumer.endOffsets(List.of(partition)).get(partition), 50L, "the latest offset");
        }
        Checks.expect(admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset(), 50L, "the admin's latest offset");
    }

    private void deleteRecords() throws Exception {
        String topic = topic("delete-records");
        TopicPartition partition = new TopicPartition(topic, 0);
        connection.send(samples(topic, 50), Map.of());
        Checks.expect(admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(30))).lowWatermarks().get(partition).get().lowWatermark(), 30L, "the low watermark");
        Checks.expect(admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset(), 30L, "the earliest offset");
        Checks.expect(connection.read(topic, 1, 5).get(0).offset(), 30L, "the first offset read");
    }

    private Config config(String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return admin.describeConfigs(List.of(resource)).all().get().get(resource);
    }

    private void describeConfigs() throws Exception {
        Config config = config(topic("configs", 1, Map.of("retention.ms", "123456")));
        Checks.expect(config.get("retention.ms").value(), "123456", "retention.ms");
        Checks.expect(config.get("retention.ms").source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "its source");
        Checks.expect(config.get("cleanup.policy").source(), ConfigEntry.ConfigSource.DEFAULT_CONFIG, "the source of cleanup.policy");
        Node node = admin.describeCluster().nodes().get().iterator().next();
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString());
        Config brokerConfig = admin.describeConfigs(List.of(broker)).all().get().get(broker);
        Checks.expect(brokerConfig.get("group.initial.rebalance.delay.ms").value(), "0", "the broker's group.initial.rebalance.delay.ms");
        Checks.expect(brokerConfig.get("log.dirs").isReadOnly(), true, "whether log.dirs is read-only");
    }

    private void alterConfigs() throws Exception {
        String topic = topic("alter");
        alter(topic, "max.message.bytes", "2000").get();
        Checks.until(() -> config(topic).get("max.message.bytes").value().equals("2000"), "the new value");
        Checks.until(() -> refuses(topic, 3000), "the smaller limit in force");
        Checks.expectError(InvalidConfigurationException.class, () -> alter(topic, "retention.ms", "soon").get());
    }

    private KafkaFuture<Void> alter(String topic, String key, String value) {
        Collection<AlterConfigOp> change = List.of(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET));
        return admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), change)).all();
    }

    private boolean refuses(String topic, int size) throws Exception {
        try {
            connection.send(List.of(new ProducerRecord<>(topic, 0, null, new byte[size])), Map.of());
            return false;
        } catch (java.util.concurrent.ExecutionException error) {
            return error.getCause() instanceof RecordTooLargeException;
        }
    }

    private void createPartitions() throws Exception {
        String topic = topic("partitions");
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
        try (Consumer<byte[], byte[]> consumer = connection.consumer(topic, Map.of())) {
            Checks.until(() -> consumer.partitionsFor(topic).size() == 5, "five partitions");
        }
        Checks.expectError(InvalidPartitionsException.class, () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all().get());
    }

    private Consumer<byte[], byte[]> member(String topic, String group) throws Exception {
        Consumer<byte[], byte[]> consumer = connection.consumer(group, Map.of("group.instance.id", "instance-1"));
        consumer.subscribe(List.of(topic));
        Checks.until(() -> polled(consumer) == 1, "an assignment");
        return consumer;
    }

    private void listGroups() throws Exception {
        String group = Checks.unique("java-groups");
        try (Consumer<byte[], byte[]> consumer = member(topic("groups"), group)) {
            Set<String> listed = new HashSet<>();
            admin.listConsumerGroups().all().get().forEach(each -> listed.add(each.groupId()));
            Checks.expect(listed.contains(group), true, "whether the group is listed");
        }
    }

    private void describeGroup() throws Exception {
        String topic = topic("groups");
        String group = Checks.unique("java-groups");
        try (Consumer<byte[], byte[]> consumer = member(topic, group)) {
            ConsumerGroupDescription described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            Checks.expect(described.state().toString(), "Stable", "the state");
            Checks.expect(described.partitionAssignor(), "range", "the assignor");
            Checks.expect(described.members().size(), 1, "the number of members");
            Checks.expect(described.members().iterator().next().groupInstanceId().orElse(null), "instance-1", "the static member's name");
            Checks.expect(described.members().iterator().next().assignment().topicPartitions(), Set.of(new TopicPartition(topic, 0)), "the assignment");
        }
    }

    private void deleteGroup() throws Exception {
        String topic = topic("groups");
        String group = Checks.unique("java-groups");
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<byte[], byte[]> consumer = connection.consumer(group, Map.of())) {
            consumer.subscribe(List.of(topic));
            Checks.until(() -> polled(consumer) == 1, "an assignment");
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(0)));
            Checks.expectError(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
        }
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(7))).all().get();
        Checks.expect(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition).offset(), 7L, "the altered offset");
        admin.deleteConsumerGroupOffsets(group, Set.of(partition)).all().get();
        Checks.expect(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition), null, "the deleted offset");
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(8))).all().get();
        admin.deleteConsumerGroups(List.of(group)).all().get();
        Checks.expectError(GroupIdNotFoundException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
    }

    private void describeCluster() throws Exception {
        Collection<Node> nodes = admin.describeCluster().nodes().get();
        Checks.expect(nodes.size(), 1, "the number of nodes");
        Node node = nodes.iterator().next();
        Checks.expect(node.host() + ":" + node.port(), connection.address, "the node");
        Checks.expect(admin.describeCluster().clusterId().get().length(), 22, "the length of the cluster id");
        Checks.expect(admin.describeCluster().controller().get().id(), node.id(), "the controller");
        Checks.expect(admin.describeLogDirs(List.of(node.id())).descriptions().get(node.id()).get().size(), 1, "the number of log directories");
        Checks.expect(admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("metadata.version"), true, "whether metadata.version is finalized");
    }

    private void unknownTopic() {
        String missing = Checks.unique("java-missing");
        Checks.expectError(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(missing)).all().get());
        Checks.expectError(UnknownTopicOrPartitionException.class, () -> config(missing));
    }

    private void invalidTopic() {
        Checks.expectError(InvalidTopicException.class, () -> admin.createTopics(List.of(new NewTopic("no spaces", 1, (short) 1))).all().get());
        Checks.expectError(InvalidReplicationFactorException.class, () -> admin.createTopics(List.of(new NewTopic("factor", 1, (short) 7))).all().get());
    }

    private void deleteTopic() throws Exception {
        String topic = topic("delete");
        connection.send(samples(topic, 10), Map.of());
        admin.deleteTopics(List.of(topic)).all().get();
        Checks.until(() -> !admin.listTopics().names().get().contains(topic), "the topic's disappearance");
    }
}
