//! UpdateFeatures: raises or lowers the cluster's feature levels; decided by the controller (KIP-584).

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::update_features_request::UpdateFeaturesRequest;
use ottla_protocol::messages::update_features_response::UpdateFeaturesResponse;

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct UpdateFeatures;

impl Handler for UpdateFeatures {
    type Request = UpdateFeaturesRequest;
    const KEY: ApiKey = ApiKey::UpdateFeatures;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: UpdateFeaturesRequest) {
        let asked = request.clone();
        let version = context.api_version;
        broker.forward(
            context,
            move |controller, _| Ok(controller.update_features(&request, version)),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(_request: &UpdateFeaturesRequest, error: &ApiError) -> UpdateFeaturesResponse {
    UpdateFeaturesResponse { error_code: error.error.code(), error_message: error.message.clone(), ..UpdateFeaturesResponse::default() }
}
