"""librdkafka through confluent-kafka-python."""
import sys
import threading
import time

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType

import checks
from checks import COMMIT_EVERY, expect, expect_error, say, unique, until


class Suite:
    """The checks, over one admin client."""

    def __init__(self, address):
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})

    def topic(self, name, partitions=1, config=None):
        topic = unique(f"librdkafka-{name}")
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config or {})])[topic].result(checks.TIMEOUT_S)
        return topic

    def producer(self, **config):
        return Producer({"bootstrap.servers": self.address, **{key.replace("_", "."): value for key, value in config.items()}})

    def consumer(self, group=None, **config):
        settings = {"group.id": group or unique("librdkafka"), "auto.offset.reset": "earliest", "enable.auto.commit": False,
                    "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
        settings.update({key.replace("_", "."): value for key, value in config.items()})
        return Consumer({"bootstrap.servers": self.address, **settings})

    def produce(self, topic, records, **config):
        """Sends (key, value) or (key, value, headers, timestamp) records to partition 0 and waits for their acknowledgements."""
        producer = self.producer(**config)
        failures, offsets = [], []

        def delivered(error, message):
            (failures if error else offsets).append(error or message.offset())

        for key, value, *rest in records:
            headers, timestamp = (rest + [None, None])[:2]
            producer.produce(topic, value, key, partition=0, on_delivery=delivered, headers=headers, timestamp=timestamp or 0)
        expect(producer.flush(checks.TIMEOUT_S), 0, "the number of records not sent")
        if failures:
            raise KafkaException(failures[0])
        return offsets

    def read(self, topic, count, offset=0, **config):
        """The next messages of partition 0 from an offset on."""
        consumer = self.consumer(**config)
        consumer.assign([TopicPartition(topic, 0, offset)])
        try:
            return take(consumer, count)
        finally:
            consumer.close()

    def create_topic(self):
        topic = self.topic("create", 3)
        metadata = until(lambda: self.admin.list_topics(topic, 10).topics.get(topic), "the topic in the metadata")
        expect(len(metadata.partitions), 3, "the number of partitions")
        expect_error(["TOPIC_ALREADY_EXISTS"], lambda: self.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10))

    def codec(self, codec):
        topic, records = self.topic(codec), checks.sample_records()
        expect(self.produce(topic, records, compression_type=codec, linger_ms=20), list(range(len(records))), "offsets")
        expect([(message.key(), message.value()) for message in self.read(topic, len(records), check_crcs=True)], records, "records")

    def headers(self):
        topic = self.topic("headers")
        headers = [("first", b"1"), ("none", None), ("first", b"again"), ("empty", b"")]
        self.produce(topic, [(b"k", b"v", headers)])
        expect(self.read(topic, 1)[0].headers(), headers, "headers")

    def tombstones(self):
        topic = self.topic("tombstones", config={"cleanup.policy": "compact"})
        self.produce(topic, [(b"k", b"v"), (b"k", None)])
        expect([message.value() for message in self.read(topic, 2)], [b"v", None], "values")
        expect_error(["INVALID_RECORD", "INVALID_MSG", "Broker failed to validate"], lambda: self.produce(topic, [(None, b"no key")]))

    def large_record(self):
        topic = self.topic("large")
        self.produce(topic, [(b"k", b"x" * checks.LARGE)])
        expect(len(self.read(topic, 1)[0].value()), checks.LARGE, "the length")

    def too_large_record(self):
        topic = self.topic("too-large")
        expect_error(["MSG_SIZE_TOO_LARGE"], lambda: self.produce(topic, [(b"k", b"x" * checks.TOO_LARGE)], message_max_bytes=4 * checks.TOO_LARGE))

    def idempotence(self):
        topic, records = self.topic("idempotence"), checks.sample_records(1000)
        self.produce(topic, records, enable_idempotence=True, linger_ms=1, batch_num_messages=10)
        expect([message.value() for message in self.read(topic, 1000)], [value for _, value in records], "values")

    def group_rebalance(self):
        topic, group = self.topic("rebalance", 4), unique("librdkafka-rebalance")
        first, second = self.consumer(group), self.consumer(group)
        first.subscribe([topic])
        until(lambda: first.poll(0.2) or len(first.assignment()) == 4, "the first member owning all")
        second.subscribe([topic])
        until(lambda: (first.poll(0.1), second.poll(0.1)) and len(first.assignment()) == len(second.assignment()) == 2, "an even share")
        second.close()
        until(lambda: first.poll(0.1) or len(first.assignment()) == 4, "the first member owning all again")
        producer = self.producer()
        for partition in range(4):
            producer.produce(topic, b"%d" % partition, partition=partition)
        producer.flush(10)
        expect(sorted(message.value() for message in take(first, 4)), [b"0", b"1", b"2", b"3"], "values")
        first.close()

    def commit_resume(self):
        topic, group = self.topic("resume"), unique("librdkafka-resume")
        self.produce(topic, checks.sample_records(100))
        consumer = self.consumer(group)
        consumer.subscribe([topic])
        last = take(consumer, 40)[-1]
        consumer.commit(message=last, asynchronous=False)
        consumer.close()
        consumer = self.consumer(group)
        expect(consumer.committed([TopicPartition(topic, 0)], 10)[0].offset, 40, "the committed offset")
        consumer.subscribe([topic])
        expect(take(consumer, 1)[0].offset(), 40, "the first offset after the restart")
        consumer.close()

    def seek_by_time(self):
        topic, start = self.topic("time"), int(time.time() * 1000) - 100_000
        self.produce(topic, [(b"k", b"v", None, start + 1000 * number) for number in range(50)])
        consumer = self.consumer()
        found = consumer.offsets_for_times([TopicPartition(topic, 0, start + 20_001)], 10)
        expect(found[0].offset, 21, "the offset for a time between two records")
        message = self.read(topic, 1, offset=21)[0]
        expect(message.timestamp()[1], start + 21_000, "the timestamp")
        expect(consumer.offsets_for_times([TopicPartition(topic, 0, start + 1_000_000)], 10)[0].offset, -1, "the offset for a time past the end")
        expect(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10), (0, 50), "earliest and latest")
        consumer.close()

    def delete_records(self):
        topic = self.topic("delete-records")
        self.produce(topic, checks.sample_records(50))
        result = self.admin.delete_records([TopicPartition(topic, 0, 30)])
        for future in result.values():
            expect(future.result(10).low_watermark, 30, "the low watermark")
        consumer = self.consumer()
        expect(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10), (30, 50), "earliest and latest")
        consumer.close()
        expect(self.read(topic, 1, offset=5)[0].offset(), 30, "the first offset")

    def config_of(self, topic):
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return self.admin.describe_configs([resource])[resource].result(10)

    def describe_configs(self):
        config = self.config_of(self.topic("configs", config={"retention.ms": "123456"}))
        expect(config["retention.ms"].value, "123456", "retention.ms")
        expect(config["retention.ms"].is_default, False, "whether it is a default")
        expect(config["cleanup.policy"].value, "delete", "cleanup.policy")
        expect(config["cleanup.policy"].is_default, True, "whether cleanup.policy is a default")

    def alter_configs(self):
        topic = self.topic("alter")
        self.alter(topic, "max.message.bytes", "2000")
        until(lambda: self.config_of(topic)["max.message.bytes"].value == "2000", "the new value")
        until(lambda: self.refuses(topic, 3000), "the smaller limit in force")
        expect_error(["INVALID_CONFIG"], lambda: self.alter(topic, "retention.ms", "soon"))

    def alter(self, topic, key, value):
        change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        self.admin.incremental_alter_configs([resource])[resource].result(10)

    def refuses(self, topic, size):
        try:
            self.produce(topic, [(b"k", b"x" * size)])
        except KafkaException as error:
            return error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
        return False

    def create_partitions(self):
        topic = self.topic("partitions")
        self.admin.create_partitions([NewPartitions(topic, 5)])[topic].result(10)
        until(lambda: len(self.admin.list_topics(topic, 10).topics[topic].partitions) == 5, "five partitions")
        expect_error(["INVALID_PARTITIONS"], lambda: self.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(10))

    def group_with_member(self):
        topic, group = self.topic("groups"), unique("librdkafka-groups")
        consumer = self.consumer(group)
        consumer.subscribe([topic])
        until(lambda: consumer.poll(0.1) or consumer.assignment(), "an assignment")
        return topic, group, consumer

    def list_groups(self):
        _, group, consumer = self.group_with_member()
        listed = {each.group_id: each for each in self.admin.list_consumer_groups().result(10).valid}
        expect(group in listed, True, "whether the group is listed")
        expect(listed[group].state.name, "STABLE", "its state")
        consumer.close()

    def describe_group(self):
        topic, group, consumer = self.group_with_member()
        described = self.admin.describe_consumer_groups([group])[group].result(10)
        expect(described.state.name, "STABLE", "the state")
        expect(len(described.members), 1, "the number of members")
        expect([(each.topic, each.partition) for each in described.members[0].assignment.topic_partitions], [(topic, 0)], "the assignment")
        expect(described.partition_assignor, "range", "the assignor")
        consumer.close()

    def delete_group(self):
        topic, group, consumer = self.group_with_member()
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        expect_error(["NON_EMPTY_GROUP"], lambda: self.admin.delete_consumer_groups([group])[group].result(10))
        consumer.close()
        altered = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 7)])])
        expect(altered[group].result(10).topic_partitions[0].error, None, "the error of the altered offset")
        offsets = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
        expect(offsets.topic_partitions[0].offset, 7, "the altered offset")
        self.admin.delete_consumer_groups([group])[group].result(10)
        expect_error(["GROUP_ID_NOT_FOUND"], lambda: self.admin.delete_consumer_groups([group])[group].result(10))

    def describe_cluster(self):
        cluster = self.admin.describe_cluster().result(10)
        expect([(node.host, node.port) for node in cluster.nodes], [(self.address.split(":")[0], int(self.address.split(":")[1]))], "the nodes")
        expect(len(cluster.cluster_id), 22, "the length of the cluster id")

    def unknown_topic(self):
        missing = unique("librdkafka-missing")
        expect_error(["UNKNOWN_TOPIC_OR_PART"], lambda: self.admin.delete_topics([missing])[missing].result(10))
        expect_error(["UNKNOWN_TOPIC_OR_PART"], lambda: self.config_of(missing))

    def invalid_topic(self):
        expect_error(["TOPIC_EXCEPTION"], lambda: self.admin.create_topics([NewTopic("no spaces", 1, 1)])["no spaces"].result(10))
        expect_error(["INVALID_REPLICATION_FACTOR"], lambda: self.admin.create_topics([NewTopic("factor", 1, 7)])["factor"].result(10))

    def delete_topic(self):
        topic = self.topic("delete")
        self.produce(topic, [(b"k", b"v")])
        self.admin.delete_topics([topic])[topic].result(10)
        until(lambda: topic not in self.admin.list_topics(timeout=10).topics, "the topic's disappearance")


