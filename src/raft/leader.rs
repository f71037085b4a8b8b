//! What a leader keeps of the replicas that fetch from it: how far each is, whether a majority is still there, and with that the high
//! watermark (`LeaderState`). It answers no requests and sends none.

use std::collections::{BTreeMap, BTreeSet};

use ottla_model::BrokerId;

use crate::parked::ParkedFetches;
use crate::replica::{Endpoints, ReplicaKey, VoterNode, VoterSet};
use crate::role::NO_DEADLINE;
use crate::voter_change::VoterChange;

/// An observer that has not fetched for so long is forgotten.
const OBSERVER_SESSION_TIMEOUT_MS: i64 = 300_000;
/// A replica that is to become a voter must have fetched within this time.
const CAUGHT_UP_WITHIN_MS: i64 = 60 * 60 * 1000;

/// How far a replica is. Times are -1 until it has fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    /// Who it is.
    pub key: ReplicaKey,
    /// Where a voter listens; empty for an observer.
    pub endpoints: Endpoints,
    /// The end of its log as of its last fetch; of the leader, what is durable.
    pub end_offset: Option<i64>,
    /// When it last fetched.
    pub last_fetch_ms: i64,
    /// When it last had all that the leader had.
    pub last_caught_up_ms: i64,
    last_fetch_leader_end_offset: i64,
    has_acknowledged_leader: bool,
}

impl ReplicaState {
    fn new(key: ReplicaKey, endpoints: Endpoints) -> ReplicaState {
        ReplicaState {
            key,
            endpoints,
            end_offset: None,
            last_fetch_ms: -1,
            last_caught_up_ms: -1,
            last_fetch_leader_end_offset: -1,
            has_acknowledged_leader: false,
        }
    }

    fn fetched(&mut self, now_ms: i64, end_offset: i64, leader_end_offset: i64) {
        // The previous fetch's time counts if this fetch has what the leader had then.
        if end_offset >= leader_end_offset {
            self.last_caught_up_ms = self.last_caught_up_ms.max(now_ms);
        } else if self.last_fetch_leader_end_offset > 0 && end_offset >= self.last_fetch_leader_end_offset {
            self.last_caught_up_ms = self.last_caught_up_ms.max(self.last_fetch_ms);
        }
        self.last_fetch_leader_end_offset = leader_end_offset;
        self.last_fetch_ms = self.last_fetch_ms.max(now_ms);
        self.end_offset = Some(end_offset);
        self.has_acknowledged_leader = true;
    }
}

/// What a new leader starts from.
pub(crate) struct LeaderStart<'a> {
    pub(crate) local: VoterNode,
    pub(crate) voters: &'a VoterSet,
    pub(crate) granting_voters: Vec<BrokerId>,
    pub(crate) epoch_start_offset: i64,
    pub(crate) supports_reconfiguration: bool,
    pub(crate) fetch_timeout_ms: i64,
    pub(crate) now_ms: i64,
}

/// A leader's view of the quorum.
#[derive(Debug)]
pub(crate) struct LeaderState {
    pub(crate) local: VoterNode,
    pub(crate) epoch_start_offset: i64,
    pub(crate) granting_voters: Vec<BrokerId>,
    pub(crate) high_watermark: Option<i64>,
    /// The listeners have been told of this leadership, which waits until the epoch's first record is committed.
    pub(crate) announced: bool,
    pub(crate) resign_requested: bool,
    pub(crate) parked_fetches: ParkedFetches,
    pub(crate) voter_change: Option<VoterChange>,
    /// Below `kraft.version` 1: what the voters say of themselves, which the log cannot hold yet.
    pub(crate) volatile_voters: Option<VoterSet>,
    begin_quorum_epoch_deadline_ms: i64,
    check_quorum_timeout_ms: i64,
    check_quorum_deadline_ms: i64,
    begin_quorum_epoch_period_ms: i64,
    fetched_voters: BTreeSet<BrokerId>,
    voters: BTreeMap<BrokerId, ReplicaState>,
    observers: BTreeMap<ReplicaKey, ReplicaState>,
}

