"""aiokafka."""
import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError, for_code

import checks
from checks import expect, unique


async def expect_error(name, action):
    """The awaited action must raise an error of this class, or answer with its number."""
    try:
        answer = await action
    except Exception as error:  # aiokafka has several roots of errors
        expect(type(error).__name__, name, f"the error ({error})")
        return
    codes = [topic[1] for topic in getattr(answer, "topic_errors", None) or answer.topic_error_codes]
    expect([for_code(code).__name__ for code in codes], [name], "the answered errors")


async def until(condition, what):
    deadline = time.monotonic() + checks.TIMEOUT_S
    while not await condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen in time")
        await asyncio.sleep(0.05)


class Suite:
    """The checks, over one admin client."""

    def __init__(self, address):
        self.address = address
        self.admin = None

    async def start(self):
        self.admin = AIOKafkaAdminClient(bootstrap_servers=self.address)
        await self.admin.start()

    async def topic(self, name, partitions=1, configs=None):
        topic = unique(f"aiokafka-{name}")
        answer = await self.admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs or {})])
        expect([error for _, error, *_ in answer.topic_errors], [0], "the answer")
        return topic

    async def consumer(self, *topics, group=None):
        consumer = AIOKafkaConsumer(*topics, bootstrap_servers=self.address, group_id=group, auto_offset_reset="earliest",
                                    enable_auto_commit=False, session_timeout_ms=6000, heartbeat_interval_ms=300, rebalance_timeout_ms=6000, metadata_max_age_ms=1000)
        await consumer.start()
        return consumer

    async def produce(self, topic, records, **config):
        """Sends (key, value) or (key, value, headers, timestamp) records to partition 0."""
        producer = AIOKafkaProducer(bootstrap_servers=self.address, **{"acks": "all", **config})
        await producer.start()
        try:
            futures = []
            for key, value, *rest in records:
                headers, timestamp = (rest + [None, None])[:2]
                futures.append(await producer.send(topic, value=value, key=key, headers=headers, partition=0, timestamp_ms=timestamp))
            return [(await future).offset for future in futures]
        finally:
            await producer.stop()

    async def read(self, topic, count, offset=0):
        """The next messages of partition 0 from an offset on."""
        consumer = await self.consumer()
        try:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), offset)
            return await take(consumer, count)
        finally:
            await consumer.stop()

    async def partitions(self, topic):
        return len((await self.admin.describe_topics([topic]))[0]["partitions"])

    async def create_topic(self):
        topic = await self.topic("create", 3)
        expect(await self.partitions(topic), 3, "the number of partitions")
        await expect_error("TopicAlreadyExistsError", self.admin.create_topics([NewTopic(topic, 1, 1)]))

    async def codec(self, codec):
        topic, records = await self.topic(codec), checks.sample_records()
        offsets = await self.produce(topic, records, compression_type=None if codec == "none" else codec, linger_ms=20)
        expect(offsets, list(range(len(records))), "offsets")
        expect([(message.key, message.value) for message in await self.read(topic, len(records))], records, "records")

    async def headers(self):
        topic = await self.topic("headers")
        headers = [("first", b"1"), ("first", b"again"), ("empty", b"")]
        await self.produce(topic, [(b"k", b"v", headers)])
        expect(list((await self.read(topic, 1))[0].headers), headers, "headers")

    async def tombstones(self):
        topic = await self.topic("tombstones", configs={"cleanup.policy": "compact"})
        await self.produce(topic, [(b"k", b"v"), (b"k", None)])
        expect([message.value for message in await self.read(topic, 2)], [b"v", None], "values")

    async def large_record(self):
        topic = await self.topic("large")
        await self.produce(topic, [(b"k", b"x" * checks.LARGE)])
        expect(len((await self.read(topic, 1))[0].value), checks.LARGE, "the length")

    async def too_large_record(self):
        topic = await self.topic("too-large")
        limit = 4 * checks.TOO_LARGE
        await expect_error("MessageSizeTooLargeError", self.produce(topic, [(b"k", b"x" * checks.TOO_LARGE)], max_request_size=limit, max_batch_size=limit))

    async def idempotence(self):
        topic, records = await self.topic("idempotence"), checks.sample_records(1000)
        await self.produce(topic, records, enable_idempotence=True, max_batch_size=1000)
        expect([message.value for message in await self.read(topic, 1000)], [value for _, value in records], "values")

    async def group_rebalance(self):
        topic, group = await self.topic("rebalance", 4), unique("aiokafka-rebalance")

        async def owned(*consumers):
            for consumer in consumers:
                await consumer.getmany(timeout_ms=50)
            return [len(consumer.assignment()) for consumer in consumers]

        async def first_owns_all():
            return await owned(first) == [4]

        async def shared():
            return await owned(first, second) == [2, 2]

        first = await self.consumer(topic, group=group)
        await until(first_owns_all, "the first member owning all")
        second = await self.consumer(topic, group=group)
        await until(shared, "an even share")
        await second.stop()
        await until(first_owns_all, "the first member owning all again")
        async with AIOKafkaProducer(bootstrap_servers=self.address) as producer:
            for partition in range(4):
                await producer.send_and_wait(topic, b"%d" % partition, partition=partition)
        expect(sorted(message.value for message in await take(first, 4)), [b"0", b"1", b"2", b"3"], "values")
        await first.stop()

    async def commit_resume(self):
        topic, group = await self.topic("resume"), unique("aiokafka-resume")
        await self.produce(topic, checks.sample_records(100))
        consumer = await self.consumer(topic, group=group)
        await take(consumer, 40)
        await consumer.commit({TopicPartition(topic, 0): (40, "forty")})
        await consumer.stop()
        offsets = await self.admin.list_consumer_group_offsets(group)
        expect(tuple(offsets[TopicPartition(topic, 0)]), (40, "forty"), "the committed offset")
        consumer = await self.consumer(topic, group=group)
        expect((await take(consumer, 1))[0].offset, 40, "the first offset after the restart")
        await consumer.stop()

    async def seek_by_time(self):
        topic, start = await self.topic("time"), int(time.time() * 1000) - 100_000
        await self.produce(topic, [(b"k", b"v", None, start + 1000 * number) for number in range(50)])
        consumer, partition = await self.consumer(), TopicPartition(topic, 0)
        found = (await consumer.offsets_for_times({partition: start + 20_001}))[partition]
        expect((found.offset, found.timestamp), (21, start + 21_000), "what is found for a time between two records")
        expect((await consumer.offsets_for_times({partition: start + 1_000_000}))[partition], None, "what is found past the end")
        ends = (await consumer.beginning_offsets([partition]))[partition], (await consumer.end_offsets([partition]))[partition]
        expect(ends, (0, 50), "earliest and latest")
        await consumer.stop()

    async def delete_records(self):
        topic = await self.topic("delete-records")
        partition = TopicPartition(topic, 0)
        await self.produce(topic, checks.sample_records(50))
        expect(await self.admin.delete_records({partition: RecordsToDelete(30)}), {partition: 30}, "the low watermark")
        expect((await self.read(topic, 1, offset=30))[0].offset, 30, "the first offset")

    async def config_of(self, topic):
        answer = (await self.admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))[0].resources[0]
        return {entry[0]: entry[1] for entry in answer[4]}

    async def describe_configs(self):
        config = await self.config_of(await self.topic("configs", configs={"retention.ms": "123456"}))
        expect((config["retention.ms"], config["cleanup.policy"]), ("123456", "delete"), "retention.ms and cleanup.policy")

    async def alter_configs(self):
        topic = await self.topic("alter")

        async def alter(key, value):
            answer = await self.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={key: value})])
            return for_code(answer[0].resources[0][0]).__name__

        async def refused():
            try:
                await self.produce(topic, [(b"k", b"x" * 3000)])
            except MessageSizeTooLargeError:
                return True
            return False

        expect(await alter("max.message.bytes", "2000"), "NoError", "the answer")
        await until(refused, "the smaller limit in force")
        expect(await alter("retention.ms", "soon"), "InvalidConfigurationError", "the answer to a bad value")

    async def create_partitions(self):
        topic = await self.topic("partitions")
        await self.admin.create_partitions({topic: NewPartitions(5)})

        async def grown():
            return await self.partitions(topic) == 5

        await until(grown, "five partitions")

    async def with_member(self, action):
        topic, group = await self.topic("groups"), unique("aiokafka-groups")
        consumer = await self.consumer(topic, group=group)
        try:
            await consumer.getmany(timeout_ms=50)
            await action(topic, group)
        finally:
            await consumer.stop()

    async def list_groups(self):
        async def check(_, group):
            expect((group, "consumer") in await self.admin.list_consumer_groups(), True, "whether the group is listed")
        await self.with_member(check)

    async def describe_group(self):
        async def check(_, group):
            described = (await self.admin.describe_consumer_groups([group]))[0].groups[0]
            expect((described[1], described[2], len(described[5])), (group, "Stable", 1), "name, state and number of members")
        await self.with_member(check)

    async def describe_cluster(self):
        cluster = await self.admin.describe_cluster()
        expect([f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]], [self.address], "the brokers")
        expect(len(cluster["cluster_id"]), 22, "the length of the cluster id")

    async def unknown_topic(self):
        await expect_error("UnknownTopicOrPartitionError", self.admin.delete_topics([unique("aiokafka-missing")]))

    async def invalid_topic(self):
        await expect_error("InvalidTopicError", self.admin.create_topics([NewTopic("no spaces", 1, 1)]))
        await expect_error("InvalidReplicationFactorError", self.admin.create_topics([NewTopic("factor", 1, 7)]))

    async def delete_topic(self):
        topic = await self.topic("delete")
        await self.admin.delete_topics([topic])

        async def gone():
            return topic not in await self.admin.list_topics()

        await until(gone, "the topic's disappearance")


async def take(consumer, count):
    messages, deadline = [], time.monotonic() + checks.TIMEOUT_S
    while len(messages) < count:
        for batch in (await consumer.getmany(timeout_ms=200)).values():
            messages += batch
        if time.monotonic() > deadline:
            raise AssertionError(f"{len(messages)} of {count} messages in time")
    return messages


def run(address):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    suite = Suite(address)
    loop.run_until_complete(suite.start())
    checks.run_suite(suite, lambda check: loop.run_until_complete(asyncio.wait_for(check(), 2 * checks.TIMEOUT_S)))
    loop.run_until_complete(suite.admin.close())


checks.main(run, checks.no_restarts, checks.no_restarts)
