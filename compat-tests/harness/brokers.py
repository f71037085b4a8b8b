"""Starts and stops the two brokers under test, both from the same `server.properties` on free loopback ports.

Knows nothing of scenarios. A broker's folder is temporary: it is removed at stop() unless `keep` was asked for.
"""
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from . import install
from .paths import COMPAT

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30
METADATA_KEY = 3

# One node: internal topics cannot have three replicas, and groups need not wait for members that will not come.
TEST_CONFIG = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class BrokerError(Exception):
    """A broker did not start or stop as it should; the text carries the end of its log."""


def free_ports(count):
    """Distinct loopback ports that nobody listens on right now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Broker:
    """One broker process: `host`, `port`, `address`, `folder`, `log_dir`, `log_file`, `pid`, `config`, `kind`."""

    kind = None
    host = "127.0.0.1"

    def __init__(self, config=None, folder=None):
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix=f"ottla-compat-{self.kind}-"))
        self.port, self.controller_port = free_ports(2)
        self.log_dir = self.folder / "data"
        self.log_file = self.folder / "broker.log"
        self.properties = self.folder / "server.properties"
        self.process = None
        self.lines_seen = 0
        self.config = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{self.host}:{self.port},CONTROLLER://{self.host}:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": f"{self.host}:{self.controller_port}",
            "log.dirs": str(self.log_dir),
            **TEST_CONFIG,
            **(config or {}),
        }

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def launch(self):
        """Starts the process on its folder (formatting it when new)."""
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in self.config.items()))
        self.prepare()
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            cwd=self.folder, env=self.environment(), start_new_session=True)

    def start(self):
        """Starts the process and waits until clients are served."""
        self.launch()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.serves():
            if self.process.poll() is not None:
                raise BrokerError(f"{self.kind} ended with {self.process.returncode} at start:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise BrokerError(f"{self.kind} did not serve within {START_TIMEOUT_S} s:\n{self.log_tail()}")
            time.sleep(0.05)
        return self

    def prepare(self):
        """What has to happen before the first start."""

    def environment(self):
        return dict(os.environ)

    def serves(self):
        """Whether a Metadata request is answered with a broker in it: the broker has joined and is not fenced."""
        body = struct.pack(">hhih4si", METADATA_KEY, 1, 7, 4, b"boot", 0)
        try:
            with socket.create_connection((self.host, self.port), timeout=2) as connection:
                connection.sendall(struct.pack(">i", len(body)) + body)
                answer = connection.recv(12, socket.MSG_WAITALL)
        except OSError:
            return False
        return len(answer) == 12 and struct.unpack(">iii", answer)[2] >= 1

    def stop(self):
        """Stops in an orderly way (SIGTERM), and returns the seconds it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerError(f"{self.kind} ignored SIGTERM for {STOP_TIMEOUT_S} s:\n{self.log_tail()}") from None
        return time.monotonic() - started

    def kill(self):
        """Ends the process without warning (SIGKILL)."""
        self.process.kill()
        self.process.wait()

    def restart(self, hard=False):
        """Stops (or kills) and starts again on the same folder and ports."""
        if hard:
            self.kill()
        else:
            self.stop()
        return self.start()

    def close(self):
        """Ends the process if it runs, and removes the folder."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self, lines=30):
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def panics(self):
        """What the log has of panicked threads since this was asked the last time: no scenario may cause one."""
        lines = self.log_file.read_text(errors="replace").splitlines() if self.log_file.exists() else []
        new, self.lines_seen = lines[self.lines_seen:], len(lines)
        return [line for line in new if "panicked at" in line]

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()


class KafkaBroker(Broker):
    """Apache Kafka from its published jars, KRaft combined mode."""

    kind = "kafka"
    cluster_id = "4L6g3nShT-eMCtK--X86sw"

    def java(self, *arguments):
        log_config = COMPAT / "log4j2.properties"
        return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log_config}",
                "-cp", install.kafka_class_path(), *arguments]

    def prepare(self):
        if not (self.log_dir / "meta.properties").exists():
            install.run(self.java("kafka.tools.StorageTool", "format", "--standalone", "-t", self.cluster_id, "-c", str(self.properties)))

    def command(self):
        return self.java("kafka.Kafka", str(self.properties))


class OttlaBroker(Broker):
    """Ottla's release binary; it formats an empty folder by itself."""

    kind = "ottla"

    def command(self):
        return [install.ottla(), "serve", "--config", str(self.properties)]


KINDS = {"kafka": KafkaBroker, "ottla": OttlaBroker}