impl LeaderState {
    pub(crate) fn new(start: LeaderStart<'_>) -> LeaderState {
        // One and a half fetch timeouts, so that a fetch on its way still counts.
        let check_quorum_timeout_ms = start.fetch_timeout_ms * 3 / 2;
        let mut state = LeaderState {
            epoch_start_offset: start.epoch_start_offset,
            granting_voters: start.granting_voters,
            high_watermark: None,
            announced: false,
            resign_requested: false,
            parked_fetches: ParkedFetches::default(),
            voter_change: None,
            volatile_voters: None,
            begin_quorum_epoch_deadline_ms: start.now_ms,
            check_quorum_timeout_ms,
            check_quorum_deadline_ms: start.now_ms + check_quorum_timeout_ms,
            begin_quorum_epoch_period_ms: start.fetch_timeout_ms / 2,
            fetched_voters: BTreeSet::new(),
            voters: BTreeMap::new(),
            observers: BTreeMap::new(),
            local: start.local,
        };
        if !start.supports_reconfiguration {
            state.volatile_voters = start.voters.with_updated_ignoring_directory(state.local.clone());
        }
        state.update_voters(start.voters);
        state.replica_mut(state.local.key).has_acknowledged_leader = true;
        state
    }

    /// The voters' states, by id.
    pub(crate) fn voters(&self) -> impl Iterator<Item = &ReplicaState> {
        self.voters.values()
    }

    /// The observers that have fetched of late.
    pub(crate) fn observers(&self, now_ms: i64) -> impl Iterator<Item = &ReplicaState> {
        let local = self.local.key;
        self.observers.values().filter(move |o| o.key == local || now_ms - o.last_fetch_ms < OBSERVER_SESSION_TIMEOUT_MS)
    }

    /// The voters have changed, or how the log describes them.
    pub(crate) fn update_voters(&mut self, voters: &VoterSet) {
        let mut old_voters = std::mem::take(&mut self.voters);
        for voter in voters.iter() {
            let of_voter = old_voters.get(&voter.key.id).is_some_and(|state| state.key.covers(voter.key));
            let known = if of_voter { old_voters.remove(&voter.key.id) } else { self.observers.remove(&voter.key) };
            let mut state = known.unwrap_or_else(|| ReplicaState::new(voter.key, Endpoints::default()));
            state.key = voter.key;
            state.endpoints = voter.endpoints.clone();
            self.voters.insert(voter.key.id, state);
        }
        for mut removed in old_voters.into_values() {
            removed.endpoints = Endpoints::default();
            self.observers.entry(removed.key).or_insert(removed);
        }
    }

    /// The leader's own log is durable up to here. Answers whether the high watermark has moved.
    pub(crate) fn local_flushed(&mut self, flushed_offset: i64) -> bool {
        let local = self.local.key;
        let state = self.replica_mut(local);
        state.end_offset = state.end_offset.max(Some(flushed_offset));
        self.advance_high_watermark()
    }

    /// A replica fetches from `end_offset` on. Answers whether the high watermark has moved.
    pub(crate) fn replica_fetched(&mut self, replica: ReplicaKey, end_offset: i64, leader_end_offset: i64, now_ms: i64) -> bool {
        // A negative id reads the log without being a replica of it.
        if replica.id.0 < 0 || replica.id == self.local.key.id {
            return false;
        }
        self.forget_lost_observers(now_ms);
        self.replica_mut(replica).fetched(now_ms, end_offset, leader_end_offset);
        self.voter_is_alive(replica, now_ms);
        self.is_voter(replica) && self.advance_high_watermark()
    }

