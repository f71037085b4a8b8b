"""The figures, in groups that share a running broker. A group's function measures one broker once and returns name to value."""
import dataclasses
import os
import time
import typing

from harness import install

from . import rivals, tools


@dataclasses.dataclass(frozen=True)
class Figures:
    """long: Kafka takes minutes for it. constant: no need to repeat it."""

    name: str
    title: str
    measure: typing.Callable
    long: bool = False
    constant: bool = False

    def rounds(self, scale):
        if self.constant:
            return 1
        return scale.long_rounds if self.long else scale.rounds


def start(kind, _scale):
    with rivals.Manual(kind) as broker:
        figures = {"exec to first acknowledged record, empty directory, ms": rivals.started_to_first_ack(broker)}
        time.sleep(3)
        figures["memory, idle, MB"] = rivals.resident_mb(broker)
        figures["SIGTERM to exit, idle, ms"] = rivals.stopped_ms(broker)
        figures["restart to first acknowledged record, ms"] = rivals.started_to_first_ack(broker)
        return figures


def clients(kind, scale):
    figures = {}
    with rivals.running(kind) as broker:
        warm_up(broker, scale)
        for size, records in ((100, scale.client_records), (1000, scale.client_records // 5)):
            topic = f"perf-{size}"
            tools.create_topic(broker, topic, 4)
            cpu = rivals.cpu_seconds(broker)
            figures[f"produce {size} B, records/s"] = tools.producer_perf_test(broker, topic, records, size)
            figures[f"produce {size} B, broker CPU, us/record"] = (rivals.cpu_seconds(broker) - cpu) * 1e6 / records
            cpu = rivals.cpu_seconds(broker)
            figures[f"consume {size} B, records/s"] = tools.consumer_perf_test(broker, topic, records)
            figures[f"consume {size} B, broker CPU, us/record"] = (rivals.cpu_seconds(broker) - cpu) * 1e6 / records
        figures["memory afterwards, MB"] = rivals.resident_mb(broker)
        figures["SIGTERM to exit, loaded, ms"] = rivals.stopped_ms(broker)
    return figures


def generator(kind, scale):
    figures = {}
    with rivals.running(kind) as broker:
        warm_up(broker, scale)
        for partitions in (1, 16):
            for size, batch in ((100, 150), (1000, 16)):
                figures |= generator_cell(broker, scale, partitions, size, batch)
        figures["memory afterwards, MB"] = rivals.resident_mb(broker)
    return figures


def generator_cell(broker, scale, partitions, size, batch):
    topic, where = f"light-{partitions}-{size}", f"{partitions} partition{'s' if partitions > 1 else ''}, {size} B"
    common = ["--topic", topic, "--partitions", partitions, "--seconds", scale.seconds]
    produced = tools.generate("produce", broker, *common, "--warm-up", 1, "--record-bytes", size, "--batch-records", batch)
    consumed = tools.generate("consume", broker, *common)
    tools.delete_topic(broker, topic)
    figures = {}
    for verb, values in (("produce", produced), ("consume", consumed)):
        figures[f"{verb}, {where}, records/s"] = values["records_per_second"]
        figures[f"{verb}, {where}, broker CPU, us/record"] = values["broker_cpu_microseconds_per_record"]
        figures[f"{verb}, {where}, broker CPU, s/GB"] = values["broker_cpu_seconds_per_gigabyte"]
    return figures


def warm_up(broker, scale):
    """A virtual machine compiles what runs often: without this, Kafka would be measured cold."""
    common = ["--topic", "warm-up", "--partitions", 4]
    tools.generate("produce", broker, *common, "--warm-up", 0, "--seconds", scale.warm_up)
    tools.generate("consume", broker, *common, "--seconds", scale.warm_up)
    tools.delete_topic(broker, "warm-up")


def latency(kind, scale):
    figures = {}
    with rivals.running(kind) as broker:
        warm_up(broker, scale)
        for rate in (500, 2_000):
            values = tools.generate("produce", broker, "--topic", f"latency-{rate}", "--connections", 4, "--rate", rate, "--batch-records", 10,
                                    "--warm-up", 2, "--seconds", scale.seconds * 2)
            for percentile in ("p50", "p99", "p999"):
                figures[f"{rate * 10} records/s in {rate} requests/s, {percentile}, ms"] = values[f"latency_{percentile}_microseconds"] / 1000
    return figures


def partitions(kind, scale):
    count = scale.topics_of_1000 * 1_000
    with rivals.Manual(kind, keep_folder=True) as broker:
        broker.start()
        made = tools.generate("many", broker, "--topic", "many", "--topics", scale.topics_of_1000, "--partitions", 1_000)
        figures = {f"create {count:,}, s": made["create_seconds"], f"a record to each of {count:,}, s": made["fill_seconds"],
                   f"memory with {count:,}, MB": rivals.resident_mb(broker)}
        figures["SIGTERM to exit, s"] = rivals.stopped_ms(broker) / 1000
        figures["clean restart to first acknowledged record, s"] = restarted_s(broker)
        broker.kill()
        figures["restart after kill -9 to first acknowledged record, s"] = restarted_s(broker)
    return figures


def restarted_s(broker):
    return rivals.started_to_first_ack(broker, "many-0", 1_000, timeout_s=240) / 1000


def connections(kind, scale):
    with rivals.running(kind) as broker:
        values = tools.generate("idle", broker, "--connections", scale.connections)
        return {f"memory of {scale.connections:,} idle connections, MB": (values["resident_bytes_after"] - values["resident_bytes_before"]) / 1e6}


def size(kind, _scale):
    if kind == "ottla":
        return {"what is installed, MB": os.path.getsize(install.ottla()) / 1e6}
    folder = install.kafka_class_path().removesuffix("/*")
    return {"what is installed, MB": sum(entry.stat().st_size for entry in os.scandir(folder)) / 1e6}


FIGURES = [
    Figures("start", "Start and stop", start),
    Figures("clients", "Kafka's perf tests (kafka-producer-perf-test with acks=all, kafka-consumer-perf-test; 4 partitions, a warm broker)", clients),
    Figures("generator", "The light generator (prepared batches of 15 KB, acks=all, 2 connections: the broker is the limit; a warm broker)", generator),
    Figures("latency", "Produce latency at a fixed rate (acks=all, batches of ten 100-byte records, a warm broker)", latency),
    Figures("partitions", "Very many partitions", partitions, long=True),
    Figures("connections", "Idle connections", connections),
    Figures("size", "Size (Ottla's binary; Kafka's jars, without the Java runtime they need)", size, constant=True),
]
