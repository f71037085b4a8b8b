//! The beginning and the end of a leadership, as the leader announces them to the voters.

use ottla_model::ErrorCode;

use crate::core::RaftCore;
use crate::event::Caller;
use crate::message::{BeginQuorumEpochRequest, EndQuorumEpochRequest, ResponseBody};
use crate::replica::{Endpoints, ReplicaKey};
use crate::role::Role;

impl RaftCore {
    pub(crate) fn handle_begin_quorum_epoch(&mut self, now_ms: i64, caller: Caller, request: BeginQuorumEpochRequest) {
        let error = self.begin_quorum_epoch(now_ms, request).err().unwrap_or(ErrorCode::None);
        self.reply(caller, error, ResponseBody::BeginQuorumEpoch);
    }

    fn begin_quorum_epoch(&mut self, now_ms: i64, request: BeginQuorumEpochRequest) -> Result<(), ErrorCode> {
        self.validate_voter_only_request(request.leader_id, request.epoch)?;
        let endpoints = self.endpoints_or_known(request.leader_endpoints, request.leader_id);
        if !self.follow_message(request.epoch, Some(request.leader_id), endpoints, now_ms) {
            return Err(ErrorCode::UnknownServerError);
        }
        self.validate_meant(request.voter)
    }

    pub(crate) fn handle_end_quorum_epoch(&mut self, now_ms: i64, caller: Caller, request: EndQuorumEpochRequest) {
        let error = self.end_quorum_epoch(now_ms, request).err().unwrap_or(ErrorCode::None);
        self.reply(caller, error, ResponseBody::EndQuorumEpoch);
    }

    fn end_quorum_epoch(&mut self, now_ms: i64, request: EndQuorumEpochRequest) -> Result<(), ErrorCode> {
        self.validate_voter_only_request(request.leader_id, request.epoch)?;
        let endpoints = self.endpoints_or_known(request.leader_endpoints, request.leader_id);
        if !self.follow_message(request.epoch, Some(request.leader_id), endpoints, now_ms) {
            return Err(ErrorCode::UnknownServerError);
        }
        let backoff_ms = self.resignation_backoff_ms(&request.preferred_successors);
        if let Role::Follower(state) = &mut self.role
            && state.leader.id == request.leader_id
        {
            state.fetch_deadline_ms = now_ms + backoff_ms;
            // There is no leader any more whom a pre-vote could disturb.
            state.has_fetched_from_leader = false;
        }
        Ok(())
    }

    /// The best successor stands for election at once, the next ones later and later, so that they do not split the votes
    /// (`KafkaRaftClient.strictExponentialElectionBackoffMs`).
    fn resignation_backoff_ms(&self, successors: &[ReplicaKey]) -> i64 {
        let max_ms = self.config.election_backoff_max_ms;
        let local = self.config.local_key();
        match successors.iter().position(|successor| successor.covers(local)) {
            Some(0) => 0,
            Some(position) => {
                let base_ms = max_ms >> (successors.len() - 1).min(62);
                max_ms.min(base_ms << (position - 1).min(31))
            }
            None if successors.is_empty() => 0,
            None => max_ms,
        }
    }

    /// Endpoints from a message, or those of the voter set where the message has none.
    pub(crate) fn endpoints_or_known(&self, endpoints: Endpoints, leader: ottla_model::BrokerId) -> Endpoints {
        if endpoints.is_empty() { self.voters().endpoints(leader) } else { endpoints }
    }
}
