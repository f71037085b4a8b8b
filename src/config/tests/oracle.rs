//! What Apache Kafka 4.4.0 answered, against what Ottla would: a broker with `data/oracle.properties` was described, altered by each
//! line of `data/alterations.tsv` in turn, and described again.

use std::collections::BTreeMap;

use ottla_config::{
    BrokerConfig, ConfigLevel, ConfigMap, ConfigRejection, DescribedConfig, DynamicBrokerConfig, Scope, check_client_metrics, check_group,
    check_topic, default_text, describe_broker, describe_client_metrics, describe_cluster_defaults, describe_group, describe_topic,
    is_list,
};
use ottla_model::ErrorCode;

const PROPERTIES: &str = include_str!("data/oracle.properties");
const ALTERATIONS: &str = include_str!("data/alterations.tsv");
/// So many alterations were made before the second description.
const ALTERATIONS_BEFORE_TUNED: usize = 6;

/// One operation of an alteration: `SET`, `DELETE`, `APPEND` or `SUBTRACT`, the key and the value.
struct Operation {
    kind: &'static str,
    name: &'static str,
    value: &'static str,
}

/// The resources of the cluster that was asked.
struct Cluster {
    broker: DynamicBrokerConfig,
    cluster_values: ConfigMap,
    broker_values: ConfigMap,
    topics: BTreeMap<&'static str, ConfigMap>,
    groups: BTreeMap<&'static str, ConfigMap>,
    client_metrics: ConfigMap,
}

fn map(pairs: &[(&str, &str)]) -> ConfigMap {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn cluster() -> Cluster {
    let originals = PROPERTIES.lines().filter_map(|line| line.split_once('=')).collect::<Vec<_>>();
    let tuned =
        [("cleanup.policy", "compact,delete"), ("retention.ms", "1000"), ("segment.bytes", "1048576"), ("compression.type", "zstd")];
    let mut cluster = Cluster {
        broker: DynamicBrokerConfig::new(BrokerConfig::new(map(&originals)).unwrap()),
        // A new cluster writes it, because eligible leader replicas are on.
        cluster_values: map(&[("min.insync.replicas", "1")]),
        broker_values: ConfigMap::new(),
        topics: BTreeMap::from([("plain", ConfigMap::new()), ("tuned", map(&tuned))]),
        groups: BTreeMap::from([("g1", ConfigMap::new()), ("g2", ConfigMap::new())]),
        client_metrics: ConfigMap::new(),
    };
    cluster.update_broker();
    cluster
}

impl Cluster {
    fn update_broker(&mut self) {
        self.broker.update(&self.cluster_values, &self.broker_values);
    }

    fn alter(&mut self, resource: &str, name: &str, operations: &[Operation]) -> Result<(), ConfigRejection> {
        let config = self.broker.current().clone();
        match resource {
            "BROKER" => {
                let level = if name.is_empty() { ConfigLevel::Cluster } else { ConfigLevel::Broker };
                let values = if name.is_empty() { &mut self.cluster_values } else { &mut self.broker_values };
                let altered = alter_in_controller(Scope::Broker, values, operations)?;
                self.broker.validate_change(&altered, level)?;
                *values = altered;
                self.update_broker();
            }
            "TOPIC" => {
                let existing = &self.topics[name];
                let altered = alter_in_controller(Scope::Topic, existing, operations)?;
                check_topic(&config, &altered, existing)?;
                *self.topics.get_mut(name).unwrap() = altered;
            }
            "GROUP" => {
                let altered = alter_in_controller(Scope::Group, &self.groups[name], operations)?;
                check_group(&config, &altered)?;
                *self.groups.get_mut(name).unwrap() = altered;
            }
            _ => {
                let altered = alter_in_controller(Scope::ClientMetrics, &self.client_metrics, operations)?;
                check_client_metrics(name, &altered)?;
                self.client_metrics = altered;
            }
        }
        Ok(())
    }

    fn describe(&self, resource: &str, name: &str) -> Vec<DescribedConfig> {
        match (resource, name) {
            ("BROKER", "") => describe_cluster_defaults(&self.broker),
            ("BROKER", _) => describe_broker(&self.broker),
            ("TOPIC", _) => describe_topic(&self.broker, &self.topics[name]).unwrap(),
            ("GROUP", _) => describe_group(&self.broker, &self.groups[name]).unwrap(),
            _ => describe_client_metrics(&self.client_metrics).unwrap(),
        }
    }
}

/// The controller's part: lists are changed item by item.
fn alter_in_controller(scope: Scope, current: &ConfigMap, operations: &[Operation]) -> Result<ConfigMap, ConfigRejection> {
    let mut altered = current.clone();
    for Operation { kind, name, value } in operations {
        let changed = match *kind {
            "SET" => Some((*value).to_owned()),
            "DELETE" => None,
            _ if !is_list(scope, name) => {
                let message = format!("Can't {kind} to key {name} because its type is not LIST.");
                return Err(ConfigRejection { error: ErrorCode::InvalidConfig, message });
            }
            _ => {
                let text = altered.get(*name).cloned().or_else(|| default_text(scope, name)).unwrap_or_default();
                let mut items: Vec<&str> = text.split(',').filter(|item| !item.is_empty()).collect();
                for item in value.split(',') {
                    match (*kind, items.iter().position(|present| *present == item)) {
                        ("APPEND", None) => items.push(item),
                        ("SUBTRACT", Some(index)) => drop(items.remove(index)),
                        _ => {}
                    }
                }
                Some(items.join(","))
            }
        };
        match changed {
            Some(value) => altered.insert((*name).to_owned(), value),
            None => altered.remove(*name),
        };
    }
    Ok(altered)
}

fn operations(text: &'static str) -> Vec<Operation> {
    let operation = |text: &'static str| {
        let (kind, rest) = text.split_once(' ').unwrap();
        let (name, value) = rest.split_once('=').unwrap();
        Operation { kind, name, value }
    };
    text.split(" | ").map(operation).collect()
}

