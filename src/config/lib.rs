//! Configuration: every key of Kafka 4.4 with its meaning, and what follows from that: reading files, the typed configuration of nodes
//! and topics, what DescribeConfigs answers and what AlterConfigs accepts.
//!
//! Owns the tables of keys. Opens no file, reads no environment, and does not know what brokers and logs do with the values.

mod address;
mod broker_change;
mod broker_config;
mod broker_rules;
mod broker_values;
mod describe;
mod duration;
mod dynamic;
mod effective;
mod invalid;
mod key;
mod listener;
mod listener_key;
mod lists;
mod load;
mod properties;
mod reference;
mod rejection;
mod resource_rules;
mod source;
mod table;
mod topic_config;
mod validator;
mod value;

pub use address::{HostPort, QuorumVoter};
pub use broker_config::{BrokerConfig, ProcessRoles};
pub use broker_values::{BrokerValues, ConfigMap};
pub use describe::{
    ConfigSource, ConfigSynonym, DescribedConfig, describe_broker, describe_client_metrics, describe_cluster_defaults, describe_group,
    describe_topic,
};
pub use dynamic::{ConfigLevel, DynamicBrokerConfig};
pub use effective::{EffectiveTopicConfig, TopicLayers, effective_topic_config, effective_topic_configs, static_min_insync_replicas};
pub use invalid::InvalidConfig;
pub use key::{ConfigKey, Importance, KeyDefault, Scope, UpdateMode};
pub use listener::{Listener, ProtocolMap, SecurityProtocol};
pub use lists::{default_text, is_list};
pub use load::{ConfigFile, ConfigSources, ConfigWarning, FileFormat, LoadError, LoadedConfig, load};
pub use properties::{PropertiesError, Property};
pub use reference::reference;
pub use rejection::ConfigRejection;
pub use resource_rules::{check_client_metrics, check_group, check_topic};
pub use source::{Origin, SourceError};
pub use table::{KeyTable, key, keys};
pub use topic_config::{BrokerCompression, CleanupPolicy, TimestampType, TopicConfig};
pub use validator::Validator;
pub use value::{ConfigType, ConfigValue};
