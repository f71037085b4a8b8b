//! How a replica changes its state (`QuorumState`). Every change of epoch, leader or vote is persisted before anything that follows
//! from it. Nothing here reads messages.

use std::collections::BTreeSet;

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use ottla_protocol::messages::leader_change_message::{LeaderChangeMessage, Voter};

use crate::core::RaftCore;
use crate::election::EpochElection;
use crate::event::{Action, Anomaly, PersistedElection};
use crate::leader::{LeaderStart, LeaderState};
use crate::log_view::ControlRecord;
use crate::replica::{Endpoints, ReplicaKey};
use crate::role::{
    CandidateState, ElectionState, FollowerState, KnownLeader, NO_DEADLINE, ProspectiveState, ResignedState, Role, UnattachedState,
};

impl RaftCore {
    pub(crate) fn unattached_forever() -> Role {
        Role::Unattached(UnattachedState { leader_id: None, voted: None, election_deadline_ms: NO_DEADLINE })
    }

    /// The first state after a start (`QuorumState.initialize`).
    pub(crate) fn initialize(&mut self, election: Option<ElectionState>, now_ms: i64) {
        let unknown = ElectionState { epoch: LeaderEpoch(0), leader_id: None, voted: None };
        let election = election.unwrap_or(unknown);
        let last_epoch = self.log.last_epoch();
        if election.epoch < last_epoch {
            // The file is older than the log: whatever it says of votes and leaders is of an epoch that is over.
            self.become_unattached_with(last_epoch, None, None, now_ms);
        } else if election.leader_id == Some(self.config.node_id) {
            // It must neither vote in the epoch that it has led nor go on leading it: records that were lost unflushed would get the
            // same offset and epoch as others.
            self.epoch = election.epoch;
            self.become_resigned(Vec::new(), now_ms);
            self.persist_election();
        } else if election.voted_for(self.config.local_key()) && election.leader_id.is_none() {
            self.epoch = election.epoch;
            self.become_candidate_of_this_epoch(now_ms);
        } else if let Some(leader_id) = election.leader_id {
            let endpoints = self.voters().endpoints(leader_id);
            if endpoints.is_empty() {
                self.become_unattached_with(election.epoch, Some(leader_id), election.voted, now_ms);
            } else {
                self.epoch = election.epoch;
                self.become_follower_with(KnownLeader { id: leader_id, endpoints }, election.voted, now_ms);
            }
        } else {
            self.become_unattached_with(election.epoch, None, election.voted, now_ms);
        }
        if self.voters().is_only_voter(self.config.local_key()) && !matches!(self.role, Role::Leader(_) | Role::Candidate(_)) {
            self.become_prospective(now_ms);
        }
    }

    /// A higher epoch without a known leader, or a lost pre-vote in this one.
    pub(crate) fn become_unattached(&mut self, epoch: LeaderEpoch, leader_id: Option<BrokerId>, now_ms: i64) {
        let voted = if epoch == self.epoch { self.role.voted(self.config.local_key()) } else { None };
        let deadline_ms = self.election_deadline_to_keep(now_ms);
        self.set_unattached(epoch, UnattachedState { leader_id, voted, election_deadline_ms: deadline_ms });
    }

    /// An election that is under way elsewhere must not put this node's own turn off for ever: its timeout goes on.
    fn election_deadline_to_keep(&mut self, now_ms: i64) -> i64 {
        if !self.stands_for_election() {
            return NO_DEADLINE;
        }
        match &self.role {
            Role::Candidate(state) => state.election_deadline_ms,
            Role::Unattached(state) => state.election_deadline_ms,
            Role::Resigned(state) => state.election_deadline_ms,
            Role::Prospective(state) if !state.election.is_rejected() => state.election_deadline_ms,
            Role::Prospective(_) | Role::Leader(_) | Role::Follower(_) => self.new_election_deadline_ms(now_ms),
        }
    }

    fn become_unattached_with(&mut self, epoch: LeaderEpoch, leader_id: Option<BrokerId>, voted: Option<ReplicaKey>, now_ms: i64) {
        let election_deadline_ms = if self.stands_for_election() { self.new_election_deadline_ms(now_ms) } else { NO_DEADLINE };
        self.set_unattached(epoch, UnattachedState { leader_id, voted, election_deadline_ms });
    }

    fn set_unattached(&mut self, epoch: LeaderEpoch, state: UnattachedState) {
        let leader_id = state.leader_id;
        self.leave_role();
        self.epoch = epoch;
        self.role = Role::Unattached(state);
        self.persist_election();
        self.role_changed(leader_id);
        self.tell_leader(self.leader_and_epoch());
    }

