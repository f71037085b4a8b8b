//! Registrations besides a broker's own: UnregisterBroker, ControllerRegistration, UnregisterController, and sessions that end
//! (`ClusterControlManager`, `ReplicationControlManager.maybeFenceOneStaleBroker`).

use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::controller_registration_request::{ControllerRegistrationRequest, Feature, Listener};
use ottla_protocol::messages::register_controller_record::{ControllerEndpoint, ControllerFeature, RegisterControllerRecord};
use ottla_protocol::messages::unregister_controller_record::UnregisterControllerRecord;

use crate::api_error::ApiError;
use crate::context::ControllerOptions;
use crate::controller_result::ControllerResult;
use crate::heartbeats::BrokerHeartbeats;
use crate::leader_updates::{broker_fenced, broker_unregistered};
use crate::state::ControllerState;

pub(crate) fn unregister_broker(state: &ControllerState, broker: BrokerId) -> Result<ControllerResult<()>, ApiError> {
    let Some(registration) = state.broker(broker) else {
        let message = format!("Broker ID {broker} is not currently registered");
        return Err(ApiError::new(ErrorCode::BrokerIdNotRegistered, message));
    };
    let mut records = Vec::new();
    broker_unregistered(state, registration, &mut records);
    ControllerResult::of(records, ()).bounded()
}

pub(crate) fn register_controller(
    state: &ControllerState,
    request: &ControllerRegistrationRequest,
) -> Result<ControllerResult<()>, ApiError> {
    if !state.metadata_version().is_controller_registration_supported() {
        let message = "The current MetadataVersion is too old to support controller registrations.";
        return Err(ApiError::new(ErrorCode::UnsupportedVersion, message));
    }
    let endpoint = |listener: &Listener| ControllerEndpoint {
        name: listener.name.clone(),
        host: listener.host.clone(),
        port: listener.port,
        security_protocol: listener.security_protocol,
        ..Default::default()
    };
    let feature = |feature: &Feature| ControllerFeature {
        name: feature.name.clone(),
        min_supported_version: feature.min_supported_version,
        max_supported_version: feature.max_supported_version,
        ..Default::default()
    };
    let record = RegisterControllerRecord {
        controller_id: request.controller_id,
        incarnation_id: request.incarnation_id,
        zk_migration_ready: false,
        end_points: request.listeners.iter().map(endpoint).collect(),
        features: request.features.iter().map(feature).collect(),
        ..Default::default()
    };
    Ok(ControllerResult::atomic_of(vec![record.into()], ()))
}

pub(crate) fn unregister_controller(
    state: &ControllerState,
    options: &ControllerOptions,
    controller: BrokerId,
) -> Result<ControllerResult<()>, ApiError> {
    if controller == options.node_id {
        return Err(ApiError::invalid_request("Controller cannot unregister itself while it is active."));
    }
    if !state.metadata_version().is_controller_unregistration_supported() {
        let message = "The current MetadataVersion is too old to support controller unregistration.";
        return Err(ApiError::new(ErrorCode::UnsupportedVersion, message));
    }
    if state.image.cluster.controller(controller).is_none() {
        let message = format!("Controller ID {controller} is not currently registered.");
        return Err(ApiError::new(ErrorCode::ControllerIdNotRegistered, message));
    }
    let record = UnregisterControllerRecord { controller_id: controller.0, ..Default::default() };
    Ok(ControllerResult::atomic_of(vec![record.into()], ()))
}

/// Fences the next broker whose session has ended.
pub(crate) fn fence_expired_broker(
    state: &ControllerState,
    heartbeats: &mut BrokerHeartbeats,
    now_ms: i64,
) -> Option<ControllerResult<BrokerId>> {
    loop {
        let expired = heartbeats.take_expired(now_ms)?;
        // A fenced broker's session may end without anything to do.
        if let Some(broker) = state.broker(expired).filter(|broker| !broker.fenced) {
            let mut records = Vec::new();
            broker_fenced(state, broker, &mut records);
            return Some(ControllerResult::of(records, expired));
        }
    }
}
