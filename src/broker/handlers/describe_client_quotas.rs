//! DescribeClientQuotas: the limits of users, client ids and addresses (KIP-546).

use std::sync::Arc;

use ottla_controller::describe_client_quotas;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_client_quotas_request::DescribeClientQuotasRequest;
use ottla_protocol::messages::describe_client_quotas_response::DescribeClientQuotasResponse;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeClientQuotas;

impl Handler for DescribeClientQuotas {
    type Request = DescribeClientQuotasRequest;
    const KEY: ApiKey = ApiKey::DescribeClientQuotas;
    const RIGHTS: Rights = Rights::Cluster(Operation::DescribeConfigs);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeClientQuotasRequest) {
        let response = match describe_client_quotas(&broker.image().client_quotas, &request) {
            Ok(response) => response,
            Err(failed) => DescribeClientQuotasResponse {
                error_code: failed.error.code(),
                error_message: failed.message,
                entries: None,
                ..DescribeClientQuotasResponse::default()
            },
        };
        context.reply(&response);
    }
}
