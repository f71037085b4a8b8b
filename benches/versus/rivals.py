"""The two brokers as they are measured: with the settings that their own start scripts and defaults have."""
import atexit
import resource
import shutil
import signal
import threading
import time

from harness import install
from harness.brokers import KafkaBroker, OttlaBroker, STOP_TIMEOUT_S

from . import tools

FILES_WANTED = 200_000
# What kafka-server-start.sh and kafka-run-class.sh give the process.
KAFKA_HEAP = ["-Xmx1G", "-Xms1G"]
KAFKA_JVM = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
             "-Djava.awt.headless=true"]
# Deleted topics make room for the next ones.
CONFIG = {"log.segment.delete.delay.ms": "1000"}


class MeasuredKafka(KafkaBroker):
    def __init__(self):
        super().__init__(CONFIG)

    def command(self):
        log_config = f"-Dlog4j2.configurationFile={tools.LOG_CONFIG}"
        return ["java", *KAFKA_HEAP, *KAFKA_JVM, log_config, "-cp", install.kafka_class_path(), "kafka.Kafka", str(self.properties)]


class MeasuredOttla(OttlaBroker):
    def __init__(self):
        super().__init__(CONFIG)


KINDS = {"kafka": MeasuredKafka, "ottla": MeasuredOttla}


def raise_file_limit():
    """10,000 partitions and as many connections need handles: as many as the system gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_WANTED, max(hard, FILES_WANTED)))
    except (ValueError, PermissionError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def running(kind):
    """A broker on an empty directory, as a context manager."""
    return KINDS[kind]()


class Manual:
    """A broker that is started by hand; its process is ended in any case. Its folder stays when the file system must not be busy with
    removing it: ext4 looks for long before it takes an inode whose file was deleted within the last minutes."""

    def __init__(self, kind, keep_folder=False):
        self.broker = KINDS[kind]()
        if keep_folder:
            self.broker.own_folder = False
            atexit.register(shutil.rmtree, self.broker.folder, ignore_errors=True)

    def __enter__(self):
        return self.broker

    def __exit__(self, *_):
        self.broker.close()


def started_to_first_ack(broker, topic="first", partitions=1, timeout_s=60):
    """Starts a broker (formatting an empty directory) and returns the milliseconds until a record was acknowledged."""
    waiting = tools.Generator("first-ack", broker, "--topic", topic, "--partitions", partitions, "--timeout", timeout_s)
    began = time.time_ns()
    broker.launch()
    return (waiting.finish(timeout_s + 10)["acked_unix_microseconds"] * 1000 - began) / 1e6


def stopped_ms(broker):
    """Ends a broker with SIGTERM; returns the milliseconds until its process was gone."""
    killer = threading.Timer(STOP_TIMEOUT_S, broker.process.kill)
    killer.start()
    began = time.monotonic()
    broker.process.send_signal(signal.SIGTERM)
    code = broker.process.wait()
    elapsed_ms = (time.monotonic() - began) * 1000
    killer.cancel()
    if code == -signal.SIGKILL:
        raise RuntimeError(f"{broker.kind} ignored SIGTERM for {STOP_TIMEOUT_S} s")
    return elapsed_ms


def resident_mb(broker):
    """Resident memory of the broker's process, in megabytes of 1,000,000 bytes."""
    for line in open(f"/proc/{broker.pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"{broker.kind} has no memory: it has ended")


def cpu_seconds(broker):
    """Processor time that the broker's process has used, all threads."""
    fields = open(f"/proc/{broker.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100
