"""What puts load on a broker: the light generator of this repository, and Kafka's own perf tests."""
import re
import subprocess

from harness import install
from harness.paths import COMPAT, REPOSITORY

GENERATOR = REPOSITORY / "target" / "release" / "ottla-bench"
LOG_CONFIG = COMPAT / "log4j2-tools.properties"
# What kafka-run-class.sh gives clients.
CLIENT_JVM = ["-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
CLIENT_TIMEOUT_S = 300


class LoadError(Exception):
    """The load could not be put on the broker; the text is the load's output and the end of the broker's log."""


def build():
    """Builds the broker and the generator."""
    install.run(["cargo", "build", "--release", "--locked", "-p", "ottla", "-p", "ottla-bench"], cwd=REPOSITORY)


class Generator:
    """A running ottla-bench."""

    def __init__(self, subcommand, broker, *arguments):
        command = [GENERATOR, subcommand, "--address", broker.address, *arguments]
        self.broker = broker
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, timeout_s):
        """Its `name value` lines as a dictionary of numbers."""
        try:
            output = self.process.communicate(timeout=timeout_s)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            output = self.process.communicate()[0] + "it ran too long"
        if self.process.returncode != 0:
            raise LoadError(f"{' '.join(self.process.args)}: {output}\n{self.broker.log_tail(10)}")
        return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


def generate(subcommand, broker, *arguments, timeout_s=CLIENT_TIMEOUT_S):
    """Runs the generator to its end, reading the broker's processor time."""
    return Generator(subcommand, broker, "--process", broker.pid, *arguments).finish(timeout_s)


def client(class_name, broker, *arguments):
    """Output of one of Kafka's classes run against the broker."""
    command = ["java", *CLIENT_JVM, f"-Dlog4j2.configurationFile={LOG_CONFIG}", "-cp", install.kafka_class_path(), class_name,
               "--bootstrap-server", broker.address, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=CLIENT_TIMEOUT_S)
    if done.returncode != 0:
        raise LoadError(f"{class_name} ended with {done.returncode}: {done.stdout[-2000:]}\n{broker.log_tail(10)}")
    return done.stdout


def create_topic(broker, topic, partitions):
    client("org.apache.kafka.tools.TopicCommand", broker, "--create", "--topic", topic, "--partitions", partitions)


def delete_topic(broker, topic):
    client("org.apache.kafka.tools.TopicCommand", broker, "--delete", "--topic", topic)


def producer_perf_test(broker, topic, records, record_bytes):
    """Records per second that kafka-producer-perf-test reached."""
    output = client("org.apache.kafka.tools.ProducerPerformance", broker, "--topic", topic, "--num-records", records, "--record-size", record_bytes,
                    "--throughput", -1, "--command-property", "acks=all")
    rates = re.findall(rf"^{records} records sent, ([0-9.]+) records/sec", output, re.MULTILINE)
    if not rates:
        raise LoadError(f"not all records were sent: {output[-2000:]}")
    return float(rates[-1])


def consumer_perf_test(broker, topic, records):
    """Records per second that kafka-consumer-perf-test reached once it had its partitions."""
    output = client("org.apache.kafka.tools.ConsumerPerformance", broker, "--topic", topic, "--num-records", records, "--timeout", 60_000)
    fields = output.strip().splitlines()[-1].split(", ")
    if len(fields) != 10 or int(fields[4]) < records:
        raise LoadError(f"not all records were consumed: {output[-2000:]}")
    return float(fields[9])
