//! What replicas of the metadata log say to each other, freed from the layout on the wire (`wire` reads and writes that).
//! One response has one shape: an error, the leader as the answering node knows it, and what the request asked for.

use bytes::Bytes;
use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};

use crate::replica::{Endpoints, OffsetAndEpoch, ReplicaKey, SupportedKRaftVersions};

/// The leader of an epoch, if one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderAndEpoch {
    /// The leader.
    pub leader_id: Option<BrokerId>,
    /// The epoch.
    pub epoch: LeaderEpoch,
}

impl Default for LeaderAndEpoch {
    /// Before anything is known.
    fn default() -> LeaderAndEpoch {
        LeaderAndEpoch { leader_id: None, epoch: LeaderEpoch(0) }
    }
}

/// A request between replicas.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A candidate or prospective candidate asks for a vote.
    Vote(VoteRequest),
    /// A new leader announces itself.
    BeginQuorumEpoch(BeginQuorumEpochRequest),
    /// A leader resigns.
    EndQuorumEpoch(EndQuorumEpochRequest),
    /// A replica asks for records.
    Fetch(FetchRequest),
    /// A replica asks for a part of a snapshot.
    FetchSnapshot(FetchSnapshotRequest),
    /// A node shall become a voter.
    AddVoter(AddVoterRequest),
    /// A voter shall be none any more.
    RemoveVoter(RemoveVoterRequest),
    /// A voter describes itself.
    UpdateVoter(UpdateVoterRequest),
    /// A leader asks a node that is to become a voter for its levels of `kraft.version`.
    ApiVersions,
}

/// See [`Request::Vote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoteRequest {
    /// The candidate's epoch.
    pub epoch: LeaderEpoch,
    /// The candidate.
    pub candidate: ReplicaKey,
    /// The voter that is meant; `None` in version 0.
    pub voter: Option<ReplicaKey>,
    /// The end of the candidate's log.
    pub last: OffsetAndEpoch,
    /// Only asks whether the vote would be granted (KIP-996).
    pub pre_vote: bool,
}

/// See [`Request::BeginQuorumEpoch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginQuorumEpochRequest {
    /// The leader's epoch.
    pub epoch: LeaderEpoch,
    /// The leader.
    pub leader_id: BrokerId,
    /// Where it listens; empty in version 0.
    pub leader_endpoints: Endpoints,
    /// The voter that is meant; `None` in version 0.
    pub voter: Option<ReplicaKey>,
}

/// See [`Request::EndQuorumEpoch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndQuorumEpochRequest {
    /// The epoch that ends.
    pub epoch: LeaderEpoch,
    /// Its leader.
    pub leader_id: BrokerId,
    /// Where it listens; empty in version 0.
    pub leader_endpoints: Endpoints,
    /// Who should lead next, best first.
    pub preferred_successors: Vec<ReplicaKey>,
}

/// See [`Request::Fetch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// The epoch that the replica is in.
    pub epoch: LeaderEpoch,
    /// Who fetches; negative for a reader that is no replica.
    pub replica: ReplicaKey,
    /// The end of its log.
    pub position: OffsetAndEpoch,
    /// The high watermark that it knows; `i64::MAX` from a replica that wants no news of it (before version 18).
    pub high_watermark: Option<i64>,
    /// How many bytes it takes.
    pub max_bytes: i32,
    /// How long it waits for records or a high watermark.
    pub max_wait_ms: i32,
}

/// See [`Request::FetchSnapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchSnapshotRequest {
    /// The epoch that the replica is in.
    pub epoch: LeaderEpoch,
    /// Who fetches.
    pub replica: ReplicaKey,
    /// Which snapshot.
    pub snapshot_id: OffsetAndEpoch,
    /// From which byte on.
    pub position: i64,
    /// How many bytes it takes.
    pub max_bytes: i32,
}

/// See [`Request::AddVoter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddVoterRequest {
    /// The new voter.
    pub voter: ReplicaKey,
    /// Where it listens.
    pub endpoints: Endpoints,
    /// Whether to answer when the change is committed, rather than appended (KIP-1186).
    pub ack_when_committed: bool,
}

/// See [`Request::RemoveVoter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoveVoterRequest {
    /// The voter to remove.
    pub voter: ReplicaKey,
}

/// See [`Request::UpdateVoter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateVoterRequest {
    /// The epoch that the voter is in.
    pub epoch: LeaderEpoch,
    /// The voter.
    pub voter: ReplicaKey,
    /// Where it listens.
    pub endpoints: Endpoints,
    /// What it can work with.
    pub kraft_versions: SupportedKRaftVersions,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// What went wrong.
    pub error: ErrorCode,
    /// The leader and epoch that the answering node knows.
    pub leader: LeaderAndEpoch,
    /// Where that leader listens, as far as known.
    pub leader_endpoints: Endpoints,
    /// What was asked for.
    pub body: ResponseBody,
}

/// What a response says beyond error and leader.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseBody {
    /// Answers [`Request::Vote`].
    Vote {
        /// The vote is, or would be, the candidate's.
        granted: bool,
    },
    /// Answers [`Request::BeginQuorumEpoch`].
    BeginQuorumEpoch,
    /// Answers [`Request::EndQuorumEpoch`].
    EndQuorumEpoch,
    /// Answers [`Request::Fetch`].
    Fetch(FetchAnswer),
    /// Answers [`Request::FetchSnapshot`].
    FetchSnapshot(FetchSnapshotAnswer),
    /// Answers [`Request::AddVoter`].
    AddVoter {
        /// What to tell the operator.
        message: Option<String>,
    },
    /// Answers [`Request::RemoveVoter`].
    RemoveVoter {
        /// What to tell the operator.
        message: Option<String>,
    },
    /// Answers [`Request::UpdateVoter`].
    UpdateVoter,
    /// Answers [`Request::ApiVersions`].
    ApiVersions {
        /// The node's levels of `kraft.version`; `None` if it does not name the feature.
        kraft_versions: Option<SupportedKRaftVersions>,
    },
}

/// Records, or what has to happen before there can be any.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchAnswer {
    /// The leader's high watermark, once it has one.
    pub high_watermark: Option<i64>,
    /// The first offset of the leader's log.
    pub log_start_offset: i64,
    /// The rest.
    pub outcome: FetchOutcome,
}

/// See [`FetchAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub enum FetchOutcome {
    /// The log has no more.
    NoRecords,
    /// Of an answer to be sent: the host reads the records from its log.
    FromLog {
        /// The first offset.
        offset: i64,
        /// No more bytes than this, but always the first batch.
        max_bytes: i32,
    },
    /// Of an answer that came: record batches.
    Records(Bytes),
    /// The replica's log has another history: it has to cut it at this epoch's end and ask again.
    Diverging(OffsetAndEpoch),
    /// The replica has to fetch this snapshot first.
    Snapshot(OffsetAndEpoch),
}

/// A part of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchSnapshotAnswer {
    /// Which snapshot; `None` in an error.
    pub snapshot_id: Option<OffsetAndEpoch>,
    /// The snapshot's size in bytes.
    pub size: i64,
    /// Where the part begins.
    pub position: i64,
    /// The part.
    pub part: SnapshotPart,
}

/// See [`FetchSnapshotAnswer`].
#[derive(Clone, Debug, PartialEq)]
pub enum SnapshotPart {
    /// Nothing.
    Empty,
    /// Of an answer to be sent: the host reads up to so many bytes of the snapshot, from the answer's position on.
    FromSnapshot {
        /// No more bytes than this.
        max_bytes: i32,
    },
    /// Of an answer that came.
    Bytes(Bytes),
}
