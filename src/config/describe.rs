//! What DescribeConfigs answers about a resource (`ConfigHelper`): each key with its value, where that is from, and what else would
//! apply.

use crate::broker_values::ConfigMap;
use crate::dynamic::{self, DynamicBrokerConfig};
use crate::invalid::InvalidConfig;
use crate::key::{ConfigKey, Scope};
use crate::table;
use crate::topic_config::TopicValues;
use crate::value::{ConfigType, ConfigValue};

/// Where a value is from, with the numbers of `DescribeConfigsResponse.ConfigSource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigSource {
    /// Set on the topic.
    Topic = 1,
    /// Set on this broker at run time.
    DynamicBroker = 2,
    /// Set on all brokers at run time.
    DynamicDefaultBroker = 3,
    /// Set before the start.
    StaticBroker = 4,
    /// The key's default.
    Default = 5,
    /// A log level, which is not kept.
    DynamicBrokerLogger = 6,
    /// Set on the client metrics subscription.
    ClientMetrics = 7,
    /// Set on the group.
    Group = 8,
}

impl ConfigSource {
    /// The number on the wire.
    pub fn id(self) -> i8 {
        self as i8
    }
}

/// A value that applies, or would if those before it were not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The key it is set by.
    pub name: String,
    /// The value; `None` if it is secret.
    pub value: Option<String>,
    /// Where it is set.
    pub source: ConfigSource,
}

/// One key of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedConfig {
    /// The key.
    pub name: String,
    /// The value; `None` if it is null or secret.
    pub value: Option<String>,
    /// Where the value is from.
    pub source: ConfigSource,
    /// Whether it cannot be changed at run time.
    pub read_only: bool,
    /// Whether the value is kept from clients: secrets, and keys that nobody knows.
    pub is_sensitive: bool,
    /// The type; `None` for keys that nobody knows.
    pub kind: Option<ConfigType>,
    /// All that is set for the key, the strongest first.
    pub synonyms: Vec<ConfigSynonym>,
    /// What the key does.
    pub documentation: Option<&'static str>,
}

/// All keys of this broker, by name: those that Kafka shows, and those that are set.
pub fn describe_broker(config: &DynamicBrokerConfig) -> Vec<DescribedConfig> {
    let current = config.current();
    let shown = table::keys(Scope::Broker).values().filter(|key| !key.is_internal && !key.is_dynamic_only);
    let known = shown.map(|key| broker_entry(config, key.name, current.values().get(key.name).map(ToString::to_string), true));
    let is_shown = |name: &str| table::key(Scope::Broker, name).is_some_and(|key| !key.is_internal && !key.is_dynamic_only);
    let others = current.originals().iter().filter(|(name, _)| !is_shown(name));
    let others = others.map(|(name, value)| broker_entry(config, name, Some(value.clone()), true));
    sorted(known.chain(others).collect())
}

/// The keys that are set for all brokers at run time, by name.
pub fn describe_cluster_defaults(config: &DynamicBrokerConfig) -> Vec<DescribedConfig> {
    config.cluster_values().iter().map(|(name, value)| broker_entry(config, name, Some(value.clone()), false)).collect()
}

/// All keys of a topic with these values of its own, by name. An error if one of them is not valid.
pub fn describe_topic(config: &DynamicBrokerConfig, overrides: &ConfigMap) -> Result<Vec<DescribedConfig>, InvalidConfig> {
    let values = TopicValues::parse(config.current().values(), overrides)?;
    let entry = |key: &'static ConfigKey| {
        let broker_key = key.synonyms.first();
        let synonyms = broker_key.map(|broker_key| broker_synonyms(config, broker_key)).unwrap_or_default();
        own_entry(key, values.get(key.name), ConfigSource::Topic, overrides, synonyms)
    };
    let shown = table::keys(Scope::Topic).values().filter(|key| !key.is_internal || overrides.contains_key(key.name));
    let unknown = overrides.keys().filter(|name| table::key(Scope::Topic, name).is_none());
    Ok(sorted(shown.map(entry).chain(unknown.map(|name| unknown_entry(name, ConfigSource::Topic))).collect()))
}

/// All keys of a group with these values of its own, by name. An error if one of them is not valid.
pub fn describe_group(config: &DynamicBrokerConfig, overrides: &ConfigMap) -> Result<Vec<DescribedConfig>, InvalidConfig> {
    let mut described = Vec::new();
    for key in table::keys(Scope::Group).values() {
        let broker_key = key.synonyms.first().copied();
        let is_set = overrides.contains_key(key.name) || broker_key.is_some_and(|name| config.current().originals().contains_key(name));
        if key.is_internal && !is_set {
            continue;
        }
        let synonyms = match broker_key {
            Some(broker_key) => broker_synonyms(config, broker_key),
            None => default_synonym(key),
        };
        let value = match overrides.get(key.name) {
            Some(text) => Some(key.parse(text).map_err(|message| InvalidConfig::Value { key: key.name, message })?),
            None => broker_key.and_then(|name| config.current().values().get(name)).or_else(|| key.default_value()).cloned(),
        };
        // The broker's key lists assignors; a group has the first.
        let value = match value {
            Some(ConfigValue::List(items)) if key.kind == ConfigType::String => items.into_iter().next().map(ConfigValue::String),
            value => value,
        };
        described.push(own_entry(key, value.as_ref(), ConfigSource::Group, overrides, synonyms));
    }
    described.extend(
        overrides.keys().filter(|name| table::key(Scope::Group, name).is_none()).map(|name| unknown_entry(name, ConfigSource::Group)),
    );
    Ok(sorted(described))
}

