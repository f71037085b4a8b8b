use clap::Parser;
use ottla_config::{ConfigFile, ConfigSources, FileFormat, load};
use ottla_io::{MemoryDisk, SeededRng};

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    storage: StorageArgs,
}

const CONFIG: &str = "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:29092,CONTROLLER://127.0.0.1:29093\n\
    controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=127.0.0.1:29093\nlog.dirs=/d1,/d2\n";

fn node(_: &Path) -> Result<Node, ConfigurationError> {
    let file = ConfigFile { name: "server.properties", format: FileFormat::Properties, text: CONFIG };
    Ok(Node::of(&load(&ConfigSources { file: Some(file), ..ConfigSources::default() })?.config))
}

/// What the command line prints, and whether it succeeds.
fn run_line(disk: &MemoryDisk, line: &str) -> Result<(String, bool), String> {
    let arguments = std::iter::once("storage").chain(line.split(' '));
    let args = Line::try_parse_from(arguments).map_err(|error| error.to_string())?.storage;
    let mut out = Vec::new();
    let mut tool = Tool { disk, rng: &mut SeededRng::new(3), now_ms: 5, node: &node, out: &mut out };
    let code = tool.execute(args.command).map_err(|error| error.to_string())?;
    let is_success = format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS);
    Ok((String::from_utf8(out).expect("text"), is_success))
}

#[test]
fn a_node_is_formatted_and_found_again() {
    let disk = MemoryDisk::new();
    let nothing = "Found problems:\n  /d1 does not exist\n  /d2 does not exist\n\n".to_owned();
    assert_eq!(run_line(&disk, "info -c /server.properties"), Ok((nothing, false)));

    let format = "format -t 4L6g3nShT-eMCtK--X86sw -c /server.properties";
    let unsaid = run_line(&disk, format).expect_err("nobody says who the controllers are");
    assert!(unsaid.starts_with("Because controller.quorum.voters is not set on this controller"), "{unsaid}");
    let (printed, is_success) = run_line(&disk, &format!("{format} --standalone")).expect("formatted");
    assert!(is_success);
    let lines: Vec<_> = printed.lines().collect();
    assert!(lines[0].starts_with("Bootstrap metadata: metadata.version=33, eligible.leader.replicas.version=1"), "{printed}");
    assert_eq!(lines[1], "Formatting dynamic metadata voter directory /d1 with metadata.version 4.4-IV2.");
    assert_eq!(lines[2], "Formatting data directory /d2 with metadata.version 4.4-IV2.");

    let again = "All of the log directories are already formatted.\n".to_owned();
    assert_eq!(run_line(&disk, &format!("{format} --standalone -g")), Ok((again, true)));
    let (printed, is_success) = run_line(&disk, "info -c /server.properties").expect("found");
    assert!(is_success);
    let expected = "Found log directories:\n  /d1\n  /d2\n\nFound metadata: {cluster.id=4L6g3nShT-eMCtK--X86sw, directory.id=";
    assert!(printed.starts_with(expected) && printed.ends_with(", node.id=1, version=1}\n\n"), "{printed}");
}

#[test]
fn one_way_to_name_the_controllers_is_enough() {
    let line = "format -t x -c /server.properties --standalone --no-initial-controllers";
    let error = run_line(&MemoryDisk::new(), line).expect_err("two ways");
    assert!(error.contains("cannot be used with"), "{error}");
    let wrong =
        run_line(&MemoryDisk::new(), "format -t x -c /server.properties --initial-controllers 1@host:9093").expect_err("no directory");
    assert_eq!(wrong, "'1@host:9093' is no controller: expected id@hostname:port:directory");
}

#[test]
fn controllers_are_read_from_the_command_line() {
    let controller = initial_controller("2@[::1]:9093:JEXY6aqzQY-32P5TStzaFg").expect("a controller");
    assert_eq!(controller.node_id, BrokerId(2));
    assert_eq!(controller.endpoint, Endpoint { host: "::1".to_owned(), port: 9093 });
    assert_eq!(controller.directory_id.to_string(), "JEXY6aqzQY-32P5TStzaFg");
    for wrong in ["", "x@h:1:JEXY6aqzQY-32P5TStzaFg", "-1@h:1:JEXY6aqzQY-32P5TStzaFg", "1@:1:JEXY6aqzQY-32P5TStzaFg", "1@h:1:short"] {
        assert!(initial_controller(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn features_are_looked_up() {
    let (printed, _) = run_line(&MemoryDisk::new(), "version-mapping -r 3.5").expect("a release");
    assert!(printed.starts_with("metadata.version=11 (3.5)\nkraft.version=0\n"), "{printed}");
    let error = run_line(&MemoryDisk::new(), "version-mapping -r 9.9").expect_err("no release");
    assert!(error.starts_with("Unknown metadata.version '9.9'. Supported metadata.version are: 3.3-IV3,"), "{error}");

    let line = "feature-dependencies -f group.version=1 -f eligible.leader.replicas.version=1 -f metadata.version=20";
    let expected = "group.version=1 has no dependencies.\n\
        eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n\
        metadata.version=20 (3.8-IV0) has no dependencies.\n";
    assert_eq!(run_line(&MemoryDisk::new(), line), Ok((expected.to_owned(), true)));
    let error = run_line(&MemoryDisk::new(), "feature-dependencies -f group.version=99").expect_err("no level");
    assert_eq!(error, "Feature level 99 is not supported for feature group.version");
}

#[test]
fn a_random_uuid_is_one() {
    let (printed, _) = run_line(&MemoryDisk::new(), "random-uuid").expect("a uuid");
    assert!(printed.trim_end().parse::<ottla_model::Uuid>().is_ok(), "{printed}");
}
