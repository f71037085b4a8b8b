//! BrokerHeartbeat: fences, unfences and stops brokers (`ReplicationControlManager.processBrokerHeartbeat`).

use ottla_metadata::MetadataRecord;
use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::broker_heartbeat_request::BrokerHeartbeatRequest;

use crate::api_error::ApiError;
use crate::controller_result::ControllerResult;
use crate::heartbeats::{BrokerControlState, BrokerHeartbeats, HeartbeatWish};
use crate::leader_updates::{broker_fenced, broker_in_controlled_shutdown, broker_unfenced, directories_cordoned, directories_offline};
use crate::state::ControllerState;

/// What a broker learns from its heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerHeartbeatReply {
    /// Its metadata has reached its registration.
    pub is_caught_up: bool,
    /// It is fenced.
    pub is_fenced: bool,
    /// It hands over its leaderships. The caller then reports where the records ended:
    /// [`Controller::controlled_shutdown_recorded`](crate::Controller::controlled_shutdown_recorded).
    pub in_controlled_shutdown: bool,
    /// It may stop.
    pub should_shut_down: bool,
}

pub(crate) fn process_broker_heartbeat(
    state: &ControllerState,
    heartbeats: &mut BrokerHeartbeats,
    now_ms: i64,
    request: &BrokerHeartbeatRequest,
) -> Result<ControllerResult<BrokerHeartbeatReply>, ApiError> {
    let id = BrokerId(request.broker_id);
    heartbeats.contacted(id, request.broker_epoch, now_ms);
    let Some(register_broker_offset) = state.register_broker_offset(id) else {
        let message = format!("Receive a heartbeat from broker {id} before registration");
        return Err(ApiError::new(ErrorCode::StaleBrokerEpoch, message));
    };
    state.check_broker_epoch(id, request.broker_epoch)?;
    let Some(broker) = state.broker(id) else {
        return Err(ApiError::bare(ErrorCode::StaleBrokerEpoch));
    };
    // Looking for a leadership may mean looking at every partition of the broker.
    let may_stop = request.want_shut_down || heartbeats.is_shutting_down(id);
    let wish = HeartbeatWish {
        metadata_offset: request.current_metadata_offset,
        want_fence: request.want_fence,
        want_shut_down: request.want_shut_down,
        register_broker_offset,
        has_leaderships: may_stop && state.partitions.has_leaderships(id, &state.image),
    };
    let (current, next) = (heartbeats.current_state(id), heartbeats.next_state(id, wish));
    let mut records: Vec<MetadataRecord> = Vec::new();
    if current != next {
        match next {
            BrokerControlState::Fenced | BrokerControlState::ShutdownNow => broker_fenced(state, broker, &mut records),
            BrokerControlState::Unfenced => broker_unfenced(state, broker, &mut records),
            BrokerControlState::ControlledShutdown => broker_in_controlled_shutdown(state, broker, &mut records),
        }
    }
    heartbeats.touch(id, next.is_fenced(), request.current_metadata_offset);
    if state.metadata_version().is_directory_assignment_supported() {
        directories_offline(state, broker, &request.offline_log_dirs, &mut records);
    }
    if let Some(cordoned) = request.cordoned_log_dirs.as_deref().filter(|_| state.metadata_version().is_cordoned_log_dirs_supported()) {
        directories_cordoned(broker, cordoned, &mut records);
    }
    let reply = BrokerHeartbeatReply {
        is_caught_up: request.current_metadata_offset >= register_broker_offset,
        is_fenced: next.is_fenced(),
        in_controlled_shutdown: next == BrokerControlState::ControlledShutdown,
        should_shut_down: next == BrokerControlState::ShutdownNow,
    };
    Ok(ControllerResult::of(records, reply))
}
