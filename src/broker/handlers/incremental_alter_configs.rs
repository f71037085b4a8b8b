//! IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single keys (KIP-339).

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::incremental_alter_configs_request::IncrementalAlterConfigsRequest;
use ottla_protocol::messages::incremental_alter_configs_response::{AlterConfigsResourceResponse, IncrementalAlterConfigsResponse};

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::config_checks::ConfigChecks;
use crate::request::RequestContext;

/// The API.
pub struct IncrementalAlterConfigs;

impl Handler for IncrementalAlterConfigs {
    type Request = IncrementalAlterConfigsRequest;
    const KEY: ApiKey = ApiKey::IncrementalAlterConfigs;
    const RIGHTS: Rights = Rights::ByResource;
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: IncrementalAlterConfigsRequest) {
        let asked = request.clone();
        let checks = ConfigChecks::of(broker);
        broker.forward(
            context,
            move |controller, _| checks.apply(|checks| controller.incremental_alter_configs(&request, checks)),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &IncrementalAlterConfigsRequest, error: &ApiError) -> IncrementalAlterConfigsResponse {
    let responses = request.resources.iter().map(|resource| AlterConfigsResourceResponse {
        error_code: error.error.code(),
        error_message: error.message.clone(),
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..AlterConfigsResourceResponse::default()
    });
    IncrementalAlterConfigsResponse { responses: responses.collect(), ..IncrementalAlterConfigsResponse::default() }
}
