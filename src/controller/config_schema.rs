//! What the controller asks of the configuration keys. It stores values and does not know what they mean: that is known where the keys
//! are defined.

use std::sync::Arc;

use ottla_config::{
    BrokerConfig, ConfigRejection, EffectiveTopicConfig, Scope, TopicLayers, check_client_metrics, check_group, check_topic, default_text,
    effective_topic_config, effective_topic_configs, is_list, key, static_min_insync_replicas,
};
use ottla_metadata::{ConfigResource, ConfigResourceType, ConfigurationImage};
use ottla_model::{ErrorCode, validate_topic_name};

use crate::api_error::ApiError;

/// The keys of all resources, and this node's static configuration (`KafkaConfigSchema`, `ControllerConfigurationValidator`).
pub trait ConfigSchema: Send + Sync {
    /// Checks the name of a resource, and all the values that it would have; `existing` are those it has.
    fn validate(&self, resource: &ConfigResource, configs: &ConfigurationImage, existing: &ConfigurationImage) -> Result<(), ApiError>;

    /// Whether the key's value is a list, so that items can be appended and subtracted; `None` for an unknown key.
    fn is_list(&self, resource_type: ConfigResourceType, key: &str) -> Option<bool>;

    /// The key's default, if it has one that is not null.
    fn default_value(&self, resource_type: ConfigResourceType, key: &str) -> Option<String>;

    /// What applies to a topic for each key that clients are shown, in the order of their names.
    fn effective_topic_configs(&self, layers: TopicLayers<'_>) -> Vec<EffectiveTopicConfig>;

    /// What applies to a topic for one key; `None` for an unknown key.
    fn effective_topic_config(&self, key: &str, layers: TopicLayers<'_>) -> Option<EffectiveTopicConfig>;

    /// `min.insync.replicas` of this node's file, or its default.
    fn static_min_insync_replicas(&self) -> i32;
}

/// Kafka's keys, and the configuration that this node was started with.
#[derive(Clone, Debug)]
pub struct KafkaConfigSchema {
    node: Arc<BrokerConfig>,
}

impl KafkaConfigSchema {
    /// The schema of a node with this configuration.
    pub fn new(node: Arc<BrokerConfig>) -> KafkaConfigSchema {
        KafkaConfigSchema { node }
    }
}

/// The resources whose keys Kafka's controller knows the types of.
fn scope(resource_type: ConfigResourceType) -> Option<Scope> {
    match resource_type {
        ConfigResourceType::Topic => Some(Scope::Topic),
        ConfigResourceType::Broker => Some(Scope::Broker),
        ConfigResourceType::Group => Some(Scope::Group),
        ConfigResourceType::ClientMetrics => Some(Scope::ClientMetrics),
        ConfigResourceType::BrokerLogger | ConfigResourceType::Unknown => None,
    }
}

fn rejected(rejection: ConfigRejection) -> ApiError {
    ApiError::new(rejection.error, rejection.message)
}

fn validate_topic(name: &str) -> Result<(), ApiError> {
    if name.is_empty() {
        return Err(ApiError::invalid_request("Default topic resources are not allowed."));
    }
    validate_topic_name(name).map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string()))
}

/// The empty name is the default of all brokers.
fn validate_broker(name: &str) -> Result<(), ApiError> {
    match name.parse::<i32>() {
        Ok(id) if id < 0 => Err(ApiError::invalid_request("Invalid negative broker ID.")),
        Err(_) if !name.is_empty() => Err(ApiError::invalid_request("Unable to parse broker name as a base 10 number.")),
        Ok(_) | Err(_) => Ok(()),
    }
}

impl ConfigSchema for KafkaConfigSchema {
    fn validate(&self, resource: &ConfigResource, configs: &ConfigurationImage, existing: &ConfigurationImage) -> Result<(), ApiError> {
        let name = &resource.name;
        match resource.resource_type {
            ConfigResourceType::Topic => {
                validate_topic(name)?;
                check_topic(&self.node, configs, existing).map_err(rejected)
            }
            ConfigResourceType::Broker => validate_broker(name),
            ConfigResourceType::ClientMetrics => check_client_metrics(name, configs).map_err(rejected),
            ConfigResourceType::Group if name.is_empty() => Err(ApiError::invalid_request("Default group resources are not allowed.")),
            ConfigResourceType::Group => check_group(&self.node, configs).map_err(rejected),
            ConfigResourceType::BrokerLogger | ConfigResourceType::Unknown => {
                Err(ApiError::invalid_request(format!("Unknown resource type {}", resource.resource_type)))
            }
        }
    }

