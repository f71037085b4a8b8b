//! What a replica does because of the time, or because a node may be asked again (`KafkaRaftClient.pollCurrentState`).

use crate::connections::AskedWhat;
use crate::core::RaftCore;
use crate::event::{Anomaly, Peer};
use crate::message::{BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, FetchSnapshotRequest, Request, VoteRequest};
use crate::replica::ReplicaKey;
use crate::role::{FetchingSnapshot, NO_DEADLINE, Role};

/// How long a leader may let a fetch of this node wait.
const FETCH_MAX_WAIT_MS: i32 = 500;
/// More transitions in one step than any path has; with timeouts of 0 there would be no end to them.
const TRANSITIONS_MAX: usize = 8;

impl RaftCore {
    /// Does what is due in this state and, as long as that changes the state, in the next one.
    pub(crate) fn poll(&mut self, now_ms: i64) {
        for _ in 0..TRANSITIONS_MAX {
            let before = (self.epoch, self.role.name());
            let deadline_ms = self.poll_role(now_ms);
            self.set_deadline(deadline_ms);
            if (self.epoch, self.role.name()) == before {
                break;
            }
        }
        self.tell_progress();
    }

    fn poll_role(&mut self, now_ms: i64) -> i64 {
        match &self.role {
            Role::Leader(_) => self.poll_leader(now_ms),
            Role::Candidate(state) => {
                let deadline_ms = state.election_deadline_ms;
                if deadline_ms > now_ms || self.shutting_down {
                    return self.send_votes(now_ms).min(later_than(now_ms, deadline_ms));
                }
                self.become_prospective(now_ms);
                now_ms
            }
            Role::Prospective(state) => {
                let deadline_ms = state.election_deadline_ms;
                if deadline_ms > now_ms || self.shutting_down {
                    return self.send_votes(now_ms).min(later_than(now_ms, deadline_ms));
                }
                self.give_up_prospect(now_ms);
                now_ms
            }
            Role::Follower(_) => self.poll_follower(now_ms),
            Role::Unattached(state) => {
                let deadline_ms = state.election_deadline_ms;
                let is_due = deadline_ms <= now_ms && self.stands_for_election();
                if !is_due || self.shutting_down {
                    return self.fetch_from_any_bootstrap_server(now_ms).min(later_than(now_ms, deadline_ms));
                }
                self.become_prospective(now_ms);
                now_ms
            }
            Role::Resigned(_) => self.poll_resigned(now_ms),
        }
    }

    fn poll_leader(&mut self, now_ms: i64) -> i64 {
        let Role::Leader(leader) = &mut self.role else { return now_ms };
        let has_lost_quorum = leader.check_quorum_deadline_ms() <= now_ms;
        if self.shutting_down || leader.resign_requested || has_lost_quorum {
            let successors = leader.successors();
            if has_lost_quorum {
                self.report(Anomaly::QuorumLost { epoch: self.epoch, timeout_ms: self.config.fetch_timeout_ms * 3 / 2 });
            }
            self.become_resigned(successors, now_ms);
            return now_ms;
        }
        let expired = leader.parked_fetches.take_expired(now_ms);
        let must_begin = leader.begin_quorum_epoch_deadline_ms() <= now_ms;
        let receivers = if must_begin { leader.begin_quorum_epoch_receivers(now_ms) } else { Vec::new() };
        self.answer_parked(now_ms, expired);
        self.expire_voter_change(now_ms);
        for receiver in receivers {
            self.send_begin_quorum_epoch(now_ms, receiver);
        }
        let Role::Leader(leader) = &self.role else { return now_ms };
        let voter_change_deadline_ms = leader.voter_change.as_ref().map_or(NO_DEADLINE, |change| change.deadline_ms());
        let own_deadline_ms = leader.check_quorum_deadline_ms().min(leader.begin_quorum_epoch_deadline_ms());
        own_deadline_ms.min(leader.parked_fetches.next_deadline_ms()).min(voter_change_deadline_ms)
    }

    fn send_begin_quorum_epoch(&mut self, now_ms: i64, voter: ReplicaKey) {
        let Some(peer) = self.voter_peer(voter.id) else { return };
        self.send_if_ready(now_ms, peer, AskedWhat::BeginQuorumEpoch, |core| {
            Request::BeginQuorumEpoch(BeginQuorumEpochRequest {
                epoch: core.epoch,
                leader_id: core.config.node_id,
                leader_endpoints: core.config.endpoints.clone(),
                voter: Some(voter),
            })
        });
    }

    fn send_votes(&mut self, now_ms: i64) -> i64 {
        let (election, pre_vote) = match &self.role {
            Role::Candidate(state) => (&state.election, false),
            Role::Prospective(state) => (&state.election, true),
            Role::Leader(_) | Role::Follower(_) | Role::Unattached(_) | Role::Resigned(_) => return NO_DEADLINE,
        };
        if election.is_rejected() {
            return NO_DEADLINE;
        }
        let mut next_ms = NO_DEADLINE;
        for voter in election.unrecorded_voters() {
            let Some(peer) = self.voter_peer(voter.id) else { continue };
            let ready_ms = self.send_if_ready(now_ms, peer, AskedWhat::Vote { voter, pre_vote }, |core| {
                Request::Vote(VoteRequest {
                    epoch: core.epoch,
                    candidate: core.config.local_key(),
                    voter: Some(voter),
                    last: core.end_of_log(),
                    pre_vote,
                })
            });
            next_ms = next_ms.min(ready_ms);
        }
        next_ms
    }