def take(consumer, count, timeout_s=checks.TIMEOUT_S):
    """The next messages; an error among them is raised."""
    messages, deadline = [], time.monotonic() + timeout_s
    while len(messages) < count:
        for message in consumer.consume(min(count - len(messages), 500), 0.5):
            if message.error():
                raise KafkaException(message.error())
            messages.append(message)
        if time.monotonic() > deadline:
            raise AssertionError(f"{len(messages)} of {count} messages within {timeout_s} s")
    return messages


def load(address, topic):
    """Produces until the input closes, while a consumer commits what it has read."""
    client = Suite(address)
    client.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(checks.TIMEOUT_S)
    ending = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ending.set()), daemon=True).start()
    committing = threading.Thread(target=commit_as_it_reads, args=(client, topic, ending))
    committing.start()
    producer = client.producer(enable_idempotence=True, linger_ms=5)

    def delivered(error, message):
        if error is None:
            say(f"acked {message.value().decode()}")
        else:
            say(f"# {error}")

    number = 0
    while not ending.is_set():
        producer.produce(topic, b"%d" % number, partition=0, on_delivery=delivered)
        number += 1
        producer.poll(0.001)
    expect(producer.flush(checks.TIMEOUT_S), 0, "the number of records not sent")
    committing.join()
    say("end")


