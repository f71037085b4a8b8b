//! ListConfigResources: what has a configuration (KIP-1142); in version 0, only client metrics subscriptions (KIP-1000).

use std::sync::Arc;

use ottla_metadata::{ConfigResourceType, MetadataImage};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_config_resources_request::ListConfigResourcesRequest;
use ottla_protocol::messages::list_config_resources_response::{ConfigResource, ListConfigResourcesResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::endpoints;
use crate::request::RequestContext;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

/// The API.
pub struct ListConfigResources;

impl Handler for ListConfigResources {
    type Request = ListConfigResourcesRequest;
    const KEY: ApiKey = ApiKey::ListConfigResources;
    const RIGHTS: Rights = Rights::Cluster(Operation::DescribeConfigs);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListConfigResourcesRequest) {
        let supported: &[i8] =
            if context.api_version == 0 { &[CLIENT_METRICS] } else { &[GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC] };
        if request.resource_types.iter().any(|wanted| !supported.contains(wanted)) {
            let error_code = ErrorCode::UnsupportedVersion.code();
            return context.reply(&ListConfigResourcesResponse { error_code, ..ListConfigResourcesResponse::default() });
        }
        let image = broker.image();
        let listener = &context.connection.info.listener;
        let is_wanted = |kind: &&i8| request.resource_types.is_empty() || request.resource_types.contains(kind);
        let resources = supported.iter().filter(is_wanted).flat_map(|&kind| {
            names(&image, listener, kind).into_iter().map(move |resource_name| ConfigResource {
                resource_name,
                resource_type: kind,
                ..ConfigResource::default()
            })
        });
        let config_resources = resources.collect();
        context.reply(&ListConfigResourcesResponse { config_resources, ..ListConfigResourcesResponse::default() });
    }
}

fn names(image: &MetadataImage, listener: &str, kind: i8) -> Vec<String> {
    let with_configs = |kind| {
        let resources = image.configs.iter().map(|(resource, _)| resource).filter(|resource| resource.resource_type == kind);
        resources.map(|resource| resource.name.clone()).collect()
    };
    match kind {
        GROUP => with_configs(ConfigResourceType::Group),
        CLIENT_METRICS => with_configs(ConfigResourceType::ClientMetrics),
        BROKER | BROKER_LOGGER => {
            image.cluster.brokers().filter_map(|broker| endpoints::broker(broker, listener)).map(|node| node.id.to_string()).collect()
        }
        TOPIC => image.topics.iter().map(|topic| topic.name.to_string()).collect(),
        other => unreachable!("{other} is not among the supported types"),
    }
}
