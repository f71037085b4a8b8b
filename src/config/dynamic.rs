//! A broker's configuration with what was set at run time over it (`DynamicBrokerConfig`, KIP-226): for the whole cluster, and for this
//! broker.

use std::fmt;
use std::sync::Arc;

use crate::broker_config::BrokerConfig;
use crate::broker_values::ConfigMap;
use crate::invalid::InvalidConfig;
use crate::key::{ConfigKey, Scope, UpdateMode};
use crate::listener_key;
use crate::table;
use crate::value::ConfigType;

/// For whom a broker's key is set at run time: the resource name of AlterConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigLevel {
    /// For all brokers: the empty name.
    Cluster,
    /// For the broker of that id.
    Broker,
}

/// The layers of a broker's configuration and what they come to. A value: who shares it must replace it as a whole.
#[derive(Clone)]
pub struct DynamicBrokerConfig {
    static_config: Arc<BrokerConfig>,
    cluster: ConfigMap,
    broker: ConfigMap,
    current: Arc<BrokerConfig>,
}

impl DynamicBrokerConfig {
    /// The configuration that the broker was started with, and nothing over it.
    pub fn new(static_config: BrokerConfig) -> DynamicBrokerConfig {
        let static_config = Arc::new(static_config);
        DynamicBrokerConfig { current: static_config.clone(), static_config, cluster: ConfigMap::new(), broker: ConfigMap::new() }
    }

    /// What applies now.
    pub fn current(&self) -> &Arc<BrokerConfig> {
        &self.current
    }

    /// What the broker was started with.
    pub fn static_config(&self) -> &Arc<BrokerConfig> {
        &self.static_config
    }

    /// The values for all brokers that can be applied.
    pub fn cluster_values(&self) -> &ConfigMap {
        &self.cluster
    }

    /// The values for this broker that can be applied.
    pub fn broker_values(&self) -> &ConfigMap {
        &self.broker
    }

    /// Takes the stored values over, as they are in the metadata image. What cannot be applied is left out and told in a sentence
    /// each, for the log; if the rest does not fit together, what applied before goes on.
    pub fn update(&mut self, cluster: &ConfigMap, broker: &ConfigMap) -> Vec<String> {
        let mut problems = Vec::new();
        self.cluster = usable(cluster, ConfigLevel::Cluster, &mut problems);
        self.broker = usable(broker, ConfigLevel::Broker, &mut problems);
        let mut originals = self.static_config.originals().clone();
        overlay(&mut originals, &self.cluster);
        overlay(&mut originals, &self.broker);
        clamp_assignment_intervals(&mut originals);
        match BrokerConfig::new(originals) {
            Ok(config) => self.current = Arc::new(config),
            Err(error) => problems.push(format!("the dynamic configuration could not be applied: {}", error.reason())),
        }
        problems
    }

    /// What would apply with these values instead of those of one level.
    pub(crate) fn with(&self, values: &ConfigMap, level: ConfigLevel) -> Result<BrokerConfig, InvalidConfig> {
        let mut originals = self.static_config.originals().clone();
        match level {
            ConfigLevel::Cluster => {
                overlay(&mut originals, values);
                overlay(&mut originals, &self.broker);
            }
            ConfigLevel::Broker => {
                overlay(&mut originals, &self.cluster);
                overlay(&mut originals, values);
            }
        }
        BrokerConfig::new(originals)
    }
}

/// Without the text of secrets.
impl fmt::Debug for DynamicBrokerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicBrokerConfig").field("current", &self.current).finish_non_exhaustive()
    }
}

/// Keys that set the same value in different units, the strongest first (`DynamicBrokerConfig.brokerConfigSynonyms`).
const UNIT_SYNONYMS: [&[&str]; 3] = [
    &["log.roll.ms", "log.roll.hours"],
    &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
];

/// The names under which a broker's value can be set, the strongest first. A listener's key falls back on the key itself.
pub(crate) fn broker_synonyms(name: &str) -> Vec<&str> {
    if let Some(synonyms) = UNIT_SYNONYMS.into_iter().find(|synonyms| synonyms.contains(&name)) {
        return synonyms.to_vec();
    }
    if name == "log.flush.interval.ms" {
        return vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"];
    }
    match listener_key::base_key(name) {
        Some(base) => vec![name, base],
        None => vec![name],
    }
}