/// All keys of a client metrics subscription, by name. An error if a value is not valid.
pub fn describe_client_metrics(values: &ConfigMap) -> Result<Vec<DescribedConfig>, InvalidConfig> {
    let entry = |key: &'static ConfigKey| {
        let value = match values.get(key.name) {
            Some(text) => Some(key.parse(text).map_err(|message| InvalidConfig::Value { key: key.name, message })?),
            None => key.default_value().cloned(),
        };
        Ok(own_entry(key, value.as_ref(), ConfigSource::ClientMetrics, values, Vec::new()))
    };
    table::keys(Scope::ClientMetrics).values().map(entry).collect()
}

fn sorted(mut described: Vec<DescribedConfig>) -> Vec<DescribedConfig> {
    described.sort_by(|one, other| one.name.cmp(&other.name));
    described
}

/// An entry of a resource that can set its own values.
fn own_entry(
    key: &'static ConfigKey,
    value: Option<&ConfigValue>,
    own_source: ConfigSource,
    overrides: &ConfigMap,
    broker_synonyms: Vec<ConfigSynonym>,
) -> DescribedConfig {
    let is_sensitive = key.kind == ConfigType::Password;
    let value = value.filter(|_| !is_sensitive).map(ToString::to_string);
    let mut synonyms = broker_synonyms;
    if overrides.contains_key(key.name) {
        synonyms.insert(0, ConfigSynonym { name: key.name.to_owned(), value: value.clone(), source: own_source });
    }
    DescribedConfig {
        name: key.name.to_owned(),
        value,
        source: synonyms.first().map_or(ConfigSource::Default, |synonym| synonym.source),
        read_only: false,
        is_sensitive,
        kind: Some(key.kind),
        synonyms,
        documentation: Some(key.documentation),
    }
}

fn unknown_entry(name: &str, source: ConfigSource) -> DescribedConfig {
    DescribedConfig {
        name: name.to_owned(),
        value: None,
        source,
        read_only: false,
        is_sensitive: true,
        kind: None,
        synonyms: vec![ConfigSynonym { name: name.to_owned(), value: None, source }],
        documentation: None,
    }
}

fn default_synonym(key: &ConfigKey) -> Vec<ConfigSynonym> {
    let synonym =
        |value: &ConfigValue| ConfigSynonym { name: key.name.to_owned(), value: Some(value.to_string()), source: ConfigSource::Default };
    key.default_value().map(synonym).into_iter().collect()
}

fn broker_entry(config: &DynamicBrokerConfig, name: &str, value: Option<String>, is_per_broker: bool) -> DescribedConfig {
    let kind = broker_kind(name);
    let is_sensitive = kind.is_none_or(|kind| kind == ConfigType::Password);
    let mut synonyms = broker_synonyms(config, name);
    synonyms.retain(|synonym| is_per_broker || synonym.source == ConfigSource::DynamicDefaultBroker);
    DescribedConfig {
        name: name.to_owned(),
        value: value.filter(|_| !is_sensitive),
        source: synonyms.first().map_or(ConfigSource::Default, |synonym| synonym.source),
        read_only: dynamic::dynamic_key(name).is_none(),
        is_sensitive,
        kind,
        synonyms,
        documentation: table::key(Scope::Broker, name).map(|key| key.documentation),
    }
}

/// The type of a broker's key, or of the key that a listener's key stands for.
fn broker_kind(name: &str) -> Option<ConfigType> {
    let mut names = std::iter::once(name).chain(dynamic::broker_synonyms(name));
    names.find_map(|name| table::key(Scope::Broker, name)).map(|key| key.kind)
}

/// All that is set for a broker's key, under any of its names, beginning with the key's own name.
fn broker_synonyms(config: &DynamicBrokerConfig, name: &str) -> Vec<ConfigSynonym> {
    let is_sensitive = broker_kind(name).is_none_or(|kind| kind == ConfigType::Password);
    let names = dynamic::broker_synonyms(name);
    let mut synonyms = Vec::new();
    let layers = [
        (config.broker_values(), ConfigSource::DynamicBroker),
        (config.cluster_values(), ConfigSource::DynamicDefaultBroker),
        (config.static_config().originals(), ConfigSource::StaticBroker),
    ];
    for (layer, source) in layers {
        let set = names.iter().filter_map(|name| layer.get_key_value(*name));
        synonyms.extend(set.map(|(name, value)| ConfigSynonym {
            name: name.clone(),
            value: (!is_sensitive).then(|| value.clone()),
            source,
        }));
    }
    let keys = names.iter().filter_map(|name| table::key(Scope::Broker, name)).filter(|key| !key.is_dynamic_only);
    synonyms.extend(keys.flat_map(default_synonym));
    let first = synonyms.iter().position(|synonym| synonym.name == name).unwrap_or(synonyms.len());
    synonyms.drain(..first);
    synonyms
}
