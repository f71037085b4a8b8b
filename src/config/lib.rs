//! Configuration: every key of Kafka 4.4 with its meaning, and what follows from that: reading files, the typed configuration of nodes
//! and topics, what DescribeConfigs answers and what AlterConfigs accepts.
//!
//! Owns the tables of keys. Opens no file, reads no environment, and does not know what brokers and logs do with the values.

mod address;
mod broker_config;
mod broker_rules;
mod broker_values;
mod duration;
mod invalid;
mod key;
mod listener;
mod listener_key;
mod load;
mod properties;
mod source;
mod table;
mod topic_config;
mod validator;
mod value;

pub use address::{HostPort, QuorumVoter};
pub use broker_config::{BrokerConfig, ProcessRoles};
pub use broker_values::{BrokerValues, ConfigMap};
pub use duration::parse_iso_duration_ms;
pub use invalid::InvalidConfig;
pub use key::{ConfigKey, Default, Importance, Scope, UpdateMode};
pub use listener::{Listener, ProtocolMap, SecurityProtocol, is_loopback};
pub use load::{ConfigFile, ConfigSources, ConfigWarning, FileFormat, LoadError, LoadedConfig, load};
pub use properties::{PropertiesError, Property};
pub use source::{Origin, SourceError};
pub use table::{KeyTable, key, keys};
pub use topic_config::{BrokerCompression, CleanupPolicy, TimestampType, TopicConfig};
pub use validator::Validator;
pub use value::{ConfigType, ConfigValue};