    /// A voter has fetched something: once a majority has, the leader may lead on.
    pub(crate) fn voter_is_alive(&mut self, replica: ReplicaKey, now_ms: i64) {
        if replica.id == self.local.key.id || !self.is_voter(replica) {
            return;
        }
        self.fetched_voters.insert(replica.id);
        // The leader counts itself, if it is a voter: it may be on its way out.
        let leader_counts = usize::from(self.voters.contains_key(&self.local.key.id));
        if self.fetched_voters.len() >= self.voters.len() / 2 + 1 - leader_counts {
            self.fetched_voters.clear();
            self.check_quorum_deadline_ms = now_ms + self.check_quorum_timeout_ms;
        }
    }

    /// When the leader must have heard from a majority; never, if it is alone.
    pub(crate) fn check_quorum_deadline_ms(&self) -> i64 {
        if self.has_other_voters() { self.check_quorum_deadline_ms } else { NO_DEADLINE }
    }

    fn has_other_voters(&self) -> bool {
        self.voters.keys().any(|&id| id != self.local.key.id)
    }

    /// When to tell the voters again who leads; never, if there is nobody to be told.
    pub(crate) fn begin_quorum_epoch_deadline_ms(&self) -> i64 {
        if self.has_other_voters() { self.begin_quorum_epoch_deadline_ms } else { NO_DEADLINE }
    }

    /// The voters that have to be told, again, who leads; to be called when the deadline for it has come.
    pub(crate) fn begin_quorum_epoch_receivers(&mut self, now_ms: i64) -> Vec<ReplicaKey> {
        self.begin_quorum_epoch_deadline_ms = now_ms + self.begin_quorum_epoch_period_ms;
        let silent = self.voters.values().filter(|voter| {
            voter.key.id != self.local.key.id
                && (voter.last_fetch_ms < 0 || now_ms - voter.last_fetch_ms >= self.begin_quorum_epoch_period_ms)
        });
        silent.map(|voter| voter.key).collect()
    }

    /// The voter knows its leader.
    pub(crate) fn acknowledged_by(&mut self, voter: BrokerId) {
        if let Some(state) = self.voters.get_mut(&voter) {
            state.has_acknowledged_leader = true;
        }
    }

    /// The voters besides the leader, those with most records first.
    pub(crate) fn successors(&self) -> Vec<ReplicaKey> {
        self.by_descending_end_offset().into_iter().map(|v| v.key).filter(|key| !key.covers(self.local.key)).collect()
    }

    /// Whether a replica has caught up of late, so that making it a voter does not stop the quorum.
    pub(crate) fn is_caught_up(&self, replica: ReplicaKey, now_ms: i64) -> bool {
        self.observers.get(&replica).is_some_and(|state| {
            state.last_caught_up_ms > 0 && state.last_fetch_ms > 0 && state.last_fetch_ms > now_ms - CAUGHT_UP_WITHIN_MS
        })
    }

    fn is_voter(&self, replica: ReplicaKey) -> bool {
        self.voters.get(&replica.id).is_some_and(|state| state.key.covers(replica))
    }

    fn replica_mut(&mut self, replica: ReplicaKey) -> &mut ReplicaState {
        if self.is_voter(replica) {
            return self.voters.get_mut(&replica.id).expect("is_voter has found it");
        }
        self.observers.entry(replica).or_insert_with(|| ReplicaState::new(replica, Endpoints::default()))
    }

    fn forget_lost_observers(&mut self, now_ms: i64) {
        let local = self.local.key;
        self.observers.retain(|key, o| *key == local || o.last_fetch_ms < 0 || now_ms - o.last_fetch_ms < OBSERVER_SESSION_TIMEOUT_MS);
    }

    fn by_descending_end_offset(&self) -> Vec<&ReplicaState> {
        let mut voters: Vec<_> = self.voters.values().collect();
        voters.sort_by_key(|voter| (std::cmp::Reverse(voter.end_offset), voter.key));
        voters
    }