    fn is_list(&self, resource_type: ConfigResourceType, name: &str) -> Option<bool> {
        let scope = scope(resource_type)?;
        key(scope, name).map(|_| is_list(scope, name))
    }

    fn default_value(&self, resource_type: ConfigResourceType, name: &str) -> Option<String> {
        default_text(scope(resource_type)?, name)
    }

    fn effective_topic_configs(&self, layers: TopicLayers<'_>) -> Vec<EffectiveTopicConfig> {
        effective_topic_configs(&self.node, layers)
    }

    fn effective_topic_config(&self, name: &str, layers: TopicLayers<'_>) -> Option<EffectiveTopicConfig> {
        effective_topic_config(&self.node, name, layers)
    }

    fn static_min_insync_replicas(&self) -> i32 {
        static_min_insync_replicas(&self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> KafkaConfigSchema {
        let originals = [
            ("process.roles", "broker,controller"),
            ("node.id", "1"),
            ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093"),
            ("controller.listener.names", "CONTROLLER"),
            ("controller.quorum.voters", "1@localhost:9093"),
            ("min.insync.replicas", "2"),
        ];
        let originals = originals.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        KafkaConfigSchema::new(Arc::new(BrokerConfig::new(originals).unwrap()))
    }

    #[test]
    fn resources_have_names_and_values() {
        let check = |resource_type, name: &str, values: &[(&str, &str)], expected: Result<(), (ErrorCode, &str)>| {
            let configs = values.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let outcome = schema().validate(&ConfigResource::new(resource_type, name), &configs, &ConfigurationImage::new());
            let outcome = outcome.map_err(|error| (error.error, error.message.unwrap_or_default()));
            assert_eq!(outcome, expected.map_err(|(error, message)| (error, message.to_owned())), "{name}");
        };
        use ConfigResourceType::*;
        check(Topic, "foo", &[("retention.ms", "1")], Ok(()));
        check(Topic, "foo", &[("nope", "1")], Err((ErrorCode::InvalidConfig, "Unknown topic config name: nope")));
        check(
            Topic,
            "foo",
            &[("retention.ms", "x")],
            Err((ErrorCode::InvalidConfig, "Invalid value x for configuration retention.ms: Not a number of type LONG")),
        );
        check(Topic, "", &[], Err((ErrorCode::InvalidRequest, "Default topic resources are not allowed.")));
        check(Topic, ".", &[], Err((ErrorCode::InvalidTopicException, "Topic name is invalid: '.' is not allowed")));
        check(Broker, "", &[("anything", "goes")], Ok(()));
        check(Broker, "1", &[], Ok(()));
        check(Broker, "-1", &[], Err((ErrorCode::InvalidRequest, "Invalid negative broker ID.")));
        check(Broker, "x", &[], Err((ErrorCode::InvalidRequest, "Unable to parse broker name as a base 10 number.")));
        check(Group, "", &[], Err((ErrorCode::InvalidRequest, "Default group resources are not allowed.")));
        check(ClientMetrics, "", &[], Err((ErrorCode::InvalidRequest, "Subscription name can't be empty")));
        check(BrokerLogger, "1", &[], Err((ErrorCode::InvalidRequest, "Unknown resource type BROKER_LOGGER")));
    }

    #[test]
    fn lists_are_known() {
        let is_list = |resource_type, key| schema().is_list(resource_type, key);
        assert_eq!(is_list(ConfigResourceType::Topic, "cleanup.policy"), Some(true));
        assert_eq!(is_list(ConfigResourceType::Topic, "retention.ms"), Some(false));
        assert_eq!(is_list(ConfigResourceType::Broker, "nope"), None);
        assert_eq!(schema().default_value(ConfigResourceType::Topic, "cleanup.policy").as_deref(), Some("delete"));
        assert_eq!(schema().static_min_insync_replicas(), 2);
    }
}
