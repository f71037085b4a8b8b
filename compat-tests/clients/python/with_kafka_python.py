"""kafka-python."""
import threading
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, NewPartitions, NewTopic
from kafka.errors import KafkaError, MessageSizeTooLargeError

import checks
from checks import expect, expect_error, unique, until


class Member(threading.Thread):
    """A group member that polls in a thread of its own, since kafka-python blocks while it rebalances."""

    def __init__(self, consumer):
        super().__init__(daemon=True)
        self.consumer = consumer
        self.ending = threading.Event()
        self.messages = []
        self.owned = 0

    def run(self):
        while not self.ending.is_set():
            for batch in self.consumer.poll(timeout_ms=100).values():
                self.messages += batch
            self.owned = len(self.consumer.assignment())
        self.consumer.close()

    def close(self):
        self.ending.set()
        self.join(checks.TIMEOUT_S)


class Suite:
    """The checks, over one admin client."""

    def __init__(self, address):
        self.address = address
        self.admin = KafkaAdminClient(bootstrap_servers=address)

    def topic(self, name, partitions=1, configs=None):
        topic = unique(f"kafka-python-{name}")
        self.admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1, topic_configs=configs or {})], wait_for_metadata=True)
        return topic

    def consumer(self, *topics, group=None, **config):
        """kafka-python sometimes stops polling after a rebalance that its first look at a topic causes, so it looks before."""
        consumer = KafkaConsumer(bootstrap_servers=self.address, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
                                 session_timeout_ms=6000, heartbeat_interval_ms=300, **config)
        if topics:
            for topic in topics:
                until(lambda: consumer.partitions_for_topic(topic), "the topic's partitions")
            consumer.subscribe(topics)
        return consumer

    def produce(self, topic, records, **config):
        """Sends (key, value) or (key, value, headers, timestamp) records to partition 0."""
        producer = KafkaProducer(bootstrap_servers=self.address, **{"acks": "all", **config})
        try:
            futures = []
            for key, value, *rest in records:
                headers, timestamp = (rest + [None, None])[:2]
                futures.append(producer.send(topic, value=value, key=key, headers=headers or [], partition=0, timestamp_ms=timestamp))
            return [future.get(checks.TIMEOUT_S).offset for future in futures]
        finally:
            producer.close(timeout=10)

    def read(self, topic, count, offset=0):
        """The next messages of partition 0 from an offset on."""
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), offset)
            return take(consumer, count)
        finally:
            consumer.close()

    def partitions(self, topic):
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def create_topic(self):
        topic = self.topic("create", 3)
        expect(self.partitions(topic), 3, "the number of partitions")
        expect_error(["TopicAlreadyExists"], lambda: self.admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)]))

    def codec(self, codec):
        topic, records = self.topic(codec), checks.sample_records()
        offsets = self.produce(topic, records, compression_type=None if codec == "none" else codec, linger_ms=20)
        expect(offsets, list(range(len(records))), "offsets")
        expect([(message.key, message.value) for message in self.read(topic, len(records))], records, "records")

    def headers(self):
        topic = self.topic("headers")
        headers = [("first", b"1"), ("first", b"again"), ("empty", b"")]
        self.produce(topic, [(b"k", b"v", headers)])
        expect([tuple(header) for header in self.read(topic, 1)[0].headers], headers, "headers")

    def tombstones(self):
        topic = self.topic("tombstones", configs={"cleanup.policy": "compact"})
        self.produce(topic, [(b"k", b"v"), (b"k", None)])
        expect([message.value for message in self.read(topic, 2)], [b"v", None], "values")
        expect_error(["InvalidRecord"], lambda: self.produce(topic, [(None, b"no key")]))

    def large_record(self):
        topic = self.topic("large")
        self.produce(topic, [(b"k", b"x" * checks.LARGE)])
        expect(len(self.read(topic, 1)[0].value), checks.LARGE, "the length")

    def too_large_record(self):
        topic = self.topic("too-large")
        limits = {"max_request_size": 4 * checks.TOO_LARGE}
        expect_error(["MessageSizeTooLarge"], lambda: self.produce(topic, [(b"k", b"x" * checks.TOO_LARGE)], **limits))

    def idempotence(self):
        topic, records = self.topic("idempotence"), checks.sample_records(1000)
        self.produce(topic, records, enable_idempotence=True, batch_size=1000)
        expect([message.value for message in self.read(topic, 1000)], [value for _, value in records], "values")

    def member(self, topic, group):
        member = Member(self.consumer(topic, group=group))
        member.start()
        return member

    def group_rebalance(self):
        topic, group = self.topic("rebalance", 4), unique("kafka-python-rebalance")
        first = self.member(topic, group)
        until(lambda: first.owned == 4, "the first member owning all")
        second = self.member(topic, group)
        until(lambda: first.owned == second.owned == 2, "an even share")
        second.close()
        until(lambda: first.owned == 4, "the first member owning all again")
        producer = KafkaProducer(bootstrap_servers=self.address)
        for partition in range(4):
            producer.send(topic, b"%d" % partition, partition=partition)
        producer.close(timeout=10)
        until(lambda: len(first.messages) == 4, "four messages")
        expect(sorted(message.value for message in first.messages), [b"0", b"1", b"2", b"3"], "values")
        first.close()

    def commit_resume(self):
        topic, group = self.topic("resume"), unique("kafka-python-resume")
        self.produce(topic, checks.sample_records(100))
        consumer = self.consumer(topic, group=group)
        take(consumer, 40)
        consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(40, "forty", -1)})
        consumer.close()
        consumer = self.consumer(topic, group=group)
        expect(consumer.committed(TopicPartition(topic, 0)), 40, "the committed offset")
        expect(take(consumer, 1)[0].offset, 40, "the first offset after the restart")
        consumer.close()

    def seek_by_time(self):
        topic, start = self.topic("time"), int(time.time() * 1000) - 100_000
        self.produce(topic, [(b"k", b"v", None, start + 1000 * number) for number in range(50)])
        consumer, partition = self.consumer(), TopicPartition(topic, 0)
        found = consumer.offsets_for_times({partition: start + 20_001})[partition]
        expect((found.offset, found.timestamp), (21, start + 21_000), "what is found for a time between two records")
        expect(consumer.offsets_for_times({partition: start + 1_000_000})[partition], None, "what is found past the end")
        expect((consumer.beginning_offsets([partition])[partition], consumer.end_offsets([partition])[partition]), (0, 50), "earliest and latest")
        consumer.close()

    def delete_records(self):
        topic = self.topic("delete-records")
        partition = TopicPartition(topic, 0)
        self.produce(topic, checks.sample_records(50))
        expect(self.admin.delete_records({partition: 30})[partition]["low_watermark"], 30, "the low watermark")
        expect(self.read(topic, 1, offset=30)[0].offset, 30, "the first offset")
        consumer = self.consumer()
        expect(consumer.beginning_offsets([partition])[partition], 30, "the earliest offset")
        consumer.close()

    def config_of(self, topic):
        return self.admin.describe_configs([ConfigResource("topic", topic)], config_filter="all")["topic"][topic]

    def describe_configs(self):
        config = self.config_of(self.topic("configs", configs={"retention.ms": "123456"}))
        expect(config["retention.ms"]["value"], "123456", "retention.ms")
        expect(config["cleanup.policy"]["value"], "delete", "cleanup.policy")

    def alter_configs(self):
        topic = self.topic("alter")
        self.admin.alter_configs([ConfigResource("topic", topic, {"max.message.bytes": "2000"})])
        until(lambda: self.config_of(topic)["max.message.bytes"]["value"] == "2000", "the new value")
        until(lambda: self.refuses(topic, 3000), "the smaller limit in force")
        answer = self.admin.alter_configs([ConfigResource("topic", topic, {"retention.ms": "soon"})])
        expect("InvalidConfiguration" in repr(answer) or "error 40" in repr(answer), True, f"whether {answer} is an invalid configuration")

    def refuses(self, topic, size):
        try:
            self.produce(topic, [(b"k", b"x" * size)])
        except MessageSizeTooLargeError:
            return True
        return False

    def create_partitions(self):
        topic = self.topic("partitions")
        self.admin.create_partitions({topic: NewPartitions(5)})
        until(lambda: self.partitions(topic) == 5, "five partitions")
        expect_error(["InvalidPartitions"], lambda: self.admin.create_partitions({topic: NewPartitions(2)}))

    def with_member(self, action):
        topic, group = self.topic("groups"), unique("kafka-python-groups")
        member = self.member(topic, group)
        try:
            until(lambda: member.owned == 1, "an assignment")
            action(topic, group)
        finally:
            member.close()
        return topic, group

    def list_groups(self):
        def check(_, group):
            listed = {each["group_id"]: each for each in self.admin.list_groups()}
            expect(listed[group]["protocol_type"], "consumer", "the type of the listed group")
        self.with_member(check)

    def describe_group(self):
        def check(topic, group):
            described = self.admin.describe_groups([group])[group]
            expect((described["group_state"], described["protocol_data"], len(described["members"])), ("Stable", "range", 1), "state, assignor, members")
        self.with_member(check)

    def delete_group(self):
        topic, group = self.with_member(lambda _, group: expect("NonEmptyGroup" in repr(self.admin.delete_groups([group])), True, "whether a group in use is kept"))
        partition = TopicPartition(topic, 0)
        self.admin.alter_group_offsets(group, {partition: OffsetAndMetadata(7, "", -1)})
        expect(self.admin.list_group_offsets(group)[group][partition].offset, 7, "the altered offset")
        expect(self.admin.delete_groups([group]), {group: "OK"}, "the answer")
        expect("GroupIdNotFound" in repr(self.admin.delete_groups([group])), True, "whether it is gone")

    def describe_cluster(self):
        cluster = self.admin.describe_cluster()
        expect([f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]], [self.address], "the brokers")
        expect(len(cluster["cluster_id"]), 22, "the length of the cluster id")

    def unknown_topic(self):
        missing = unique("kafka-python-missing")
        expect_error(["UnknownTopicOrPartition"], lambda: self.admin.delete_topics([missing]))

    def invalid_topic(self):
        expect_error(["InvalidTopic"], lambda: self.admin.create_topics([NewTopic("no spaces", num_partitions=1, replication_factor=1)]))
        expect_error(["InvalidReplicationFactor"], lambda: self.admin.create_topics([NewTopic("factor", num_partitions=1, replication_factor=7)]))

    def delete_topic(self):
        topic = self.topic("delete")
        self.admin.delete_topics([topic])
        until(lambda: topic not in self.admin.list_topics(), "the topic's disappearance")


def take(consumer, count):
    messages, deadline = [], time.monotonic() + checks.TIMEOUT_S
    while len(messages) < count:
        for batch in consumer.poll(timeout_ms=200).values():
            messages += batch
        if time.monotonic() > deadline:
            raise AssertionError(f"{len(messages)} of {count} messages in time")
    return messages


checks.main_suite(Suite)