/// Refusals that are the controller's: they are about names, features, the metadata or the shape of the request.
fn is_controllers(name: &str, message: &str) -> bool {
    let of_requests = ["Default ", "Null value", "Error due to duplicate", "Config value append"];
    let is_of_request = of_requests.iter().any(|start| message.starts_with(start));
    ["absent", "bad name!"].contains(&name) || message.contains("while ELR is enabled") || is_of_request
}

fn replay(cluster: &mut Cluster, lines: impl Iterator<Item = &'static str>) -> (usize, Vec<String>) {
    let mut compared = 0;
    let mut differences = Vec::new();
    for line in lines {
        let [resource, name, changes, code, message] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if is_controllers(name, message) {
            continue;
        }
        let answer = match cluster.alter(resource, name, &operations(changes)) {
            Ok(()) => ("0".to_owned(), String::new()),
            Err(rejection) => (rejection.error.code().to_string(), rejection.message),
        };
        compared += 1;
        // Here Kafka tells of Java's string indices.
        let is_readable = !message.contains("begin 0, end -1");
        if answer.0 != code || (is_readable && answer.1 != message) {
            differences.push(format!("{resource} {name:?} {changes}\n  Kafka: {code} {message}\n  Ottla: {} {}", answer.0, answer.1));
        }
    }
    (compared, differences)
}

/// One line of a description.
fn line(resource: &str, name: &str, config: &DescribedConfig) -> String {
    let or_null = |value: &Option<String>| value.clone().unwrap_or_else(|| "\\N".to_owned());
    let source = |id: i8| match id {
        1 => "DYNAMIC_TOPIC_CONFIG",
        2 => "DYNAMIC_BROKER_CONFIG",
        3 => "DYNAMIC_DEFAULT_BROKER_CONFIG",
        4 => "STATIC_BROKER_CONFIG",
        5 => "DEFAULT_CONFIG",
        7 => "DYNAMIC_CLIENT_METRICS_CONFIG",
        _ => "DYNAMIC_GROUP_CONFIG",
    };
    let synonyms =
        config.synonyms.iter().map(|synonym| format!("{}={}@{}", synonym.name, or_null(&synonym.value), source(synonym.source.id())));
    [
        resource,
        name,
        &config.name,
        &or_null(&config.value),
        source(config.source.id()),
        if config.read_only { "ro" } else { "rw" },
        if config.is_sensitive { "sensitive" } else { "" },
        &config.kind.map_or("UNKNOWN".to_owned(), |kind| kind.name().to_uppercase()),
        &synonyms.collect::<Vec<_>>().join(" ; "),
    ]
    .join("\t")
}

