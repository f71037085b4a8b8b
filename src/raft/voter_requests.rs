//! What a follower asks of the leader about the voter set: to describe it as it is, to make it a voter (`controller.quorum.auto.join.enable`),
//! or to remove the voter that it was before it lost its disk.

use ottla_model::{BrokerId, ErrorCode};

use crate::connections::AskedWhat;
use crate::core::RaftCore;
use crate::event::Anomaly;
use crate::message::{AddVoterRequest, RemoveVoterRequest, Request, UpdateVoterRequest};
use crate::replica::{ReplicaKey, SupportedKRaftVersions};
use crate::role::Role;

/// What the leader has to be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Update,
    Join,
    RemoveOld(ReplicaKey),
}

impl RaftCore {
    /// Sends what is due, if anything, and answers when to go on; `None` if there is nothing to ask and the next fetch may go out.
    pub(crate) fn send_voter_request(&mut self, now_ms: i64) -> Option<i64> {
        let Role::Follower(state) = &self.role else { return None };
        if now_ms < state.update_voter_deadline_ms {
            return None;
        }
        let leader = self.leader_peer()?;
        let Some(wish) = self.wish() else {
            if self.is_voter() {
                self.wait_with_voter_requests(now_ms);
            }
            return None;
        };
        if self.connections.is_backing_off(leader.id, now_ms) || self.connections.has_timed_out(leader.id, now_ms) {
            return None;
        }
        if !self.connections.is_ready(leader.id, now_ms) {
            return Some(self.connections.ready_at_ms(leader.id, now_ms));
        }
        self.wait_with_voter_requests(now_ms);
        let ready_ms = match wish {
            Wish::Update => self.send_if_ready(now_ms, leader, AskedWhat::UpdateVoter, RaftCore::update_voter_request),
            Wish::Join => self.send_if_ready(now_ms, leader, AskedWhat::AddVoter, RaftCore::add_voter_request),
            Wish::RemoveOld(voter) => {
                self.send_if_ready(now_ms, leader, AskedWhat::RemoveVoter, |_| Request::RemoveVoter(RemoveVoterRequest { voter }))
            }
        };
        Some(ready_ms)
    }

    fn wish(&self) -> Option<Wish> {
        let Role::Follower(state) = &self.role else { return None };
        let supports_reconfiguration = self.history.supports_reconfiguration();
        if self.is_voter() {
            let must_update =
                if supports_reconfiguration { self.voters().needs_update(&self.config.local_voter()) } else { !state.has_updated_leader };
            return must_update.then_some(Wish::Update);
        }
        if !(supports_reconfiguration && self.config.can_become_voter && self.config.auto_join) {
            return None;
        }
        Some(self.voters().get(self.config.node_id).map_or(Wish::Join, |old| Wish::RemoveOld(old.key)))
    }

    fn wait_with_voter_requests(&mut self, now_ms: i64) {
        let period_ms = self.config.fetch_timeout_ms;
        if let Role::Follower(state) = &mut self.role {
            state.update_voter_deadline_ms = now_ms + period_ms;
        }
    }

    fn update_voter_request(&self) -> Request {
        Request::UpdateVoter(UpdateVoterRequest {
            epoch: self.epoch,
            voter: self.config.local_key(),
            endpoints: self.config.endpoints.clone(),
            kraft_versions: SupportedKRaftVersions::LOCAL,
        })
    }

    fn add_voter_request(&self) -> Request {
        Request::AddVoter(AddVoterRequest {
            voter: self.config.local_key(),
            endpoints: self.config.endpoints.clone(),
            ack_when_committed: false,
        })
    }

    /// The leader has taken note of what this voter can do. As good as a fetch: it is alive.
    pub(crate) fn handle_update_voter_answer(&mut self, now_ms: i64) {
        if let Role::Follower(state) = &mut self.role {
            state.has_updated_leader = true;
        }
        self.fetch_succeeded(now_ms);
    }

    /// The leader has dealt with a request to add or remove a voter. It was done, or it is done already, or it has to wait: either way
    /// there is time until the next one.
    pub(crate) fn handle_voter_answer(&mut self, now_ms: i64, from: BrokerId, error: ErrorCode) -> bool {
        match error {
            ErrorCode::None | ErrorCode::RequestTimedOut | ErrorCode::DuplicateVoter | ErrorCode::VoterNotFound => {
                self.wait_with_voter_requests(now_ms);
                true
            }
            _ => {
                self.report(Anomaly::UnexpectedError { from, error });
                false
            }
        }
    }
}
