//! From what is written to a node's configuration: the order of the sources, what a node takes where nothing is written, and what is
//! worth a warning.

use std::fmt;

use crate::broker_config::BrokerConfig;
use crate::broker_values::ConfigMap;
use crate::invalid::InvalidConfig;
use crate::key::{ConfigKey, Scope};
use crate::listener_key;
use crate::source::{self, Origin, SourceError, SourcedConfig, SourcedValue};
use crate::table;

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Java properties, as Kafka's `server.properties`.
    Properties,
    /// TOML with the same keys.
    Toml,
}

impl FileFormat {
    /// TOML if the name ends so, else properties.
    pub fn of_name(name: &str) -> FileFormat {
        if name.ends_with(".toml") { FileFormat::Toml } else { FileFormat::Properties }
    }
}

/// A configuration file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The format.
    pub format: FileFormat,
    /// The content.
    pub text: &'a str,
}

/// Everything that configures a node, the weakest first: file, environment, `--override`.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources<'a> {
    /// `--config`, if given.
    pub file: Option<ConfigFile<'a>>,
    /// The whole environment; only `KAFKA_*` is looked at.
    pub environment: Vec<(String, String)>,
    /// The `key=value` arguments of `--override`.
    pub overrides: Vec<&'a str>,
}

/// A configuration that cannot be used. Displays as one sentence that names the key and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A source cannot be read.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// A value is not of the kind that its key takes.
    #[error("{key}={value} ({origin}): expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// What is written; a secret is not shown.
        value: String,
        /// Where.
        origin: Origin,
        /// What is accepted.
        expected: String,
    },
    /// Values do not fit each other.
    #[error("{key}{}: {reason}", .origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default())]
    Rule {
        /// The key to look at first.
        key: String,
        /// Where it is written, if it is.
        origin: Option<Origin>,
        /// What is wrong.
        reason: String,
    },
}

/// Something that is accepted, but likely not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigWarning {
    /// No such key exists in Kafka 4.4.
    UnknownKey {
        /// The key.
        key: String,
        /// Where it is written.
        origin: Origin,
        /// A key whose name is much like it.
        similar: Option<&'static str>,
    },
    /// Kafka knows these keys and Ottla does nothing with them.
    UnusedKeys {
        /// In alphabetical order.
        keys: Vec<String>,
    },
    /// The key can only be set at run time.
    DynamicOnlyKey {
        /// The key.
        key: String,
        /// Where it is written.
        origin: Origin,
    },
    /// `broker.id` is written, the old name of `node.id`.
    DeprecatedBrokerId,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigWarning::UnknownKey { key, origin, similar } => {
                write!(f, "unknown configuration key {key} ({origin}) is ignored")?;
                similar.map_or(Ok(()), |similar| write!(f, "; did you mean {similar}?"))
            }
            ConfigWarning::UnusedKeys { keys } => write!(f, "these configuration keys have no effect in Ottla: {}", keys.join(", ")),
            ConfigWarning::DynamicOnlyKey { key, origin } => {
                write!(f, "{key} ({origin}) is ignored: it can only be set at run time, with kafka-configs")
            }
            ConfigWarning::DeprecatedBrokerId => f.write_str("broker.id is the old name of node.id and will go; write node.id"),
        }
    }
}

/// A node's configuration and what is worth telling about it.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: BrokerConfig,
    /// In alphabetical order of their keys.
    pub warnings: Vec<ConfigWarning>,
}

/// Reads all sources and makes the configuration.
pub fn load(sources: &ConfigSources<'_>) -> Result<LoadedConfig, LoadError> {
    let mut written = match sources.file {
        None => SourcedConfig::new(),
        Some(file) => match file.format {
            FileFormat::Properties => source::from_properties(file.name, file.text)?,
            FileFormat::Toml => source::from_toml(file.name, file.text)?,
        },
    };
    written.extend(source::from_environment(sources.environment.iter().cloned()));
    written.extend(source::from_overrides(sources.overrides.iter().copied())?);
    let warnings = warnings(&written);
    check_values(&written)?;
    add_node_defaults(&mut written);
    let originals: ConfigMap = written.iter().map(|(key, sourced)| (key.clone(), sourced.value.clone())).collect();
    check_authorizer(&written)?;
    let config = BrokerConfig::new(originals).map_err(|invalid| rule_error(&invalid, &written))?;
    Ok(LoadedConfig { config, warnings })
}

fn definition(name: &str) -> Option<&'static ConfigKey> {
    let base = listener_key::base_key(name).unwrap_or(name);
    table::key(Scope::Broker, base)
}

fn check_values(written: &SourcedConfig) -> Result<(), LoadError> {
    for (key, sourced) in written {
        let Some(definition) = definition(key) else { continue };
        if definition.parse(&sourced.value).is_err() {
            let is_secret = definition.kind == crate::value::ConfigType::Password;
            return Err(LoadError::Value {
                key: key.clone(),
                value: if is_secret { "[hidden]".to_owned() } else { sourced.value.clone() },
                origin: sourced.origin.clone(),
                expected: definition.expectation(),
            });
        }
    }
    Ok(())
}

/// A key that promises protection must not be ignored.
fn check_authorizer(written: &SourcedConfig) -> Result<(), LoadError> {
    const KEY: &str = "authorizer.class.name";
    match written.get(KEY).filter(|sourced| !sourced.value.trim().is_empty()) {
        None => Ok(()),
        Some(sourced) => Err(LoadError::Rule {
            key: KEY.to_owned(),
            origin: Some(sourced.origin.clone()),
            reason: "Ottla has no authorizer yet and would let everybody do everything; remove the key if that is acceptable".to_owned(),
        }),
    }
}