def commit_as_it_reads(client, topic, ending):
    consumer = client.consumer(topic)
    consumer.subscribe([topic])
    read = 0
    while not ending.is_set():
        message = consumer.poll(0.1)
        if message is None or message.error():
            continue
        read += 1
        if read % COMMIT_EVERY == 0:
            try:
                committed = consumer.commit(message=message, asynchronous=False)
            except KafkaException as error:
                say(f"# commit: {error}")
                continue
            if committed[0].error is None:
                say(f"committed {committed[0].offset}")
    consumer.close()


def once_loaded(action):
    """The broker has just started: for a while it may not coordinate or lead what it is asked for."""
    deadline = time.monotonic() + checks.TIMEOUT_S
    while True:
        try:
            return action()
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise
            say(f"# {error}")
            time.sleep(0.2)


def verify(address, topic):
    client = Suite(address)
    consumer = client.consumer(topic)
    partition = TopicPartition(topic, 0)
    say(f"committed {once_loaded(lambda: consumer.committed([partition], 20))[0].offset}")
    end = once_loaded(lambda: consumer.get_watermark_offsets(partition, 20))[1]
    consumer.close()
    for message in client.read(topic, end):
        print(f"record {message.offset()} {message.value().decode()}")
    say("end")


checks.main(lambda address: checks.run_suite(Suite(address)), load, verify)
