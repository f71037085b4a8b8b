//! The states of a replica of the metadata log and the data that each of them has. Which transition is allowed when is the business of
//! `transitions`; this file only says what the states are.
//!
//! | state | entered | left |
//! |---|---|---|
//! | Unattached | a higher epoch without a leader was seen; a vote was granted; an election was lost | a leader appears (Follower); the election timeout (Prospective) |
//! | Prospective | a voter has no leader: it asks whether it would be elected | a majority would (Candidate); refused or timeout (Follower of the leader it knew, or Unattached) |
//! | Candidate | epoch + 1, voted for itself | a majority granted (Leader); a leader appears (Follower); timeout (Prospective) |
//! | Leader | elected | a higher epoch (Follower, Unattached); resignation, or no majority fetches any more (Resigned) |
//! | Follower | a leader is known | the fetch timeout (a voter: Prospective); a higher epoch |
//! | Resigned | was the leader of this epoch, also in an earlier life | the election timeout (Unattached in epoch + 1); a higher epoch |
//!
//! An observer is a replica that is no voter: Unattached or Follower, and it never stands for election.

use std::collections::BTreeSet;
use std::fmt;

use ottla_model::{BrokerId, LeaderEpoch};

use crate::election::EpochElection;
use crate::leader::LeaderState;
use crate::replica::{Endpoints, OffsetAndEpoch, ReplicaKey};

/// Never: a deadline that does not come.
pub(crate) const NO_DEADLINE: i64 = i64::MAX;

/// What has to survive a restart for the replica not to vote twice (`ElectionState`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionState {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its leader, if known.
    pub leader_id: Option<BrokerId>,
    /// Who got the vote, if anyone.
    pub voted: Option<ReplicaKey>,
}

impl ElectionState {
    /// Whether the vote was given to this replica; a vote from `kraft.version` 0 names no directory.
    pub fn voted_for(&self, replica: ReplicaKey) -> bool {
        self.voted.is_some_and(|voted| voted.covers(replica))
    }
}

/// A leader and where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownLeader {
    pub(crate) id: BrokerId,
    pub(crate) endpoints: Endpoints,
}

#[derive(Debug)]
pub(crate) struct UnattachedState {
    /// The leader's id is known from the election state, but not where it listens.
    pub(crate) leader_id: Option<BrokerId>,
    pub(crate) voted: Option<ReplicaKey>,
    pub(crate) election_deadline_ms: i64,
}

#[derive(Debug)]
pub(crate) struct ProspectiveState {
    pub(crate) leader_id: Option<BrokerId>,
    pub(crate) leader_endpoints: Endpoints,
    pub(crate) voted: Option<ReplicaKey>,
    pub(crate) election: EpochElection,
    pub(crate) election_deadline_ms: i64,
}

#[derive(Debug)]
pub(crate) struct CandidateState {
    pub(crate) election: EpochElection,
    pub(crate) election_deadline_ms: i64,
}

#[derive(Debug)]
pub(crate) struct FollowerState {
    pub(crate) leader: KnownLeader,
    pub(crate) voted: Option<ReplicaKey>,
    pub(crate) fetch_deadline_ms: i64,
    /// Since the leader has answered a fetch, pre-votes are refused: it is alive.
    pub(crate) has_fetched_from_leader: bool,
    /// When to look again whether the log describes this node as it is.
    pub(crate) update_voter_deadline_ms: i64,
    /// Below `kraft.version` 1 every new leader has to be told once what this voter can do.
    pub(crate) has_updated_leader: bool,
    pub(crate) fetching_snapshot: Option<FetchingSnapshot>,
    /// Fetched records are on their way into the log; until they are there, nothing more is fetched.
    pub(crate) appending: Option<AppendingFetched>,
}

/// A snapshot of which `received` bytes are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FetchingSnapshot {
    pub(crate) id: OffsetAndEpoch,
    pub(crate) received: i64,
    /// All of it is here, and the host puts it in the place of the log.
    pub(crate) installing: bool,
}

/// What came with fetched records and holds once they are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppendingFetched {
    pub(crate) leader_high_watermark: Option<i64>,
}

#[derive(Debug)]
pub(crate) struct ResignedState {
    pub(crate) unacknowledged: BTreeSet<BrokerId>,
    pub(crate) preferred_successors: Vec<ReplicaKey>,
    pub(crate) election_deadline_ms: i64,
}

#[derive(Debug)]
pub(crate) enum Role {
    Unattached(UnattachedState),
    Prospective(ProspectiveState),
    Candidate(CandidateState),
    Leader(Box<LeaderState>),
    Follower(FollowerState),
    Resigned(ResignedState),
}

/// The name of a replica's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// No leader is known.
    Unattached,
    /// Asks whether it would be elected.
    Prospective,
    /// Stands for election.
    Candidate,
    /// Leads.
    Leader,
    /// Follows a leader.
    Follower,
    /// Has led this epoch.
    Resigned,
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RoleName::Unattached => "unattached",
            RoleName::Prospective => "prospective",
            RoleName::Candidate => "candidate",
            RoleName::Leader => "leader",
            RoleName::Follower => "follower",
            RoleName::Resigned => "resigned",
        })
    }
}

impl Role {
    pub(crate) fn name(&self) -> RoleName {
        match self {
            Role::Unattached(_) => RoleName::Unattached,
            Role::Prospective(_) => RoleName::Prospective,
            Role::Candidate(_) => RoleName::Candidate,
            Role::Leader(_) => RoleName::Leader,
            Role::Follower(_) => RoleName::Follower,
            Role::Resigned(_) => RoleName::Resigned,
        }
    }

    /// The leader that this state knows; `local` where that is the node itself.
    pub(crate) fn leader_id(&self, local: BrokerId) -> Option<BrokerId> {
        match self {
            Role::Unattached(state) => state.leader_id,
            Role::Prospective(state) => state.leader_id,
            Role::Candidate(_) => None,
            Role::Leader(_) | Role::Resigned(_) => Some(local),
            Role::Follower(state) => Some(state.leader.id),
        }
    }

    /// Who got this epoch's vote. A leader's vote is not kept: its leadership says as much.
    pub(crate) fn voted(&self, local: ReplicaKey) -> Option<ReplicaKey> {
        match self {
            Role::Unattached(state) => state.voted,
            Role::Prospective(state) => state.voted,
            Role::Candidate(_) => Some(local),
            Role::Follower(state) => state.voted,
            Role::Leader(_) | Role::Resigned(_) => None,
        }
    }

    /// Whether this state would give its vote, or pre-vote, to `candidate` (`EpochState.canGrantVote`).
    pub(crate) fn can_grant_vote(&self, candidate: ReplicaKey, log_is_up_to_date: bool, pre_vote: bool) -> bool {
        let without_leader = |leader_id: Option<BrokerId>, voted: Option<ReplicaKey>| match voted {
            _ if pre_vote => log_is_up_to_date,
            Some(voted) => voted.covers(candidate),
            None => leader_id.is_none() && log_is_up_to_date,
        };
        match self {
            Role::Unattached(state) => without_leader(state.leader_id, state.voted),
            Role::Prospective(state) => without_leader(state.leader_id, state.voted),
            Role::Follower(state) => pre_vote && !state.has_fetched_from_leader && log_is_up_to_date,
            Role::Candidate(_) | Role::Resigned(_) => pre_vote && log_is_up_to_date,
            Role::Leader(_) => false,
        }
    }
}
