//! Configurations as people write them: what they mean, and what is said when they mean nothing.

use ottla_config::{ConfigFile, ConfigSources, FileFormat, LoadedConfig, ProcessRoles, load};
use ottla_model::BrokerId;

fn load_properties(text: &str) -> Result<LoadedConfig, String> {
    let file = ConfigFile { name: "server.properties", format: FileFormat::Properties, text };
    load(&ConfigSources { file: Some(file), ..ConfigSources::default() }).map_err(|error| error.to_string())
}

fn error(text: &str) -> String {
    load_properties(text).expect_err("a configuration that cannot be used")
}

fn warnings(text: &str) -> Vec<String> {
    load_properties(text).unwrap().warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_written_is_a_node_on_this_machine() {
    let loaded = load(&ConfigSources::default()).unwrap();
    let config = loaded.config;
    assert_eq!(loaded.warnings, []);
    assert_eq!(config.node_id, BrokerId(1));
    assert_eq!(config.process_roles, ProcessRoles { broker: true, controller: true });
    let listeners: Vec<String> = config.listeners.iter().map(ToString::to_string).collect();
    assert_eq!(listeners, ["PLAINTEXT://127.0.0.1:9092", "CONTROLLER://127.0.0.1:9093"]);
    assert_eq!(config.advertised_listeners, config.broker_listeners().cloned().collect::<Vec<_>>());
    assert_eq!(config.advertised_controller_listeners, config.controller_listeners().cloned().collect::<Vec<_>>());
    assert_eq!(config.log_dirs, [std::path::PathBuf::from("./ottla-data")]);
    assert_eq!(config.metadata_log_dir, config.log_dirs[0]);
    assert_eq!((config.controller_quorum_voters[0].id, config.controller_quorum_voters[0].address.port), (BrokerId(1), 9093));
    assert_eq!(config.offsets_topic_replication_factor, 1);
    assert_eq!(config.inter_broker_listener_name, "PLAINTEXT");
    assert_eq!(config.topic_defaults.retention_ms, 7 * 24 * 3_600_000);
}

#[test]
fn the_strongest_source_counts() {
    let sources = ConfigSources {
        file: Some(ConfigFile { name: "ottla.toml", format: FileFormat::of_name("ottla.toml"), text: "num.partitions = 2\nnode.id = 7\n" }),
        environment: vec![("KAFKA_NUM_PARTITIONS".to_owned(), "3".to_owned()), ("KAFKA_LOG_RETENTION_HOURS".to_owned(), "1".to_owned())],
        overrides: vec!["num.partitions=4"],
    };
    let config = load(&sources).unwrap().config;
    assert_eq!((config.num_partitions, config.node_id, config.topic_defaults.retention_ms), (4, BrokerId(7), 3_600_000));
}

#[test]
fn a_wrong_value_names_key_place_and_what_is_expected() {
    assert_eq!(
        error("node.id=1\nnum.partitions=x\n"),
        "num.partitions=x (server.properties, line 2): expected a whole number below 2^31, at least 1"
    );
    assert_eq!(
        error("auto.create.topics.enable=maybe"),
        "auto.create.topics.enable=maybe (server.properties, line 1): expected true or false"
    );
    assert_eq!(
        error("log.cleanup.policy=foo"),
        "log.cleanup.policy=foo (server.properties, line 1): expected a list with commas of: compact, delete"
    );
}

#[test]
fn values_that_do_not_fit_each_other() {
    let rule = |text: &str, expected: &str| assert_eq!(error(text), expected, "{text}");
    rule(
        "node.id=1\nbroker.id=2",
        "node.id (server.properties, line 1): `node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.",
    );
    rule("log.roll.ms=0", "log.roll.ms (server.properties, line 1): log.roll.ms must be greater than or equal to 1");
    rule(
        "queued.max.request.bytes=1",
        "queued.max.request.bytes (server.properties, line 1): queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    );
    rule(
        "advertised.listeners=PLAINTEXT://0.0.0.0:9092",
        "advertised.listeners (server.properties, line 1): advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
    );
    rule(
        "controller.quorum.voters=2@localhost:9093",
        "controller.quorum.voters (server.properties, line 1): If process.roles contains the 'controller' role, the node id 1 must be included in the set of voters controller.quorum.voters=[2]",
    );
    rule(
        "process.roles=broker\nnode.id=1",
        "controller.quorum.bootstrap.servers: If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers or controller.quorum.voters must contain a parseable set of controllers.",
    );
    rule(
        "listeners=PLAINTEXT://:9092",
        "controller.listener.names: controller.listener.names must contain at least one value appearing in the 'listeners' configuration when running the KRaft controller role",
    );
    rule(
        "inter.broker.listener.name=FOO",
        "inter.broker.listener.name (server.properties, line 1): Listener with name FOO defined in inter.broker.listener.name not found in listener.security.protocol.map.",
    );
}

#[test]
fn unknown_and_unused_keys_are_named() {
    assert_eq!(
        warnings("num.partition=3"),
        ["unknown configuration key num.partition (server.properties, line 1) is ignored; did you mean num.partitions?"]
    );
    assert_eq!(warnings("my.own.key=3"), ["unknown configuration key my.own.key (server.properties, line 1) is ignored"]);
    assert_eq!(
        warnings("metric.reporters=\nquota.window.num=3"),
        ["these configuration keys have no effect in Ottla: metric.reporters, quota.window.num"]
    );
    assert_eq!(
        warnings("leader.replication.throttled.rate=3"),
        ["leader.replication.throttled.rate (server.properties, line 1) is ignored: it can only be set at run time, with kafka-configs"]
    );
    assert_eq!(warnings("broker.id=3"), ["broker.id is the old name of node.id and will go; write node.id"]);
    assert_eq!(warnings("listener.name.plaintext.max.connections=3"), Vec::<String>::new());
}

#[test]
fn a_promise_of_protection_is_not_ignored() {
    assert_eq!(
        error("node.id=1\nauthorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        "authorizer.class.name (server.properties, line 2): Ottla has no authorizer yet and would let everybody do everything; remove the \
         key if that is acceptable"
    );
    assert!(load_properties("authorizer.class.name=").is_ok());
}

#[test]
fn a_secret_is_not_shown() {
    let config = load_properties("ssl.key.password=s3cret").unwrap().config;
    let shown = format!("{config:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}
