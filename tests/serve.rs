//! `ottla serve` as a process: what it prints, how it ends, and what it says when it cannot start.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

const FREE_PORTS: &str = "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0";

fn serve(data: &Path, overrides: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ottla"));
    command.env_clear().current_dir(data).arg("serve").args(["--override", &format!("log.dirs={}", data.join("data").display())]);
    for value in overrides {
        command.args(["--override", value]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

struct Node {
    process: Child,
    stdout: BufReader<ChildStdout>,
    ready_line: String,
}

impl Node {
    fn start(data: &Path) -> Node {
        let mut process = serve(data, &[FREE_PORTS]).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut ready_line = String::new();
        stdout.read_line(&mut ready_line).unwrap();
        Node { process, stdout, ready_line }
    }

    fn port(&self) -> u16 {
        let address = self.ready_line.split("PLAINTEXT://127.0.0.1:").nth(1).unwrap();
        address.split(',').next().unwrap().parse().unwrap()
    }

    fn cluster_id(&self) -> &str {
        self.ready_line.split("cluster ").nth(1).unwrap().split(',').next().unwrap()
    }

    /// Ends it by a signal; returns its exit code and what it has printed since it was ready.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let begin = Instant::now();
        Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        let status = self.process.wait().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(1), "a clean stop takes less than a second");
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (status.code(), rest)
    }
}

/// Asks for ApiVersions v0 and returns the error code of the answer.
fn ask_api_versions(port: u16) -> i16 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 5, 0xff, 0xff]).unwrap();
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[4..8], [0, 0, 0, 5], "the correlation id");
    i16::from_be_bytes([answer[8], answer[9]])
}

fn failure(mut command: Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert_eq!(status.code(), Some(1));
    let text = String::from_utf8(stderr).unwrap();
    let (_, sentence) = text.split_once("ottla: ").unwrap();
    assert_eq!(sentence.trim_end().lines().count(), 1, "{text}");
    sentence.trim_end().to_owned()
}

#[test]
fn a_node_says_when_it_is_ready_and_stops_when_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let first = Node::start(directory.path());
    let begin = format!("Ottla {} (Kafka 4.4 protocol) ready: PLAINTEXT://127.0.0.1:", env!("CARGO_PKG_VERSION"));
    assert!(first.ready_line.starts_with(&begin), "{}", first.ready_line);
    assert_eq!(ask_api_versions(first.port()), 0);
    let cluster_id = first.cluster_id().to_owned();
    let (code, printed) = first.stop("-TERM");
    assert_eq!(code, Some(0));
    // What container modules wait for.
    assert!(printed.contains("[KafkaRaftServer nodeId=1] Kafka Server started"), "{printed}");
    assert!(printed.contains("Transitioning from RECOVERY to RUNNING"), "{printed}");

    let second = Node::start(directory.path());
    assert_eq!(second.cluster_id(), cluster_id);
    assert_eq!(ask_api_versions(second.port()), 0);
    assert_eq!(second.stop("-INT").0, Some(0));
}

#[test]
fn a_port_or_a_directory_in_use_is_told() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let node = Node::start(one.path());
    let listeners = format!("listeners=PLAINTEXT://127.0.0.1:{},CONTROLLER://127.0.0.1:0", node.port());
    let expected = format!(
        "listeners: listener PLAINTEXT cannot use port {} of 127.0.0.1, because another process listens there; stop it or choose another port",
        node.port()
    );
    assert_eq!(failure(serve(other.path(), &[&listeners])), expected);
    assert!(!other.path().join("data").exists(), "nothing was formatted");
    let in_use = failure(serve(one.path(), &[FREE_PORTS]));
    assert!(in_use.contains(&one.path().join("data").display().to_string()) && in_use.contains(".lock"), "{in_use}");
    assert_eq!(node.stop("-TERM").0, Some(0));
}

#[test]
fn what_is_wrong_with_the_configuration_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let check = |value: &str, expected: &str| assert_eq!(failure(serve(directory.path(), &[FREE_PORTS, value])), expected);
    check("num.partitions=three", "num.partitions=three (--override): expected a whole number below 2^31, at least 1");
    check("nonsense", "--override nonsense: expected key=value, for example --override num.partitions=3");
    let mut command = serve(directory.path(), &[FREE_PORTS]);
    command.args(["--config", "missing.properties"]);
    assert_eq!(failure(command), "the configuration file missing.properties cannot be read: No such file or directory (os error 2)");
    let mut command = serve(directory.path(), &[FREE_PORTS]);
    command.env("OTTLA_LOG_FORMAT", "xml");
    assert_eq!(failure(command), "OTTLA_LOG_FORMAT: `xml` is unknown; it is `text` or `json`");
    let mut command = serve(directory.path(), &[FREE_PORTS]);
    command.env("KAFKA_NUM_PARTITIONS", "-1");
    let expected = "num.partitions=-1 (environment variable KAFKA_NUM_PARTITIONS): expected a whole number below 2^31, at least 1";
    assert_eq!(failure(command), expected);
    assert!(!directory.path().join("data").exists(), "nothing was formatted");
}

#[test]
fn a_directory_of_another_node_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Node::start(directory.path()).stop("-TERM").0, Some(0));
    let data = directory.path().join("data");
    let expected = format!("{} belongs to node 1, but node.id is 2: set node.id=1 or use another directory", data.display());
    assert_eq!(failure(serve(directory.path(), &[FREE_PORTS, "node.id=2"])), expected);
}
