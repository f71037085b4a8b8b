//! The replica as a whole: takes one event, decides, and returns what is to be done. The decisions themselves are in the files of the
//! messages (`vote`, `quorum_epoch`, `fetch`, `follow`, `snapshot_fetch`), of time (`poll`) and of the states (`transitions`).

use ottla_model::{BrokerId, LeaderEpoch};

use crate::config::{Jitter, RaftConfig};
use crate::connections::{Asked, AskedWhat, Connections};
use crate::event::{Action, Anomaly, Caller, Event, Peer};
use crate::history::ControlHistory;
use crate::leader::ReplicaState;
use crate::log_view::{AppendedBatch, LogView};
use crate::message::{LeaderAndEpoch, Request, Response, ResponseBody};
use crate::replica::{Endpoints, OffsetAndEpoch, VoterSet};
use crate::role::{ElectionState, Role, RoleName};

/// What a replica finds when it starts.
#[derive(Clone, Debug)]
pub struct Found {
    /// The log's outline.
    pub log: LogView,
    /// The control records of the latest snapshot and of the log after it.
    pub history: ControlHistory,
    /// The persisted election state, if there is one.
    pub election: Option<ElectionState>,
}

/// One replica of the metadata log (`KafkaRaftClient`): KIP-595, KIP-630, KIP-853, KIP-996 and KIP-1186 without any I/O.
#[derive(Debug)]
pub struct RaftCore {
    pub(crate) config: RaftConfig,
    pub(crate) log: LogView,
    pub(crate) history: ControlHistory,
    pub(crate) connections: Connections,
    pub(crate) jitter: Jitter,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) role: Role,
    /// As this replica knows it; a new leader begins without one.
    pub(crate) high_watermark: Option<i64>,
    pub(crate) shutting_down: bool,
    told_high_watermark: i64,
    told_leader: Option<LeaderAndEpoch>,
    deadline_ms: i64,
    actions: Vec<Action>,
}

/// A quorum as its leader sees it, for DescribeQuorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumDescription {
    /// The leader, which is this node.
    pub leader_id: BrokerId,
    /// Its epoch.
    pub epoch: LeaderEpoch,
    /// What is committed; `None` until the leader knows.
    pub high_watermark: Option<i64>,
    /// The voters, by id.
    pub voters: Vec<ReplicaState>,
    /// The observers of late, by id.
    pub observers: Vec<ReplicaState>,
}

impl RaftCore {
    /// Begins where an earlier life has left off, and returns what is to be done first. A single voter is the leader at once.
    pub fn start(config: RaftConfig, found: Found, now_ms: i64) -> (RaftCore, Vec<Action>) {
        let bootstrap = bootstrap_peers(&config);
        let mut core = RaftCore {
            connections: Connections::new(bootstrap, config.retry_backoff_ms, config.request_timeout_ms),
            jitter: Jitter::new(config.jitter_seed),
            epoch: LeaderEpoch(0),
            role: RaftCore::unattached_forever(),
            high_watermark: None,
            shutting_down: false,
            told_high_watermark: 0,
            told_leader: None,
            deadline_ms: now_ms,
            actions: Vec::new(),
            log: found.log,
            history: found.history,
            config,
        };
        core.initialize(found.election, now_ms);
        core.poll(now_ms);
        let actions = std::mem::take(&mut core.actions);
        (core, actions)
    }

    /// Takes one event at `now_ms`, in milliseconds of a clock that does not go back, and returns what is to be done, in this order.
    pub fn step(&mut self, now_ms: i64, event: Event) -> Vec<Action> {
        match event {
            Event::Tick => {}
            Event::Request { caller, request } => self.handle_request(now_ms, caller, request),
            Event::RequestCancelled(id) => {
                if let Role::Leader(leader) = &mut self.role {
                    leader.parked_fetches.cancel(id);
                }
            }
            Event::Response { from, correlation_id, outcome } => self.handle_response(now_ms, from, correlation_id, outcome),
            Event::Appended(batches) => self.appended(now_ms, &batches),
            Event::FetchedRecordsRefused => self.fetched_records_refused(now_ms),
            Event::Flushed { end_offset } => self.flushed(now_ms, end_offset),
            Event::SnapshotCreated { id, size } => self.log.add_snapshot(id, size),
            Event::SnapshotInstalled { id, size, control_records } => self.snapshot_installed(now_ms, id, size, &control_records),
            Event::SnapshotDeleted(id) => self.log.remove_snapshot(id),
            Event::LogStartAdvanced(offset) => {
                self.log.advance_start(offset);
                self.history.truncate_before(offset - 1);
            }
            Event::Resign { epoch } => {
                if let Role::Leader(leader) = &mut self.role {
                    leader.resign_requested |= epoch == self.epoch;
                }
            }
            Event::Shutdown => self.shutting_down = true,
        }
        self.poll(now_ms);
        std::mem::take(&mut self.actions)
    }

