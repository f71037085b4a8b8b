//! What applies to a topic as the controller answers it to CreateTopics (`KafkaConfigSchema.resolveEffectiveTopicConfig`). Unlike
//! DescribeConfigs it does not read values: it passes their text on.

use crate::broker_config::BrokerConfig;
use crate::broker_values::ConfigMap;
use crate::describe::ConfigSource;
use crate::key::{ConfigKey, Scope};
use crate::table;
use crate::topic_config::unit_ms;
use crate::value::ConfigType;

/// The values set at run time that decide what applies to a topic.
#[derive(Clone, Copy, Debug)]
pub struct TopicLayers<'a> {
    /// On the topic.
    pub topic: &'a ConfigMap,
    /// On this node.
    pub node: &'a ConfigMap,
    /// On all nodes.
    pub cluster: &'a ConfigMap,
}

/// A topic's key with the value that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveTopicConfig {
    /// The key.
    pub name: &'static str,
    /// The text of the value; `None` where the default is null.
    pub value: Option<String>,
    /// Where it is set.
    pub source: ConfigSource,
    /// Whether clients must not see it.
    pub is_sensitive: bool,
}

/// What applies for each key that is shown to clients, by name. Internal keys are shown if the topic sets them.
pub fn effective_topic_configs(node: &BrokerConfig, layers: TopicLayers<'_>) -> Vec<EffectiveTopicConfig> {
    let shown = table::keys(Scope::Topic).values().filter(|key| !key.is_internal || layers.topic.contains_key(key.name));
    shown.map(|key| effective(node, key, layers)).collect()
}

/// What applies for one key; `None` for an unknown key.
pub fn effective_topic_config(node: &BrokerConfig, name: &str, layers: TopicLayers<'_>) -> Option<EffectiveTopicConfig> {
    table::key(Scope::Topic, name).map(|key| effective(node, key, layers))
}

/// `min.insync.replicas` as it was before the start, or its default.
pub fn static_min_insync_replicas(node: &BrokerConfig) -> i32 {
    node.topic_defaults.min_insync_replicas
}

fn effective(node: &BrokerConfig, key: &'static ConfigKey, layers: TopicLayers<'_>) -> EffectiveTopicConfig {
    let found = |value: String, source: ConfigSource| EffectiveTopicConfig {
        name: key.name,
        value: Some(value),
        source,
        is_sensitive: key.kind == ConfigType::Password,
    };
    if let Some(value) = layers.topic.get(key.name) {
        return found(value.clone(), ConfigSource::Topic);
    }
    let broker_layers = [
        (layers.node, ConfigSource::DynamicBroker),
        (layers.cluster, ConfigSource::DynamicDefaultBroker),
        (node.originals(), ConfigSource::StaticBroker),
    ];
    for (values, source) in broker_layers {
        if let Some((synonym, value)) = key.synonyms.iter().find_map(|synonym| Some((synonym, values.get(*synonym)?))) {
            return found(in_topic_unit(synonym, value), source);
        }
    }
    let value = key.default_value().map(ToString::to_string);
    EffectiveTopicConfig { name: key.name, value, source: ConfigSource::Default, is_sensitive: key.kind == ConfigType::Password }
}

/// Hours and minutes become milliseconds; what is no number counts as 0 then, as in Kafka.
fn in_topic_unit(broker_key: &str, value: &str) -> String {
    match unit_ms(broker_key) {
        1 => value.to_owned(),
        unit_ms => (value.trim().parse::<i32>().map_or(0, i64::from) * unit_ms).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> ConfigMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_strongest_layer_counts_and_units_are_the_topics() {
        let mut originals = map(&[
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.voters", "1@localhost:9093"),
        ]);
        originals.extend(map(&[("log.retention.hours", "2"), ("log.roll.hours", "3"), ("min.insync.replicas", "2")]));
        let node = BrokerConfig::new(originals).unwrap();
        let layers = TopicLayers {
            topic: &map(&[("cleanup.policy", "compact")]),
            node: &map(&[("log.retention.ms", "5")]),
            cluster: &map(&[("log.retention.ms", "6"), ("message.max.bytes", "7")]),
        };
        let check = |name: &str, value: Option<&str>, source: ConfigSource| {
            let found = effective_topic_config(&node, name, layers).unwrap();
            assert_eq!((found.value.as_deref(), found.source), (value, source), "{name}");
        };
        check("cleanup.policy", Some("compact"), ConfigSource::Topic);
        check("retention.ms", Some("5"), ConfigSource::DynamicBroker);
        check("max.message.bytes", Some("7"), ConfigSource::DynamicDefaultBroker);
        check("segment.ms", Some("10800000"), ConfigSource::StaticBroker);
        check("segment.bytes", Some("1073741824"), ConfigSource::Default);
        check("internal.segment.bytes", None, ConfigSource::Default);
        assert_eq!(effective_topic_config(&node, "nope", layers), None);
        assert_eq!(effective_topic_configs(&node, layers).len(), 37);
        assert_eq!(static_min_insync_replicas(&node), 2);
    }
}
