//! DescribeConfigs: the configuration of topics, brokers, groups and client metrics subscriptions, with where each value comes from
//! (KIP-133, KIP-226, KIP-569; `ConfigHelper`).

use std::sync::Arc;

use ottla_config::{
    ConfigMap, ConfigSource, DescribedConfig, describe_broker, describe_client_metrics, describe_cluster_defaults, describe_group,
    describe_topic,
};
use ottla_controller::ApiError;
use ottla_metadata::{ConfigResource, ConfigResourceType, MetadataImage};
use ottla_model::{ErrorCode, validate_topic_name};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_configs_request::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym,
};

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::config_checks::check_node_id;
use crate::request::RequestContext;

/// The API.
pub struct DescribeConfigs;

impl Handler for DescribeConfigs {
    type Request = DescribeConfigsRequest;
    const KEY: ApiKey = ApiKey::DescribeConfigs;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeConfigsRequest) {
        let unknown =
            |resource: &DescribeConfigsResource| ConfigResourceType::from_id(resource.resource_type) == ConfigResourceType::Unknown;
        let results = if request.resources.iter().any(unknown) {
            // One resource of an unknown type fails the whole request, which then says no more than its code.
            let error = ErrorCode::InvalidRequest;
            request.resources.iter().map(|resource| failed(resource, ApiError::new(error, error.message()))).collect()
        } else {
            let image = broker.image();
            request.resources.iter().map(|resource| answer(broker, &image, &request, resource)).collect()
        };
        context.reply(&DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() });
    }
}

fn answer(
    broker: &Broker,
    image: &MetadataImage,
    request: &DescribeConfigsRequest,
    resource: &DescribeConfigsResource,
) -> DescribeConfigsResult {
    let described = match describe(broker, image, resource) {
        Ok(described) => described,
        Err(error) => return failed(resource, error),
    };
    // No keys, or an empty list of them, asks for all.
    let keys = resource.configuration_keys.as_deref().filter(|keys| !keys.is_empty());
    let is_wanted = |config: &DescribedConfig| keys.is_none_or(|keys| keys.contains(&config.name));
    DescribeConfigsResult {
        error_message: Some(String::new()),
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        configs: described.into_iter().filter(is_wanted).map(|config| entry(request, config)).collect(),
        ..DescribeConfigsResult::default()
    }
}

fn describe(broker: &Broker, image: &MetadataImage, resource: &DescribeConfigsResource) -> Result<Vec<DescribedConfig>, ApiError> {
    let config = broker.dynamic_config();
    let name = resource.resource_name.as_str();
    let own_values =
        |resource: ConfigResource| -> ConfigMap { image.configs.resource(&resource).map(|values| (**values).clone()).unwrap_or_default() };
    let described = match ConfigResourceType::from_id(resource.resource_type) {
        ConfigResourceType::Topic => {
            validate_topic_name(name).map_err(|error| ApiError::new(ErrorCode::InvalidTopicException, error.to_string()))?;
            if image.topics.by_name(name).is_none() {
                return Err(ApiError::new(ErrorCode::UnknownTopicOrPartition, ""));
            }
            describe_topic(&config, &own_values(ConfigResource::topic(name)))
        }
        ConfigResourceType::Broker if name.is_empty() => Ok(describe_cluster_defaults(&config)),
        ConfigResourceType::Broker => {
            check_broker_id(broker, name)?;
            Ok(describe_broker(&config))
        }
        ConfigResourceType::BrokerLogger if name.is_empty() => return Err(ApiError::invalid_request("Broker id must not be empty")),
        ConfigResourceType::BrokerLogger => {
            check_node_id(broker.node_id(), name)?;
            Ok(broker.environment().loggers.levels().into_iter().map(|(logger, level)| described_logger(logger, level)).collect())
        }
        ConfigResourceType::ClientMetrics if name.is_empty() => {
            return Err(ApiError::invalid_request("Client metrics subscription name must not be empty"));
        }
        ConfigResourceType::ClientMetrics => {
            describe_client_metrics(&own_values(ConfigResource::new(ConfigResourceType::ClientMetrics, name)))
        }
        ConfigResourceType::Group if name.is_empty() => return Err(ApiError::invalid_request("Group name must not be empty")),
        ConfigResourceType::Group => describe_group(&config, &own_values(ConfigResource::new(ConfigResourceType::Group, name))),
        ConfigResourceType::Unknown => unreachable!("unknown types fail the whole request"),
    };
    described.map_err(|error| ApiError::new(ErrorCode::InvalidConfig, error.reason()))
}

fn described_logger(name: String, level: String) -> DescribedConfig {
    DescribedConfig {
        name,
        value: Some(level),
        source: ConfigSource::DynamicBrokerLogger,
        read_only: false,
        is_sensitive: false,
        kind: None,
        synonyms: Vec::new(),
        documentation: None,
    }
}

fn check_broker_id(broker: &Broker, name: &str) -> Result<(), ApiError> {
    let node_id = broker.node_id();
    let id: i32 = name.parse().map_err(|_| ApiError::invalid_request(format!("Broker id must be an integer, but it is: {name}")))?;
    if id == node_id.0 {
        return Ok(());
    }
    Err(ApiError::invalid_request(format!("Unexpected broker id, expected {node_id} or empty string, but received {name}")))
}

fn entry(request: &DescribeConfigsRequest, config: DescribedConfig) -> DescribeConfigsResourceResult {
    let synonyms = config.synonyms.into_iter().filter(|_| request.include_synonyms).map(|synonym| DescribeConfigsSynonym {
        name: synonym.name,
        value: synonym.value,
        source: synonym.source.id(),
        ..DescribeConfigsSynonym::default()
    });
    DescribeConfigsResourceResult {
        name: config.name,
        value: config.value,
        read_only: config.read_only,
        config_source: config.source.id(),
        is_sensitive: config.is_sensitive,
        synonyms: synonyms.collect(),
        config_type: config.kind.map_or(0, |kind| kind.id()),
        documentation: config.documentation.filter(|_| request.include_documentation).map(str::to_owned),
        ..DescribeConfigsResourceResult::default()
    }
}

fn failed(resource: &DescribeConfigsResource, error: ApiError) -> DescribeConfigsResult {
    DescribeConfigsResult {
        error_code: error.error.code(),
        error_message: error.message,
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..DescribeConfigsResult::default()
    }
}