    /// Gives this epoch's vote away. The candidate has as good a chance as this node: the timeout starts again.
    pub(crate) fn grant_vote(&mut self, candidate: ReplicaKey, now_ms: i64) {
        let deadline_ms = self.new_election_deadline_ms(now_ms);
        match &mut self.role {
            Role::Unattached(state) if state.voted.is_none() => {
                state.voted = Some(candidate);
                state.election_deadline_ms = deadline_ms;
            }
            Role::Prospective(state) if state.voted.is_none() => {
                state.voted = Some(candidate);
                state.election_deadline_ms = deadline_ms;
            }
            // A candidate that asks again gets the same answer; the others do not vote.
            Role::Unattached(_) | Role::Prospective(_) => return,
            Role::Candidate(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => return,
        }
        self.persist_election();
    }

    /// A leader is known, in this epoch or in a higher one.
    pub(crate) fn become_follower(&mut self, epoch: LeaderEpoch, leader: KnownLeader, now_ms: i64) {
        if leader.endpoints.is_empty() {
            self.report(Anomaly::UnknownLeaderEndpoint { epoch, leader: leader.id });
            if epoch > self.epoch {
                self.become_unattached(epoch, None, now_ms);
            }
            return;
        }
        let voted = if epoch == self.epoch { self.role.voted(self.config.local_key()) } else { None };
        self.leave_role();
        self.epoch = epoch;
        self.become_follower_with(leader, voted, now_ms);
        self.tell_leader(self.leader_and_epoch());
    }

    fn become_follower_with(&mut self, leader: KnownLeader, voted: Option<ReplicaKey>, now_ms: i64) {
        let leader_id = leader.id;
        self.role = Role::Follower(FollowerState {
            leader,
            voted,
            fetch_deadline_ms: now_ms + self.config.fetch_timeout_ms,
            has_fetched_from_leader: false,
            update_voter_deadline_ms: now_ms + self.config.fetch_timeout_ms,
            has_updated_leader: false,
            fetching_snapshot: None,
            appending: None,
        });
        self.persist_election();
        self.role_changed(Some(leader_id));
    }

    /// A voter without a leader asks whether it would be elected. The epoch stays: a node that comes back from a partition does not
    /// disturb a quorum that works (KIP-996).
    pub(crate) fn become_prospective(&mut self, now_ms: i64) {
        let election = EpochElection::new(self.voters(), self.config.node_id);
        let leader_id = self.role.leader_id(self.config.node_id);
        self.role = Role::Prospective(ProspectiveState {
            leader_id,
            leader_endpoints: self.leader_endpoints(),
            voted: self.role.voted(self.config.local_key()),
            election,
            election_deadline_ms: self.new_election_deadline_ms(now_ms),
        });
        self.role_changed(leader_id);
        self.advance_election(now_ms);
    }

    /// Stands for election in the next epoch, with its own vote.
    fn become_candidate(&mut self, now_ms: i64) {
        self.epoch = LeaderEpoch(self.epoch.0 + 1);
        self.become_candidate_of_this_epoch(now_ms);
    }

    fn become_candidate_of_this_epoch(&mut self, now_ms: i64) {
        let election = EpochElection::new(self.voters(), self.config.node_id);
        self.role = Role::Candidate(CandidateState { election, election_deadline_ms: self.new_election_deadline_ms(now_ms) });
        self.persist_election();
        self.role_changed(None);
        self.tell_leader(self.leader_and_epoch());
        self.advance_election(now_ms);
    }

    /// Goes on from Prospective to Candidate and from there to Leader once a majority is for it.
    pub(crate) fn advance_election(&mut self, now_ms: i64) {
        match &self.role {
            Role::Prospective(state) if state.election.is_granted() => self.become_candidate(now_ms),
            Role::Candidate(state) if state.election.is_granted() => {
                let granting_voters = state.election.granting_voters();
                self.become_leader(granting_voters, now_ms);
            }
            Role::Prospective(_) | Role::Candidate(_) => {}
            Role::Unattached(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => {}
        }
    }

    /// No pre-vote majority: some node knows a leader, which may well be the one that this node knew.
    pub(crate) fn give_up_prospect(&mut self, now_ms: i64) {
        let Role::Prospective(state) = &self.role else { return };
        match state.leader_id {
            Some(id) if id != self.config.node_id && !state.leader_endpoints.is_empty() => {
                let leader = KnownLeader { id, endpoints: state.leader_endpoints.clone() };
                self.become_follower(self.epoch, leader, now_ms);
            }
            leader_id => self.become_unattached(self.epoch, leader_id, now_ms),
        }
    }

    /// A prospective candidate found a voter that does not know pre-votes: only an election can tell.
    pub(crate) fn skip_pre_vote(&mut self, now_ms: i64) {
        if matches!(self.role, Role::Prospective(_)) {
            self.become_candidate(now_ms);
        }
    }

    fn become_leader(&mut self, granting_voters: Vec<BrokerId>, now_ms: i64) {
        let leader = LeaderState::new(LeaderStart {
            local: self.config.local_voter(),
            voters: self.voters(),
            granting_voters,
            epoch_start_offset: self.log.end_offset(),
            supports_reconfiguration: self.history.supports_reconfiguration(),
            fetch_timeout_ms: self.config.fetch_timeout_ms,
            now_ms,
        });
        let records = self.start_of_epoch_records(&leader);
        // What an earlier leader has told of its high watermark may not be told as this leader's own: a majority has to confirm it.
        self.high_watermark = None;
        self.role = Role::Leader(Box::new(leader));
        self.persist_election();
        self.role_changed(Some(self.config.node_id));
        self.push(Action::AppendControlRecords { epoch: self.epoch, records });
    }

    /// Only a record of its own epoch lets a leader commit, so it writes one at once; with it the voters, where the log does not yet
    /// name them as they are (`LeaderState.appendStartOfEpochControlRecords`).
    fn start_of_epoch_records(&self, leader: &LeaderState) -> Vec<ControlRecord> {
        let voter = |id: BrokerId| Voter { voter_id: id.0, ..Voter::default() };
        let mut records = vec![ControlRecord::LeaderChange(LeaderChangeMessage {
            version: 0,
            leader_id: self.config.node_id.0,
            voters: self.voters().ids().map(voter).collect(),
            granting_voters: leader.granting_voters.iter().copied().map(voter).collect(),
            ..LeaderChangeMessage::default()
        })];
        let only_in_bootstrap_snapshot = self.history.last_voters_offset() == Some(-1);
        let must_write = only_in_bootstrap_snapshot || self.voters().needs_update(&leader.local);
        if self.history.supports_reconfiguration()
            && must_write
            && let Some(voters) = self.voters().with_updated(leader.local.clone())
        {
            let k_raft_version = self.history.last_kraft_version();
            records.push(ControlRecord::KRaftVersion(KRaftVersionRecord { k_raft_version, ..KRaftVersionRecord::default() }));
            records.push(ControlRecord::Voters(voters.to_record()));
        }
        records
    }

    /// Stops leading without a new leader. It says so to the voters, and keeps out of this epoch.
    pub(crate) fn become_resigned(&mut self, preferred_successors: Vec<ReplicaKey>, now_ms: i64) {
        self.leave_role();
        let unacknowledged: BTreeSet<_> = self.voters().ids().filter(|&id| id != self.config.node_id).collect();
        let election_deadline_ms = self.new_election_deadline_ms(now_ms);
        self.role = Role::Resigned(ResignedState { unacknowledged, preferred_successors, election_deadline_ms });
        self.role_changed(Some(self.config.node_id));
    }

    /// What a role leaves behind is settled before the next one begins.
    fn leave_role(&mut self) {
        if let Role::Leader(leader) = &mut self.role {
            let parked = leader.parked_fetches.take_all();
            let voter_change = leader.voter_change.take();
            let high_watermark = leader.high_watermark;
            self.role = RaftCore::unattached_forever();
            self.high_watermark = high_watermark.or(self.high_watermark);
            self.refuse_parked(parked);
            self.end_voter_change(voter_change, ErrorCode::NotLeaderOrFollower, "The leader has changed");
        }
    }

    fn role_changed(&mut self, leader_id: Option<BrokerId>) {
        self.connections.reset_all();
        self.push(Action::RoleChanged { role: self.role.name(), epoch: self.epoch, leader_id });
    }

    fn persist_election(&mut self) {
        let state = ElectionState {
            epoch: self.epoch,
            leader_id: self.role.leader_id(self.config.node_id),
            voted: self.role.voted(self.config.local_key()),
        };
        let kraft_version = self.history.last_kraft_version();
        let voters = self.voters().ids().collect();
        self.push(Action::PersistElectionState(PersistedElection { state, kraft_version, voters }));
    }

    fn new_election_deadline_ms(&mut self, now_ms: i64) -> i64 {
        now_ms + self.jitter.election_timeout_ms(self.config.election_timeout_ms)
    }

    /// Follows what a message says of leader and epoch, which is at least this node's own (`KafkaRaftClient.maybeTransition`). Answers
    /// whether the message may be dealt with: it may not if it names another leader of the same epoch.
    pub(crate) fn follow_message(&mut self, epoch: LeaderEpoch, leader_id: Option<BrokerId>, endpoints: Endpoints, now_ms: i64) -> bool {
        if !self.is_consistent_leader(epoch, leader_id) {
            if let Some(claimed) = leader_id {
                let known = self.leader_and_epoch().leader_id;
                self.report(Anomaly::TwoLeaders { epoch, known, claimed });
            }
            return false;
        }
        match leader_id {
            Some(id) if id == self.config.node_id => {}
            Some(id) if epoch > self.epoch => self.become_follower(epoch, KnownLeader { id, endpoints }, now_ms),
            Some(id) => {
                let known = self.leader_and_epoch().leader_id.is_some();
                let is_news = !known || endpoints.len() > self.leader_endpoints().len();
                if is_news && !matches!(self.role, Role::Leader(_) | Role::Resigned(_)) {
                    self.become_follower(epoch, KnownLeader { id, endpoints }, now_ms);
                }
            }
            None if epoch > self.epoch => self.become_unattached(epoch, None, now_ms),
            None => {}
        }
        true
    }

    fn is_consistent_leader(&self, epoch: LeaderEpoch, leader_id: Option<BrokerId>) -> bool {
        match (leader_id, self.leader_and_epoch().leader_id) {
            (Some(claimed), _) if claimed == self.config.node_id => epoch == self.epoch && matches!(self.role, Role::Leader(_)),
            (Some(claimed), Some(known)) => epoch != self.epoch || claimed == known,
            (None, _) | (_, None) => true,
        }
    }
}
