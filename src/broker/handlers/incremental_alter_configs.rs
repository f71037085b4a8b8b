//! IncrementalAlterConfigs: sets, deletes, appends to and subtracts from single keys (KIP-339).

use std::sync::Arc;

use ottla_controller::{AlterConfigsChecks, ApiError};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::incremental_alter_configs_request::IncrementalAlterConfigsRequest;
use ottla_protocol::messages::incremental_alter_configs_response::{AlterConfigsResourceResponse, IncrementalAlterConfigsResponse};

use crate::api::{Handler, QuotaClass, Rights};
use crate::broker::Broker;
use crate::config_checks;
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
        let (node_id, config) = (broker.node_id(), broker.dynamic_config());
        let loggers = broker.environment().loggers.clone();
        broker.forward(
            context,
            move |controller, _| {
                let checks = AlterConfigsChecks {
                    authorize: &config_checks::anyone,
                    validate_broker: &|resource, values| config_checks::broker_could_run(node_id, &config, resource, values),
                    alter_broker_logger: &|resource, levels| config_checks::alter_loggers(node_id, loggers.as_ref(), resource, levels),
                };
                controller.incremental_alter_configs(&request, checks)
            },
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