    /// The largest offset that a majority has, once it lies beyond the start of this epoch: only then is it sure that no later leader
    /// lacks what is before it. It never goes back, though a new voter may have less.
    pub(crate) fn advance_high_watermark(&mut self) -> bool {
        let majority_has = self.by_descending_end_offset().get(self.voters.len() / 2).and_then(|voter| voter.end_offset);
        match majority_has {
            Some(offset) if offset > self.epoch_start_offset && Some(offset) > self.high_watermark => {
                self.high_watermark = Some(offset);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::{Endpoint, SupportedKRaftVersions};
    use ottla_model::Uuid;

    fn voter(id: i32) -> VoterNode {
        VoterNode {
            key: ReplicaKey::new(BrokerId(id), Uuid::from_u64_pair(9, id as u64)),
            endpoints: Endpoints::single("C", Endpoint { host: "h".into(), port: 1 }),
            kraft_versions: SupportedKRaftVersions { min: 0, max: 1 },
        }
    }

    fn leader(voters: i32) -> LeaderState {
        LeaderState::new(LeaderStart {
            local: voter(1),
            voters: &VoterSet::new((1..=voters).map(voter)),
            granting_voters: vec![BrokerId(1)],
            epoch_start_offset: 10,
            supports_reconfiguration: true,
            fetch_timeout_ms: 2000,
            now_ms: 0,
        })
    }

    #[test]
    fn the_high_watermark_waits_for_a_record_of_this_epoch() {
        let mut leader = leader(3);
        assert!(!leader.local_flushed(12));
        assert!(!leader.replica_fetched(voter(2).key, 10, 12, 5), "10 is the epoch's start: nothing of it is on a majority");
        assert_eq!(leader.high_watermark, None);
        assert!(leader.replica_fetched(voter(2).key, 11, 12, 6));
        assert_eq!(leader.high_watermark, Some(11));
    }

    #[test]
    fn two_followers_commit_before_the_leader_has_flushed() {
        let mut leader = leader(3);
        assert!(!leader.replica_fetched(voter(2).key, 12, 12, 5));
        assert!(leader.replica_fetched(voter(3).key, 12, 12, 5));
        assert_eq!(leader.high_watermark, Some(12));
    }

    #[test]
    fn an_observer_commits_nothing() {
        let mut leader = leader(3);
        leader.local_flushed(12);
        assert!(!leader.replica_fetched(voter(7).key, 12, 12, 5));
        let same_node_other_disk = ReplicaKey::new(BrokerId(2), Uuid::from_u64_pair(8, 8));
        assert!(!leader.replica_fetched(same_node_other_disk, 12, 12, 5));
        assert_eq!(leader.observers(6).count(), 2);
        assert_eq!(leader.observers(5 + OBSERVER_SESSION_TIMEOUT_MS).count(), 0);
    }

    #[test]
    fn the_high_watermark_stays_when_a_voter_joins_that_has_less() {
        let mut leader = leader(1);
        leader.local_flushed(12);
        assert_eq!(leader.high_watermark, Some(12));
        leader.replica_fetched(voter(2).key, 11, 12, 5);
        leader.update_voters(&VoterSet::new([voter(1), voter(2)]));
        assert!(!leader.advance_high_watermark());
        assert_eq!(leader.high_watermark, Some(12));
    }

    #[test]
    fn a_majority_keeps_the_leader_in_office() {
        let mut leader = leader(5);
        assert_eq!(leader.check_quorum_deadline_ms(), 3000);
        leader.voter_is_alive(voter(2).key, 1000);
        assert_eq!(leader.check_quorum_deadline_ms(), 3000);
        leader.voter_is_alive(voter(3).key, 1100);
        assert_eq!(leader.check_quorum_deadline_ms(), 4100);
    }

    #[test]
    fn successors_are_ordered_by_what_they_have() {
        let mut leader = leader(3);
        leader.replica_fetched(voter(2).key, 8, 12, 5);
        leader.replica_fetched(voter(3).key, 11, 12, 5);
        assert_eq!(leader.successors(), vec![voter(3).key, voter(2).key]);
    }
}
