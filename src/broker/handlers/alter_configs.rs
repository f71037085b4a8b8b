//! AlterConfigs: replaces all of a resource's configuration. Superseded by IncrementalAlterConfigs, and still in use.

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::alter_configs_request::AlterConfigsRequest;
use ottla_protocol::messages::alter_configs_response::{AlterConfigsResourceResponse, AlterConfigsResponse};

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::config_checks::ConfigChecks;
use crate::request::RequestContext;

/// The API.
pub struct AlterConfigs;

impl Handler for AlterConfigs {
    type Request = AlterConfigsRequest;
    const KEY: ApiKey = ApiKey::AlterConfigs;
    const RIGHTS: Rights = Rights::ByResource;
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: AlterConfigsRequest) {
        let asked = request.clone();
        let checks = ConfigChecks::of(broker);
        broker.forward(
            context,
            move |controller, _| checks.apply(|checks| controller.alter_configs(&request, checks)),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &AlterConfigsRequest, error: &ApiError) -> AlterConfigsResponse {
    let responses = request.resources.iter().map(|resource| AlterConfigsResourceResponse {
        error_code: error.error.code(),
        error_message: error.message.clone(),
        resource_type: resource.resource_type,
        resource_name: resource.resource_name.clone(),
        ..AlterConfigsResourceResponse::default()
    });
    AlterConfigsResponse { responses: responses.collect(), ..AlterConfigsResponse::default() }
}