    fn poll_follower(&mut self, now_ms: i64) -> i64 {
        let Role::Follower(state) = &self.role else { return now_ms };
        let fetch_deadline_ms = if self.stands_for_election() { state.fetch_deadline_ms } else { NO_DEADLINE };
        if self.shutting_down {
            return NO_DEADLINE;
        }
        if fetch_deadline_ms <= now_ms {
            self.become_prospective(now_ms);
            return now_ms;
        }
        if state.appending.is_some() || state.fetching_snapshot.is_some_and(|snapshot| snapshot.installing) {
            return fetch_deadline_ms;
        }
        let next_ms = match self.send_voter_request(now_ms) {
            Some(ready_ms) => ready_ms,
            None => self.fetch_from_best_node(now_ms),
        };
        next_ms.min(fetch_deadline_ms)
    }

    /// Fetches from the leader; while that does not answer, from anyone who may know another leader.
    fn fetch_from_best_node(&mut self, now_ms: i64) -> i64 {
        let Some(leader) = self.leader_peer() else { return self.fetch_from_any_bootstrap_server(now_ms) };
        if self.connections.has_timed_out(leader.id, now_ms) {
            self.connections.reset(leader.id);
            self.fetch_from_any_bootstrap_server(now_ms)
        } else if self.connections.is_backing_off(leader.id, now_ms) {
            self.fetch_from_any_bootstrap_server(now_ms)
        } else if self.connections.has_inflight(now_ms) {
            self.connections.bootstrap_ready_at_ms(now_ms)
        } else {
            self.fetch_from(now_ms, leader)
        }
    }

    /// The leader as a node to send to; `None` if there is none, or its endpoint for this node's listener is not known.
    pub(crate) fn leader_peer(&self) -> Option<Peer> {
        let Role::Follower(state) = &self.role else { return None };
        let endpoint = state.leader.endpoints.get(&self.config.listener)?.clone();
        Some(Peer { id: state.leader.id, endpoint })
    }

    fn fetch_from(&mut self, now_ms: i64, leader: Peer) -> i64 {
        let fetching = if let Role::Follower(state) = &self.role { state.fetching_snapshot } else { None };
        let Some(FetchingSnapshot { id, received, .. }) = fetching else { return self.send_fetch(now_ms, leader) };
        self.send_if_ready(now_ms, leader, AskedWhat::FetchSnapshot { id, position: received }, |core| {
            Request::FetchSnapshot(FetchSnapshotRequest {
                epoch: core.epoch,
                replica: core.config.local_key(),
                snapshot_id: id,
                position: received,
                max_bytes: core.config.fetch_snapshot_max_bytes,
            })
        })
    }

    fn fetch_from_any_bootstrap_server(&mut self, now_ms: i64) -> i64 {
        match self.connections.ready_bootstrap_server(now_ms, &mut self.jitter) {
            Some(server) => self.send_fetch(now_ms, server),
            None => later_than(now_ms, self.connections.bootstrap_ready_at_ms(now_ms)),
        }
    }

    fn send_fetch(&mut self, now_ms: i64, to: Peer) -> i64 {
        let position = self.end_of_log();
        self.send_if_ready(now_ms, to, AskedWhat::Fetch { position }, |core| {
            Request::Fetch(FetchRequest {
                epoch: core.epoch,
                replica: core.config.local_key(),
                position,
                high_watermark: core.high_watermark,
                max_bytes: core.config.fetch_max_bytes,
                max_wait_ms: FETCH_MAX_WAIT_MS,
            })
        })
    }

    fn poll_resigned(&mut self, now_ms: i64) -> i64 {
        let Role::Resigned(state) = &self.role else { return now_ms };
        let deadline_ms = state.election_deadline_ms;
        if deadline_ms <= now_ms && !self.shutting_down {
            // In this epoch the others take this node for the leader: only the next one frees it.
            let next = ottla_model::LeaderEpoch(self.epoch.0 + 1);
            self.become_unattached(next, None, now_ms);
            return now_ms;
        }
        let (receivers, preferred_successors) = (state.unacknowledged.clone(), state.preferred_successors.clone());
        let mut next_ms = later_than(now_ms, deadline_ms);
        for receiver in receivers {
            let Some(peer) = self.voter_peer(receiver) else { continue };
            let ready_ms = self.send_if_ready(now_ms, peer, AskedWhat::EndQuorumEpoch, |core| {
                Request::EndQuorumEpoch(EndQuorumEpochRequest {
                    epoch: core.epoch,
                    leader_id: core.config.node_id,
                    leader_endpoints: core.config.endpoints.clone(),
                    preferred_successors: preferred_successors.clone(),
                })
            });
            next_ms = next_ms.min(ready_ms);
        }
        next_ms
    }
}

/// A deadline that has passed without effect must not be waited for again and again.
fn later_than(now_ms: i64, deadline_ms: i64) -> i64 {
    if deadline_ms > now_ms { deadline_ms } else { NO_DEADLINE }
}