    /// When to send [`Event::Tick`] at the latest, if nothing else happens; `i64::MAX` if never.
    pub fn next_deadline_ms(&self) -> i64 {
        self.deadline_ms
    }

    /// The epoch and its leader, as far as known.
    pub fn leader_and_epoch(&self) -> LeaderAndEpoch {
        LeaderAndEpoch { leader_id: self.role.leader_id(self.config.node_id), epoch: self.epoch }
    }

    /// The replica's state.
    pub fn role(&self) -> RoleName {
        self.role.name()
    }

    /// What is committed, as far as this replica knows.
    pub fn high_watermark(&self) -> Option<i64> {
        self.high_watermark
    }

    /// The log's outline.
    pub fn log(&self) -> &LogView {
        &self.log
    }

    /// What the control records say.
    pub fn history(&self) -> &ControlHistory {
        &self.history
    }

    /// The settings.
    pub fn config(&self) -> &RaftConfig {
        &self.config
    }

    /// The voters now.
    pub fn voters(&self) -> &VoterSet {
        self.history.last_voters()
    }

    /// Whether this replica is one of the voters.
    pub fn is_voter(&self) -> bool {
        self.voters().contains(self.config.local_key())
    }

    /// Whether this replica stands for election when there is no leader: a voter does, and one that was removed as long as that is not
    /// committed. The record that removes it may be on this replica alone, and then nobody else can be elected: those that lack the
    /// record still need this replica's vote, which the length of its log forbids (Ongaro's dissertation, 4.2.2).
    pub fn stands_for_election(&self) -> bool {
        self.is_voter() || self.was_voter_before_uncommitted_change()
    }

    fn was_voter_before_uncommitted_change(&self) -> bool {
        let Some(offset) = self.history.last_voters_offset().filter(|offset| self.high_watermark <= Some(*offset)) else { return false };
        self.history.voters_at(offset - 1).is_some_and(|voters| voters.contains(self.config.local_key()))
    }

    /// Whether a node that was told to shut down has nothing to wait for: its resignation is of no use to anyone, or has been heard.
    pub fn may_stop(&self) -> bool {
        let local = self.config.local_key();
        let remote_leader = self.leader_and_epoch().leader_id.is_some_and(|leader| leader != self.config.node_id);
        !self.is_voter() || self.voters().is_only_voter(local) || remote_leader
    }

    /// The quorum as this leader sees it; `None` if it does not lead.
    pub fn describe_quorum(&self, now_ms: i64) -> Option<QuorumDescription> {
        let Role::Leader(leader) = &self.role else { return None };
        Some(QuorumDescription {
            leader_id: self.config.node_id,
            epoch: self.epoch,
            high_watermark: leader.high_watermark,
            voters: leader.voters().cloned().collect(),
            observers: leader.observers(now_ms).cloned().collect(),
        })
    }

    /// Whether the node leads and has told so ([`Action::LeaderChanged`]).
    pub fn is_announced_leader(&self) -> bool {
        matches!(&self.role, Role::Leader(leader) if leader.announced)
    }

    pub(crate) fn leader_endpoints(&self) -> Endpoints {
        match &self.role {
            Role::Follower(state) => state.leader.endpoints.clone(),
            Role::Prospective(state) => state.leader_endpoints.clone(),
            Role::Leader(_) | Role::Resigned(_) => self.config.endpoints.clone(),
            Role::Candidate(_) | Role::Unattached(_) => Endpoints::default(),
        }
    }

    pub(crate) fn push(&mut self, action: Action) {
        if matches!(action, Action::PersistElectionState(_)) {
            self.drop_superseded_election();
        }
        self.actions.push(action);
    }

    /// The candidate of a quorum of one is its leader within the same step: one write says it all, as long as nothing that others
    /// see lies between the two.
    fn drop_superseded_election(&mut self) {
        let is_note = |action: &Action| matches!(action, Action::RoleChanged { .. } | Action::LeaderChanged(_));
        if let Some(index) = self.actions.iter().rposition(|action| !is_note(action))
            && matches!(self.actions[index], Action::PersistElectionState(_))
        {
            self.actions.remove(index);
        }
    }

