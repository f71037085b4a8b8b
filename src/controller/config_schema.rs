//! What the controller asks of the configuration keys. It stores values and does not know what they mean: that is known where the keys
//! are defined.

use ottla_metadata::{ConfigResource, ConfigResourceType, ConfigurationImage};

use crate::api_error::ApiError;

/// Where a value that applies to a topic is from, with the numbers of `DescribeConfigsResponse.ConfigSource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigSource {
    /// Set on the topic.
    DynamicTopic = 1,
    /// Set on the broker at run time.
    DynamicBroker = 2,
    /// Set as the cluster-wide default at run time.
    DynamicDefaultBroker = 3,
    /// Set in the broker's file.
    StaticBroker = 4,
    /// The key's default.
    Default = 5,
}

/// A topic's key with the value that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// The topic key.
    pub name: String,
    /// The value that applies; `None` where the default is null.
    pub value: Option<String>,
    /// Where it is from.
    pub source: ConfigSource,
    /// Whether clients must not see the value.
    pub is_sensitive: bool,
}

/// The dynamic values that decide what applies to a topic; the static ones are known to the schema.
#[derive(Clone, Copy, Debug)]
pub struct ConfigLayers<'a> {
    /// Set on the topic.
    pub topic: &'a ConfigurationImage,
    /// Set on this node.
    pub node: &'a ConfigurationImage,
    /// Set as the cluster-wide default.
    pub cluster: &'a ConfigurationImage,
}

/// The keys of all resources, and this node's static configuration (`KafkaConfigSchema`, `ControllerConfigurationValidator`).
pub trait ConfigSchema: Send + Sync {
    /// Checks the name of a resource, and all the values that it would have; `existing` are those it has.
    fn validate(&self, resource: &ConfigResource, configs: &ConfigurationImage, existing: &ConfigurationImage) -> Result<(), ApiError>;

    /// Whether the key's value is a list, so that items can be appended and subtracted; `None` for an unknown key.
    fn is_list(&self, resource_type: ConfigResourceType, key: &str) -> Option<bool>;

    /// The key's default, if it has one that is not null.
    fn default_value(&self, resource_type: ConfigResourceType, key: &str) -> Option<String>;

    /// What applies to a topic for each key that clients are shown, in the order of their names.
    fn effective_topic_configs(&self, layers: ConfigLayers<'_>) -> Vec<EffectiveConfig>;

    /// What applies to a topic for one key; `None` for an unknown key.
    fn effective_topic_config(&self, key: &str, layers: ConfigLayers<'_>) -> Option<EffectiveConfig>;

    /// `min.insync.replicas` of this node's file, or its default.
    fn static_min_insync_replicas(&self) -> i32;
}
