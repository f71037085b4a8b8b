//! The definition of one configuration key, as a line of a table gives it. Everything else about keys derives from this.

use crate::validator::Validator;
use crate::value::{ConfigType, ConfigValue};

/// What a key configures: the resource types of DescribeConfigs that have keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A node.
    Broker,
    /// A topic.
    Topic,
    /// A group.
    Group,
    /// A subscription to client metrics (KIP-714).
    ClientMetrics,
}

/// How much a key matters to most users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Worth knowing before the first start.
    High,
    /// For tuning.
    Medium,
    /// Rarely touched.
    Low,
}

/// Whether a broker's key can be changed while it runs (`DynamicBrokerConfig.dynamicConfigUpdateModes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Only by a restart.
    ReadOnly,
    /// For one broker, not for the whole cluster.
    PerBroker,
    /// For one broker, or as a default of all.
    ClusterWide,
}

/// What applies when a key is not set.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyDefault {
    /// The key must be set.
    Required,
    /// No value.
    Null,
    /// This value.
    Value(ConfigValue),
}

/// A configuration key of Kafka 4.4.
#[derive(Clone, Debug)]
pub struct ConfigKey {
    /// Kafka's name.
    pub name: &'static str,
    /// The value's type.
    pub kind: ConfigType,
    /// What applies when it is not set.
    pub default: KeyDefault,
    /// What it accepts.
    pub validator: Validator,
    /// How much it matters.
    pub importance: Importance,
    /// Whether it can be changed at run time. Meant for brokers: the keys of other scopes always can.
    pub update_mode: UpdateMode,
    /// Kafka hides it from DescribeConfigs.
    pub is_internal: bool,
    /// It cannot stand in a file, only be set at run time.
    pub is_dynamic_only: bool,
    /// Whether Ottla does something with it.
    pub is_used: bool,
    /// The broker keys that give the value where a topic or group has none, the strongest first.
    pub synonyms: Vec<&'static str>,
    /// What it does.
    pub documentation: &'static str,
}

impl ConfigKey {
    /// Reads a line of a table. Tables are part of the program, so that a bad line is a bug that every test finds.
    pub(crate) fn from_line(line: &'static str) -> Option<ConfigKey> {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let [name, kind, default, validator, importance, update_mode, flags, synonyms, documentation] = columns[..] else { return None };
        let kind = ConfigType::from_name(kind)?;
        let has_flag = |flag: &str| flags.split(',').any(|present| present == flag);
        Some(ConfigKey {
            name,
            kind,
            default: match default {
                "required" => KeyDefault::Required,
                "null" => KeyDefault::Null,
                value => KeyDefault::Value(kind.parse(value.strip_prefix('=')?).ok()?),
            },
            validator: Validator::from_table(validator)?,
            importance: match importance {
                "high" => Importance::High,
                "medium" => Importance::Medium,
                "low" => Importance::Low,
                _ => return None,
            },
            update_mode: match update_mode {
                "read-only" => UpdateMode::ReadOnly,
                "per-broker" => UpdateMode::PerBroker,
                "cluster-wide" => UpdateMode::ClusterWide,
                _ => return None,
            },
            is_internal: has_flag("internal"),
            is_dynamic_only: has_flag("dynamic-only"),
            is_used: has_flag("used"),
            synonyms: synonyms.split(',').filter(|&synonym| synonym != "-").collect(),
            documentation,
        })
    }

    /// Reads and checks a value. The error is Kafka's message (`ConfigDef.parseValue`).
    pub fn parse(&self, text: &str) -> Result<ConfigValue, String> {
        let value = self.kind.parse(text).map_err(|why| format!("Invalid value {text} for configuration {}: {why}", self.name))?;
        let value = match value {
            ConfigValue::List(items) if self.validator.drops_duplicates() => ConfigValue::List(without_duplicates(items)),
            value => value,
        };
        self.validator.check(self.name, &value)?;
        Ok(value)
    }

    /// The default, if there is one that is not null.
    pub fn default_value(&self) -> Option<&ConfigValue> {
        match &self.default {
            KeyDefault::Value(value) => Some(value),
            KeyDefault::Required | KeyDefault::Null => None,
        }
    }

    /// What is accepted, for people: "a whole number below 2^31, at least 1".
    pub fn expectation(&self) -> String {
        let kind = match self.kind {
            ConfigType::Boolean => "true or false",
            ConfigType::String => "text",
            ConfigType::Int => "a whole number below 2^31",
            ConfigType::Short => "a whole number below 2^15",
            ConfigType::Long => "a whole number below 2^63",
            ConfigType::Double => "a number",
            ConfigType::List => "a list with commas",
            ConfigType::Class => "a class name",
            ConfigType::Password => "a secret",
        };
        format!("{kind}{}", self.validator)
    }
}

fn without_duplicates(items: Vec<String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}