    pub(crate) fn report(&mut self, anomaly: Anomaly) {
        self.push(Action::Report(anomaly));
    }

    pub(crate) fn reply(&mut self, caller: Caller, error: ottla_model::ErrorCode, body: ResponseBody) {
        let leader = self.leader_and_epoch();
        let leader_endpoints = self.leader_endpoints();
        self.push(Action::Reply { caller, response: Response { error, leader, leader_endpoints, body } });
    }

    /// Sends the request if the node is ready for one, and answers when the next one may follow.
    pub(crate) fn send_if_ready(&mut self, now_ms: i64, to: Peer, what: AskedWhat, request: impl FnOnce(&RaftCore) -> Request) -> i64 {
        if self.connections.is_ready(to.id, now_ms) {
            let request = request(self);
            let correlation_id = self.connections.sent(to.id, Asked { epoch: self.epoch, what }, now_ms);
            self.push(Action::Send { to: to.clone(), correlation_id, request });
        }
        self.connections.ready_at_ms(to.id, now_ms)
    }

    /// A voter as a node to send to; `None` if it has no endpoint for the listener that this node uses.
    pub(crate) fn voter_peer(&self, id: BrokerId) -> Option<Peer> {
        let endpoint = self.voters().get(id)?.endpoints.get(&self.config.listener)?;
        Some(Peer { id, endpoint: endpoint.clone() })
    }

    pub(crate) fn end_of_log(&self) -> OffsetAndEpoch {
        self.log.end()
    }

    fn appended(&mut self, now_ms: i64, batches: &[AppendedBatch]) {
        for batch in batches {
            self.log.append(batch);
            for (offset, record) in &batch.control_records {
                self.history.apply(*offset, record);
            }
        }
        if let Role::Leader(leader) = &mut self.role {
            leader.update_voters(self.history.last_voters());
            let end_offset = self.log.end_offset();
            let waiting = leader.parked_fetches.take_before(end_offset);
            self.answer_parked(now_ms, waiting);
            self.push(Action::Flush);
        } else {
            self.fetched_records_appended(now_ms);
        }
    }

    fn flushed(&mut self, now_ms: i64, end_offset: i64) {
        self.log.flushed(end_offset);
        if let Role::Leader(leader) = &mut self.role
            && leader.local_flushed(end_offset)
        {
            self.leader_high_watermark_advanced(now_ms);
        }
    }

    /// Tells the listeners how far the log is committed, and once that includes all of the earlier epochs, that this node leads.
    pub(crate) fn tell_progress(&mut self) {
        if let Some(high_watermark) = self.high_watermark
            && high_watermark > self.told_high_watermark
        {
            self.told_high_watermark = high_watermark;
            self.push(Action::AdvanceHighWatermark(high_watermark));
        }
        let leader_and_epoch = self.leader_and_epoch();
        if let Role::Leader(leader) = &mut self.role {
            leader.announced = leader.high_watermark.is_some_and(|high_watermark| high_watermark > leader.epoch_start_offset);
            if !leader.announced {
                return;
            }
        } else if matches!(self.role, Role::Resigned(_)) {
            return;
        }
        self.tell_leader(leader_and_epoch);
    }

    /// Tells the listeners who leads, unless they know.
    pub(crate) fn tell_leader(&mut self, leader_and_epoch: LeaderAndEpoch) {
        if self.told_leader != Some(leader_and_epoch) {
            self.told_leader = Some(leader_and_epoch);
            self.push(Action::LeaderChanged(leader_and_epoch));
        }
    }

    pub(crate) fn set_deadline(&mut self, deadline_ms: i64) {
        self.deadline_ms = deadline_ms;
    }
}

/// Static voters are known by their ids, other servers by numbers that no node has.
fn bootstrap_peers(config: &RaftConfig) -> Vec<Peer> {
    if config.bootstrap_servers.is_empty() {
        let voters = config.static_voters.iter();
        let with_endpoint = voters.filter_map(|v| Some((v.key.id, v.endpoints.get(&config.listener)?.clone())));
        return with_endpoint.map(|(id, endpoint)| Peer { id, endpoint }).collect();
    }
    let numbered = config.bootstrap_servers.iter().zip((i32::MIN..=-2).rev());
    numbered.map(|(endpoint, id)| Peer { id: BrokerId(id), endpoint: endpoint.clone() }).collect()
}
