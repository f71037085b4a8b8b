"""Runs the classes behind Kafka's `kafka-*.sh`."""
import subprocess

from . import install
from .paths import COMPAT

CLASSES = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "org.apache.kafka.tools.ConfigCommand",
    "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "transactions": "org.apache.kafka.tools.TransactionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "acls": "org.apache.kafka.tools.AclCommand",
    "groups": "org.apache.kafka.tools.GroupsCommand",
    "client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
}


class ToolError(Exception):
    """A tool ended with another code than 0; the text is its output."""


def tool_command(name, *arguments, class_path=None):
    """The command line of a tool, for scenarios which run it in the background."""
    log_config = COMPAT / "log4j2-tools.properties"
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log_config}",
            "-cp", class_path or install.kafka_class_path(), CLASSES.get(name, name), *map(str, arguments)]


def tool(name, *arguments, stdin=None, timeout_s=60, class_path=None, expect=0):
    """Runs a tool to its end and returns its output and errors as one text; any exit code but `expect` (None: any is right)
    raises ToolError."""
    done = subprocess.run(tool_command(name, *arguments, class_path=class_path), input=stdin, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s)
    if expect is not None and done.returncode != expect:
        raise ToolError(f"{name} {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout
