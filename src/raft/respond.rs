//! The way of a message to those who deal with it: requests by kind, answers after the checks that are common to all of them
//! (`KafkaRaftClient.maybeHandleCommonResponse`).

use ottla_model::{BrokerId, ErrorCode};

use crate::connections::{Asked, AskedWhat};
use crate::core::RaftCore;
use crate::event::{Anomaly, Caller, CorrelationId, RequestFailure};
use crate::message::{Request, Response, ResponseBody};
use crate::role::{KnownLeader, Role};

impl RaftCore {
    pub(crate) fn handle_request(&mut self, now_ms: i64, caller: Caller, request: Request) {
        match request {
            Request::Vote(request) => self.handle_vote(now_ms, caller, request),
            Request::BeginQuorumEpoch(request) => self.handle_begin_quorum_epoch(now_ms, caller, request),
            Request::EndQuorumEpoch(request) => self.handle_end_quorum_epoch(now_ms, caller, request),
            Request::Fetch(request) => self.handle_fetch(now_ms, caller, request),
            Request::FetchSnapshot(request) => self.handle_fetch_snapshot(now_ms, caller, request),
            Request::AddVoter(request) => self.handle_add_voter(now_ms, caller, request),
            Request::RemoveVoter(request) => self.handle_remove_voter(now_ms, caller, request),
            Request::UpdateVoter(request) => self.handle_update_voter(now_ms, caller, request),
            // Every listener answers this one by itself.
            Request::ApiVersions => {}
        }
    }

    pub(crate) fn handle_response(
        &mut self,
        now_ms: i64,
        from: BrokerId,
        correlation_id: CorrelationId,
        outcome: Result<Response, RequestFailure>,
    ) {
        let Some(asked) = self.connections.expected(from, correlation_id) else { return };
        let is_in_order = match outcome {
            Ok(response) => self.handle_answer(now_ms, from, asked, response),
            Err(failure) => self.handle_failure(now_ms, from, asked, failure),
        };
        self.connections.answered(from, correlation_id, is_in_order, now_ms);
    }

    fn handle_failure(&mut self, now_ms: i64, from: BrokerId, asked: Asked, failure: RequestFailure) -> bool {
        match (failure, asked.what) {
            (_, AskedWhat::ApiVersions { voter }) => {
                self.new_voter_unreachable(voter);
                false
            }
            (RequestFailure::UnsupportedVersion, AskedWhat::Vote { pre_vote: true, .. }) if asked.epoch == self.epoch => {
                self.skip_pre_vote(now_ms);
                true
            }
            // A leader of an older release has no use for it.
            (RequestFailure::UnsupportedVersion, AskedWhat::UpdateVoter) => {
                self.handle_update_voter_answer(now_ms);
                true
            }
            (RequestFailure::Disconnected | RequestFailure::Refused(ErrorCode::BrokerNotAvailable), _) => false,
            (RequestFailure::UnsupportedVersion, _) => {
                self.report(Anomaly::UnexpectedError { from, error: ErrorCode::UnsupportedVersion });
                false
            }
            (RequestFailure::Refused(error), _) => {
                self.report(Anomaly::UnexpectedError { from, error });
                false
            }
        }
    }

    fn handle_answer(&mut self, now_ms: i64, from: BrokerId, asked: Asked, response: Response) -> bool {
        match asked.what {
            AskedWhat::ApiVersions { voter } => {
                self.handle_api_versions_answer(now_ms, voter, &response);
                return true;
            }
            // These say nothing of leader and epoch.
            AskedWhat::AddVoter | AskedWhat::RemoveVoter => return self.handle_voter_answer(now_ms, from, response.error),
            AskedWhat::Vote { .. }
            | AskedWhat::BeginQuorumEpoch
            | AskedWhat::EndQuorumEpoch
            | AskedWhat::Fetch { .. }
            | AskedWhat::FetchSnapshot { .. }
            | AskedWhat::UpdateVoter => {}
        }
        if let Some(is_in_order) = self.handle_common(now_ms, from, &response) {
            return is_in_order;
        }
        if asked.epoch != self.epoch && !matches!(asked.what, AskedWhat::Fetch { .. }) {
            return true;
        }
        self.handle_body(now_ms, from, asked.what, response)
    }

