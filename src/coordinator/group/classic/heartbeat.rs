//! Heartbeat: a member is alive, and learns whether it has to rejoin (`classicGroupHeartbeat` of `GroupMetadataManager`).

use ottla_model::ErrorCode;
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;

use super::operation::ClassicOperation;
use super::state::ClassicGroupState;

impl ClassicOperation<'_> {
    /// Handles a heartbeat.
    pub fn heartbeat(&mut self, request: &HeartbeatRequest) -> Result<(), ErrorCode> {
        self.group.validate_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.group.generation_id {
            return Err(ErrorCode::IllegalGeneration);
        }
        match self.group.state {
            // An empty group has no members, so `validate_member` has refused it.
            ClassicGroupState::Empty => Err(ErrorCode::UnknownMemberId),
            ClassicGroupState::PreparingRebalance => {
                self.restart_session(&request.member_id);
                Err(ErrorCode::RebalanceInProgress)
            }
            // Consumers send heartbeats from the answer to their join on.
            ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                self.restart_session(&request.member_id);
                Ok(())
            }
        }
    }
}
