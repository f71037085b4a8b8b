//! The files in `config/`, and the ones that come with Kafka.

use std::path::{Path, PathBuf};

use ottla_config::{ConfigFile, ConfigSources, FileFormat, LoadedConfig, ProcessRoles, Scope, key, keys, load, reference};
use ottla_model::BrokerId;

/// Set it to write `config/REFERENCE.md` anew.
const REWRITE: &str = "OTTLA_REWRITE_REFERENCE";

fn config_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(config_dir().join(name)).unwrap()
}

fn load_text(name: &str, text: &str) -> LoadedConfig {
    let file = ConfigFile { name, format: FileFormat::of_name(name), text };
    load(&ConfigSources { file: Some(file), ..ConfigSources::default() }).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_reference_is_up_to_date() {
    let path = config_dir().join("REFERENCE.md");
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == reference(), "config/REFERENCE.md is out of date: {REWRITE}=1 cargo test -p ottla-config --test files");
}

#[test]
fn the_examples_say_what_applies_anyway() {
    let default = load(&ConfigSources::default()).unwrap().config;
    for name in ["server.properties", "ottla.toml"] {
        let loaded = load_text(name, &read(name));
        assert_eq!(loaded.warnings, [], "{name}");
        for (key, value) in default.values().iter() {
            assert_eq!(loaded.config.values().get(key), Some(value), "{name}: {key}");
        }
    }
}

#[test]
fn the_examples_show_the_same_keys_with_their_defaults() {
    let properties = read("server.properties");
    let toml = read("ottla.toml");
    let shown_in_properties: Vec<(&str, &str)> =
        properties.lines().filter_map(|line| line.trim_start_matches('#').split_once('=')).filter(|(name, _)| is_key(name)).collect();
    for (name, value) in &shown_in_properties {
        let key = key(Scope::Broker, name).unwrap();
        assert!(key.is_used, "{name} has no effect");
        assert!(key.parse(value).is_ok(), "{name}={value}");
        assert!(toml.lines().any(|line| is_toml_line_of(line, name)), "ottla.toml does not show {name}");
    }
    let shown = |name: &str| shown_in_properties.iter().any(|(shown, _)| *shown == name);
    let important = keys(Scope::Broker).values().filter(|key| key.is_used && key.importance == ottla_config::Importance::High);
    for key in important.filter(|key| !["broker.id", "log.dir"].contains(&key.name)) {
        assert!(shown(key.name), "server.properties does not show {}", key.name);
    }
}

#[test]
fn what_the_examples_show_can_be_switched_on_all_at_once() {
    for name in ["server.properties", "ottla.toml"] {
        let text = read(name);
        let uncommented: Vec<&str> =
            text.lines().map(|line| line.strip_prefix('#').filter(|line| !line.starts_with([' ', '-'])).unwrap_or(line)).collect();
        let config = load_text(name, &uncommented.join("\n")).config;
        assert_eq!((config.rack.as_deref(), config.listener_security_protocol_map.len()), (Some("rack-1"), 2), "{name}");
    }
}

/// The sources of all crates but this one.
fn other_sources() -> String {
    let mut sources = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("config") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

#[test]
fn keys_that_are_marked_as_used_are_read_somewhere() {
    let sources = other_sources();
    let definitions = include_str!("../broker_config.rs").lines().chain(include_str!("../topic_config.rs").lines());
    let fields = definitions.filter_map(|line| line.trim().strip_prefix('"')?.split_once(':')?.0.split_once("\" "));
    let mut checked = 0;
    for (name, field) in fields {
        // The controller reads these two by their names; the third is read through `TopicConfig::segment_size`.
        let is_exception = ["min.insync.replicas", "unclean.leader.election.enable", "internal.segment.bytes"].contains(&name);
        let is_used = [Scope::Broker, Scope::Topic].into_iter().filter_map(|scope| key(scope, name)).any(|key| key.is_used);
        assert!(!is_used || is_exception || sources.contains(&format!(".{field}")), "nobody reads {name}: take `used` off it");
        checked += 1;
    }
    assert!(checked > 90, "{checked}");
}

fn is_key(name: &str) -> bool {
    key(Scope::Broker, name).is_some()
}

fn is_toml_line_of(line: &str, name: &str) -> bool {
    let written = line.trim_start_matches('#').split('=').next().unwrap_or_default().trim();
    written.trim_matches('"') == name
}

#[test]
fn kafkas_own_files_work_unchanged() {
    let combined = load_text("server.properties", include_str!("data/server.properties")).config;
    assert_eq!(combined.process_roles, ProcessRoles { broker: true, controller: true });
    assert_eq!(
        (combined.node_id, combined.num_partitions, combined.log_dirs[0].to_str()),
        (BrokerId(1), 1, Some("/tmp/kraft-combined-logs"))
    );
    assert_eq!(combined.controller_quorum_bootstrap_servers[0].host, "localhost");
    assert_eq!(combined.advertised_listeners.iter().map(ToString::to_string).collect::<Vec<_>>(), ["PLAINTEXT://localhost:9092"]);
    assert_eq!(
        combined.advertised_controller_listeners.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["CONTROLLER://localhost:9093"]
    );
    assert_eq!(combined.listeners[0].host, None);

    let broker = load_text("broker.properties", include_str!("data/broker.properties")).config;
    assert_eq!(broker.process_roles, ProcessRoles { broker: true, controller: false });
    assert_eq!((broker.node_id, broker.group_initial_rebalance_delay_ms), (BrokerId(2), 0));

    let controller = load_text("controller.properties", include_str!("data/controller.properties")).config;
    assert_eq!(controller.process_roles, ProcessRoles { broker: false, controller: true });
    assert_eq!(controller.advertised_listeners, []);
}

#[test]
fn the_environment_of_kafkas_image_works() {
    let environment = [
        ("KAFKA_NODE_ID", "1"),
        ("KAFKA_PROCESS_ROLES", "broker,controller"),
        ("KAFKA_LISTENERS", "PLAINTEXT://0.0.0.0:9092,CONTROLLER://localhost:9093,BROKER://0.0.0.0:9094"),
        ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://localhost:32768,BROKER://172.17.0.2:9094"),
        ("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER"),
        ("KAFKA_INTER_BROKER_LISTENER_NAME", "BROKER"),
        ("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
        ("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@localhost:9094"),
        ("KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR", "1"),
        ("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0"),
        ("KAFKA_LOG_FLUSH_INTERVAL_MESSAGES", "9223372036854775807"),
        ("KAFKA_HEAP_OPTS", "-Xmx1G"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let loaded = load(&ConfigSources { environment, ..ConfigSources::default() }).unwrap();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.config.inter_broker_listener_name, "BROKER");
    assert_eq!(loaded.config.advertised_listeners.len(), 2);
    assert_eq!(loaded.config.broker_listeners().count(), 2);
    assert_eq!(loaded.config.topic_defaults.flush_messages, i64::MAX);
}