    /// The answer is of this epoch and about what was asked: the rest of it.
    fn handle_body(&mut self, now_ms: i64, from: BrokerId, asked: AskedWhat, response: Response) -> bool {
        let Response { error, body, .. } = response;
        match (asked, body) {
            (AskedWhat::FetchSnapshot { id, position }, ResponseBody::FetchSnapshot(answer)) => {
                self.handle_fetch_snapshot_answer(now_ms, from, (id, position), error, answer)
            }
            (AskedWhat::UpdateVoter, ResponseBody::UpdateVoter) if matches!(error, ErrorCode::None | ErrorCode::UnsupportedVersion) => {
                self.handle_update_voter_answer(now_ms);
                true
            }
            (_, _) if !error.is_none() => {
                self.report(Anomaly::UnexpectedError { from, error });
                false
            }
            (AskedWhat::Vote { voter, pre_vote }, ResponseBody::Vote { granted }) => {
                self.handle_vote_answer(now_ms, voter.id, pre_vote, granted);
                true
            }
            (AskedWhat::BeginQuorumEpoch, ResponseBody::BeginQuorumEpoch) => {
                if let Role::Leader(leader) = &mut self.role {
                    leader.acknowledged_by(from);
                }
                true
            }
            (AskedWhat::EndQuorumEpoch, ResponseBody::EndQuorumEpoch) => {
                if let Role::Resigned(state) = &mut self.role {
                    state.unacknowledged.remove(&from);
                }
                true
            }
            (AskedWhat::Fetch { position }, ResponseBody::Fetch(answer)) => {
                if matches!(self.role, Role::Follower(_)) {
                    self.handle_fetch_answer(now_ms, position, answer)
                } else {
                    true
                }
            }
            (_, _) => {
                self.report(Anomaly::UnexpectedAnswer { from });
                false
            }
        }
    }

    /// What an answer says of leader and epoch. `None`: the rest of it is to be dealt with.
    fn handle_common(&mut self, now_ms: i64, from: BrokerId, response: &Response) -> Option<bool> {
        let (error, epoch) = (response.error, response.leader.epoch);
        if epoch < self.epoch || error == ErrorCode::UnknownLeaderEpoch {
            // That node is behind: asked again at once, it would say the same.
            return Some(false);
        }
        let leader_id = response.leader.leader_id;
        let endpoints = match leader_id {
            Some(leader) => self.endpoints_or_known(response.leader_endpoints.clone(), leader),
            None => response.leader_endpoints.clone(),
        };
        if epoch > self.epoch || matches!(error, ErrorCode::FencedLeaderEpoch | ErrorCode::NotLeaderOrFollower) {
            let before = (self.leader_and_epoch(), self.role.name());
            self.follow_message(epoch, leader_id, endpoints, now_ms);
            // Who has nothing new to say is not asked again at once.
            return Some(before != (self.leader_and_epoch(), self.role.name()));
        }
        if let Some(id) = leader_id
            && self.leader_and_epoch().leader_id.is_none()
        {
            if id == self.config.node_id {
                return Some(true);
            }
            // An observer may find its leader and get its first records by the same fetch.
            self.become_follower(epoch, KnownLeader { id, endpoints }, now_ms);
            return if error.is_none() { None } else { Some(true) };
        }
        match error {
            ErrorCode::BrokerNotAvailable => Some(false),
            ErrorCode::InvalidVoterKey => Some(true),
            ErrorCode::InvalidRequest => {
                self.report(Anomaly::UnexpectedError { from, error });
                Some(false)
            }
            _ => None,
        }
    }
}