fn rule_error(invalid: &InvalidConfig, written: &SourcedConfig) -> LoadError {
    let origin = written.get(invalid.key()).map(|sourced| sourced.origin.clone()).filter(|origin| *origin != Origin::NodeDefault);
    LoadError::Rule { key: invalid.key().to_owned(), origin, reason: invalid.reason() }
}

/// What a node takes where nothing is written. Kafka demands the first of these; and a cluster of one node cannot have three replicas.
pub(crate) const NODE_DEFAULTS: [(&str, &str); 11] = [
    ("process.roles", "broker,controller"),
    ("node.id", "1"),
    ("controller.listener.names", "CONTROLLER"),
    ("listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"),
    ("log.dirs", "./ottla-data"),
    ("controller.quorum.voters", "1@127.0.0.1:9093"),
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
    ("share.coordinator.state.topic.replication.factor", "1"),
    ("share.coordinator.state.topic.min.isr", "1"),
];

/// Where in `NODE_DEFAULTS` those begin that are for a cluster of one.
const FIRST_OF_ONE_NODE: usize = 6;

fn add_node_defaults(written: &mut SourcedConfig) {
    for (key, other_name) in [("process.roles", ""), ("node.id", "broker.id"), ("controller.listener.names", ""), ("log.dirs", "log.dir")] {
        if !written.contains_key(other_name) {
            add_default(written, key, None);
        }
    }
    let controller_name = text(written, "controller.listener.names").split(',').next().unwrap_or_default().trim().to_owned();
    let roles = text(written, "process.roles");
    if !roles.contains("controller") {
        return;
    }
    let broker_listener = if roles.contains("broker") { "PLAINTEXT://127.0.0.1:9092," } else { "" };
    add_default(written, "listeners", Some(format!("{broker_listener}{controller_name}://127.0.0.1:9093")));
    if text(written, "controller.quorum.voters").is_empty() && text(written, "controller.quorum.bootstrap.servers").is_empty() {
        let id = text(written, if written.contains_key("node.id") { "node.id" } else { "broker.id" });
        let address = controller_address(&text(written, "listeners"), &controller_name);
        written.remove("controller.quorum.voters");
        add_default(written, "controller.quorum.voters", Some(format!("{id}@{address}")));
        for (key, _) in &NODE_DEFAULTS[FIRST_OF_ONE_NODE..] {
            add_default(written, key, None);
        }
    }
}

/// Sets a key that is not written: to this value, or to the one in `NODE_DEFAULTS`.
fn add_default(written: &mut SourcedConfig, key: &str, value: Option<String>) {
    let listed = || NODE_DEFAULTS.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
    if let Some(value) = value.or_else(listed) {
        written.entry(key.to_owned()).or_insert(SourcedValue { value, origin: Origin::NodeDefault });
    }
}

/// A value without the blanks around it; empty if nothing is written.
fn text(written: &SourcedConfig, key: &str) -> String {
    written.get(key).map(|sourced| sourced.value.trim().to_owned()).unwrap_or_default()
}

fn controller_address(listeners: &str, controller_name: &str) -> String {
    let listener = listeners.split(',').map(str::trim).find_map(|listener| {
        let (name, address) = listener.split_once("://")?;
        name.eq_ignore_ascii_case(controller_name).then_some(address)
    });
    match listener {
        Some(address) if address.starts_with(':') => format!("localhost{address}"),
        Some(address) => address.replace("0.0.0.0", "localhost"),
        None => "localhost:9093".to_owned(),
    }
}

fn warnings(written: &SourcedConfig) -> Vec<ConfigWarning> {
    let mut warnings = Vec::new();
    let mut unused = Vec::new();
    for (key, sourced) in written {
        match definition(key) {
            None if is_foreign(key) => {}
            None => {
                warnings.push(ConfigWarning::UnknownKey { key: key.clone(), origin: sourced.origin.clone(), similar: similar_key(key) })
            }
            Some(definition) if definition.is_dynamic_only => {
                warnings.push(ConfigWarning::DynamicOnlyKey { key: key.clone(), origin: sourced.origin.clone() });
            }
            Some(definition) if !definition.is_used => unused.push(key.clone()),
            Some(_) => {}
        }
    }
    if !unused.is_empty() {
        warnings.push(ConfigWarning::UnusedKeys { keys: unused });
    }
    if written.contains_key("broker.id") {
        warnings.push(ConfigWarning::DeprecatedBrokerId);
    }
    warnings
}

/// Keys that belong to plugins: their names are the plugins' business.
fn is_foreign(key: &str) -> bool {
    ["config.providers.", "rlmm.config.", "rsm.config.", "confluent."].iter().any(|prefix| key.starts_with(prefix))
}

/// The known key that is nearest to a name, if a few letters differ.
fn similar_key(name: &str) -> Option<&'static str> {
    const DISTANCE_MAX: usize = 3;
    let distances = table::keys(Scope::Broker).keys().map(|known| (edit_distance(name, known), *known));
    distances.filter(|(distance, _)| *distance <= DISTANCE_MAX.min(name.len() / 3)).min().map(|(_, known)| known)
}

/// How many letters must be inserted, removed or changed.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for column in 0..other.len() {
            let changed = diagonal + usize::from(character != other[column]);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