fn assert_described(cluster: &Cluster, kafka: &str) {
    let resources = [
        ("BROKER", "1"),
        ("BROKER", ""),
        ("TOPIC", "plain"),
        ("TOPIC", "tuned"),
        ("GROUP", "g1"),
        ("GROUP", "g2"),
        ("CLIENT_METRICS", "m1"),
    ];
    let mut ottla = Vec::new();
    for (resource, name) in resources {
        ottla.extend(cluster.describe(resource, name).iter().map(|config| line(resource, name, config)));
    }
    let kafka: Vec<&str> = kafka.lines().collect();
    let missing: Vec<&&str> = kafka.iter().filter(|line| !ottla.iter().any(|own| own == *line)).collect();
    let surplus: Vec<&String> = ottla.iter().filter(|line| !kafka.contains(&line.as_str())).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "only Kafka:\n{missing:#?}\nonly Ottla:\n{surplus:#?}");
    assert_eq!(ottla.len(), kafka.len());
}

#[test]
fn a_new_cluster_is_described_as_kafka_describes_it() {
    assert_described(&cluster(), include_str!("data/describe-fresh.tsv"));
}

#[test]
fn alterations_are_answered_as_kafka_answers_them_and_show_afterwards() {
    let mut cluster = cluster();
    let (_, differences) = replay(&mut cluster, ALTERATIONS.lines().take(ALTERATIONS_BEFORE_TUNED));
    assert_eq!(differences, Vec::<String>::new());
    assert_described(&cluster, include_str!("data/describe-tuned.tsv"));

    let (compared, differences) = replay(&mut cluster, ALTERATIONS.lines().skip(ALTERATIONS_BEFORE_TUNED));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(compared, 221);
    assert_described(&cluster, include_str!("data/describe-altered.tsv"));
}

/// What a line of `data/startups.tsv` is put over.
const COMBINED_NODE: [(&str, &str); 5] = [
    ("process.roles", "broker,controller"),
    ("node.id", "1"),
    ("listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"),
    ("controller.listener.names", "CONTROLLER"),
    ("controller.quorum.voters", "1@localhost:9093"),
];

/// Starts that Kafka refuses in other words.
const OTHER_WORDS: [&str; 3] = [
    "listeners=9092",
    "process.roles=broker | controller.quorum.voters=2@localhost:9093 | listeners=SSL://:9092,PLAINTEXT://:9091",
    // There are no classes to load: a name is taken as it is, and has no effect.
    "principal.builder.class=",
];

#[test]
fn configurations_are_refused_that_kafka_refuses() {
    let mut differences = Vec::new();
    for line in include_str!("data/startups.tsv").lines() {
        let (changes, kafka) = line.split_once('\t').unwrap();
        let mut originals = map(&COMBINED_NODE);
        for change in changes.split(" | ") {
            let (key, value) = change.split_once('=').unwrap();
            originals.insert(key.to_owned(), value.to_owned());
        }
        let ottla = BrokerConfig::new(originals).map_or_else(|invalid| invalid.to_string(), |_| "OK".to_owned());
        // Sets are shown as Scala shows them.
        let kafka = kafka.replace("Set(", "[").replace("voters=[1)", "voters=[1]").replace("voters=[2)", "voters=[2]");
        if ottla != kafka && !OTHER_WORDS.contains(&changes) {
            differences.push(format!("{changes}\n  Kafka: {kafka}\n  Ottla: {ottla}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