/// Puts values over others. A value for `log.roll.hours` also takes `log.roll.ms` away, which would be stronger.
fn overlay(originals: &mut ConfigMap, values: &ConfigMap) {
    for (name, value) in values {
        if listener_key::base_key(name).is_none() {
            for synonym in broker_synonyms(name) {
                originals.remove(synonym);
            }
        }
        originals.insert(name.clone(), value.clone());
    }
}

/// An assignment interval that was set at run time must not stop a broker whose limits were changed since: it is moved into them
/// (`GroupCoordinatorConfig.clampDynamicConfigs`).
fn clamp_assignment_intervals(originals: &mut ConfigMap) {
    for kind in ["consumer", "share", "streams"] {
        let name = format!("group.{kind}.assignment.interval.ms");
        let number = |name: &str| {
            let text = originals.get(name).cloned();
            let default = || table::key(Scope::Broker, name).and_then(ConfigKey::default_value).map(ToString::to_string);
            text.or_else(default).and_then(|text| text.trim().parse::<i32>().ok())
        };
        let limits =
            (number(&format!("group.{kind}.min.assignment.interval.ms")), number(&format!("group.{kind}.max.assignment.interval.ms")));
        if let (true, Some(value), (Some(min), Some(max))) = (originals.contains_key(&name), number(&name), limits) {
            originals.insert(name, value.min(max).max(min).to_string());
        }
    }
}

/// The definition of the key that a name stands for, if it can be set at run time.
pub(crate) fn dynamic_key(name: &str) -> Option<&'static ConfigKey> {
    table::key(Scope::Broker, name).filter(|key| key.update_mode != UpdateMode::ReadOnly)
}

/// Whether a key exists and can only be set before the start.
pub(crate) fn is_static_key(name: &str) -> bool {
    table::key(Scope::Broker, name).is_some_and(|key| key.update_mode == UpdateMode::ReadOnly)
}

/// Keys about keys and certificates, which each listener has its own of (`SslConfigs.RECONFIGURABLE_CONFIGS`).
const STORE_KEYS: [&str; 10] = [
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Whether the key can be set at run time only for a listener.
pub(crate) fn needs_listener(name: &str) -> bool {
    STORE_KEYS.contains(&name)
}

/// Whether the name may only be set for one broker.
pub(crate) fn is_per_broker(name: &str) -> bool {
    match listener_key::without_listener(name) {
        Some(base) => !["max.connections", "max.connection.creation.rate", "num.network.threads"].contains(&base),
        None => table::key(Scope::Broker, name).is_some_and(|key| key.update_mode == UpdateMode::PerBroker),
    }
}

/// Checks the type of one value. Names that are not known, or not as dynamic keys, are not looked at.
pub(crate) fn check_type(name: &str, value: &str) -> Result<(), String> {
    let base = listener_key::without_listener(name).unwrap_or(name);
    let Some(key) = dynamic_key(base) else { return Ok(()) };
    key.parse(value)?;
    // There are no classes here but those that stand for built-in behaviour.
    let is_default = key.default_value().is_some_and(|default| default.to_string() == value.trim());
    if key.kind == ConfigType::Class && !is_default {
        return Err(format!("Invalid value {value} for configuration {base}: Class {value} could not be found."));
    }
    Ok(())
}

fn usable(stored: &ConfigMap, level: ConfigLevel, problems: &mut Vec<String>) -> ConfigMap {
    let mut usable = ConfigMap::new();
    for (name, value) in stored {
        let problem = if let Err(message) = check_type(name, value) {
            message
        } else if is_static_key(name) {
            format!("{name} cannot be set at run time")
        } else if needs_listener(name) {
            format!("{name} can be set at run time only for a listener")
        } else if level == ConfigLevel::Cluster && is_per_broker(name) {
            format!("{name} can be set only for one broker")
        } else {
            usable.insert(name.clone(), value.clone());
            continue;
        };
        problems.push(format!("a dynamic configuration is ignored: {problem}"));
    }
    usable
}
