//! All configuration keys of Kafka 4.4, from the tables in `keys/`. This is the only place that reads them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::key::{ConfigKey, Scope};

/// The keys of one scope, by name.
pub type KeyTable = BTreeMap<&'static str, ConfigKey>;

static BROKER: LazyLock<KeyTable> = LazyLock::new(|| read(include_str!("keys/broker.tsv")));
static TOPIC: LazyLock<KeyTable> = LazyLock::new(|| read(include_str!("keys/topic.tsv")));
static GROUP: LazyLock<KeyTable> = LazyLock::new(|| read(include_str!("keys/group.tsv")));
static CLIENT_METRICS: LazyLock<KeyTable> = LazyLock::new(|| read(include_str!("keys/client_metrics.tsv")));

/// The keys of a scope.
pub fn keys(scope: Scope) -> &'static KeyTable {
    match scope {
        Scope::Broker => &BROKER,
        Scope::Topic => &TOPIC,
        Scope::Group => &GROUP,
        Scope::ClientMetrics => &CLIENT_METRICS,
    }
}

/// The definition of a key.
pub fn key(scope: Scope, name: &str) -> Option<&'static ConfigKey> {
    keys(scope).get(name)
}

fn read(table: &'static str) -> KeyTable {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let key = ConfigKey::from_line(line).unwrap_or_else(|| panic!("a bad line in a table of keys: {line}"));
            (key.name, key)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyDefault;

    fn count(scope: Scope, of: impl Fn(&ConfigKey) -> bool) -> usize {
        keys(scope).values().filter(|key| of(key)).count()
    }

    #[test]
    fn as_many_keys_as_kafka_shows() {
        assert_eq!(count(Scope::Broker, |key| !key.is_internal && !key.is_dynamic_only), 350);
        assert_eq!(count(Scope::Broker, |key| key.is_dynamic_only), 3);
        assert_eq!(count(Scope::Broker, |key| key.is_internal), 29);
        assert_eq!(count(Scope::Topic, |key| !key.is_internal), 37);
        assert_eq!(count(Scope::Group, |key| !key.is_internal), 21);
        assert_eq!(count(Scope::ClientMetrics, |key| !key.is_internal), 3);
    }

    #[test]
    fn defaults_are_valid_and_every_key_is_documented() {
        for scope in [Scope::Broker, Scope::Topic, Scope::Group, Scope::ClientMetrics] {
            for key in keys(scope).values() {
                if let KeyDefault::Value(value) = &key.default {
                    assert_eq!(key.validator.check(key.name, value), Ok(()), "{}", key.name);
                }
                assert!(key.documentation.len() > 10 && key.documentation.ends_with('.'), "{} is not documented", key.name);
            }
        }
    }

    #[test]
    fn synonyms_are_keys_of_brokers() {
        for scope in [Scope::Topic, Scope::Group] {
            for synonym in keys(scope).values().flat_map(|key| &key.synonyms) {
                assert!(key(Scope::Broker, synonym).is_some(), "{synonym}");
            }
        }
    }
}
