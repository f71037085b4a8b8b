//! DescribeConfigs: the configuration of topics, brokers, groups and client metrics subscriptions, with where each value comes from
//! (KIP-133, KIP-226, KIP-569).

use std::sync::Arc;

use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_configs_request::DescribeConfigsRequest;
use ottla_protocol::messages::describe_configs_response::DescribeConfigsResponse;

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeConfigs;

impl Handler for DescribeConfigs {
    type Request = DescribeConfigsRequest;
    const KEY: ApiKey = ApiKey::DescribeConfigs;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeConfigsRequest) {
        let results = request.resources.iter().map(|resource| crate::config_helper::describe(broker, resource, &request)).collect();
        context.reply(&DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() });
    }
}
