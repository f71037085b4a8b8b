//! What can happen to a replica of the metadata log, and what it wants done: the whole traffic between the rules of the quorum and the
//! node that hosts them. The host performs the actions of a step in their order and before the next step; an action that fails ends
//! the node, for what the rules have decided can no longer be taken back.

use bytes::Bytes;
use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};

use crate::log_view::{AppendedBatch, ControlRecord};
use crate::message::{LeaderAndEpoch, Request, Response};
use crate::replica::{Endpoint, OffsetAndEpoch, ReplicaKey};
use crate::role::{ElectionState, RoleName};

/// The host's name for a request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// The core's name for a request that it has sent. The numbers begin anew with each start: an answer to a request of an earlier life must
/// not be handed in, and on a connection of its own it cannot come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CorrelationId(pub u64);

/// A node to send to. A bootstrap server, whose id is not known, has an id below -1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its id.
    pub id: BrokerId,
    /// Where it listens.
    pub endpoint: Endpoint,
}

/// Who asks, and in what way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Names the request in the reply.
    pub id: RequestId,
    /// The listener that the request came by: endpoints in the answer are those of this listener.
    pub listener: String,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Time has passed. Due whenever `RaftCore::next_deadline_ms` has come.
    Tick,
    /// Another node asks.
    Request {
        /// Who.
        caller: Caller,
        /// What.
        request: Request,
    },
    /// The caller of a request that waits has gone.
    RequestCancelled(RequestId),
    /// A node answers, or does not.
    Response {
        /// The node that was asked.
        from: BrokerId,
        /// The request that this answers.
        correlation_id: CorrelationId,
        /// The answer.
        outcome: Result<Response, RequestFailure>,
    },
    /// Batches are in the log: after [`Action::AppendControlRecords`], [`Action::AppendFetched`], or the leader's own records.
    Appended(Vec<AppendedBatch>),
    /// Fetched records did not pass the checks, and none of them is in the log.
    FetchedRecordsRefused,
    /// What is before this offset survives a crash: after [`Action::Flush`].
    Flushed {
        /// The end of what is durable.
        end_offset: i64,
    },
    /// The node has made a snapshot of its own state.
    SnapshotCreated {
        /// Its id.
        id: OffsetAndEpoch,
        /// Its size in bytes.
        size: u64,
    },
    /// A fetched snapshot has taken the place of the log: after [`Action::InstallSnapshot`].
    SnapshotInstalled {
        /// Its id.
        id: OffsetAndEpoch,
        /// Its size in bytes.
        size: u64,
        /// Its control records.
        control_records: Vec<ControlRecord>,
    },
    /// Retention has deleted a snapshot.
    SnapshotDeleted(OffsetAndEpoch),
    /// Retention has deleted what is before this offset.
    LogStartAdvanced(i64),
    /// Whoever leads by this node wants it to stop leading (`RaftClient.resign`).
    Resign {
        /// The epoch to resign from; an earlier one is over anyway.
        epoch: LeaderEpoch,
    },
    /// The node is to stop: a leader resigns, nobody stands for election any more.
    Shutdown,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    /// The node cannot be reached, or the connection broke.
    Disconnected,
    /// The node does not know the request, or not at a version that can carry it.
    UnsupportedVersion,
    /// The node refuses the request as a whole.
    Refused(ErrorCode),
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write the election state, durably: nothing that follows may happen if it is lost.
    PersistElectionState(PersistedElection),
    /// Append one batch of control records in this epoch at the end of the log.
    AppendControlRecords {
        /// The epoch.
        epoch: LeaderEpoch,
        /// The records.
        records: Vec<ControlRecord>,
    },
    /// Check and append what a leader of this epoch has sent.
    AppendFetched {
        /// The epoch; batches of a later one are refused.
        epoch: LeaderEpoch,
        /// Record batches, the last one perhaps cut short.
        records: Bytes,
    },
    /// Make the log durable.
    Flush,
    /// Cut the log: the records from this offset on are gone.
    Truncate {
        /// The new end.
        offset: i64,
    },
    /// Keep a part of a snapshot that is being fetched; the part at position 0 begins a new one.
    StoreSnapshotPart {
        /// The snapshot.
        id: OffsetAndEpoch,
        /// Where the part belongs.
        position: i64,
        /// The part.
        part: Bytes,
    },
    /// The snapshot is complete: make it durable, empty the log, and continue after it.
    InstallSnapshot {
        /// The snapshot.
        id: OffsetAndEpoch,
    },
    /// Ask another node.
    Send {
        /// The node.
        to: Peer,
        /// To be given back with the answer.
        correlation_id: CorrelationId,
        /// The question.
        request: Request,
    },
    /// Answer.
    Reply {
        /// The request.
        caller: Caller,
        /// The answer.
        response: Response,
    },
    /// Records before this offset are committed.
    AdvanceHighWatermark(i64),
    /// Tell those who use the log who leads. The node's own leadership is told only when all records from before are committed.
    LeaderChanged(LeaderAndEpoch),
    /// For the log of the operator.
    RoleChanged {
        /// The state.
        role: RoleName,
        /// The epoch.
        epoch: LeaderEpoch,
        /// The leader, if known.
        leader_id: Option<BrokerId>,
    },
    /// For the log of the operator: something that should not be.
    Report(Anomaly),
}

/// An election state and in which version of the file it is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedElection {
    /// The state.
    pub state: ElectionState,
    /// `kraft.version`, which is the file's version too.
    pub kraft_version: i16,
    /// The voters, which version 0 lists.
    pub voters: Vec<BrokerId>,
}

/// What a correct quorum does not do, or what an operator must know. The message in question was ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Anomaly {
    /// Two leaders in one epoch.
    #[error("node {claimed} claims to lead epoch {epoch}, which {known:?} leads")]
    TwoLeaders {
        /// The epoch.
        epoch: LeaderEpoch,
        /// The leader that is known.
        known: Option<BrokerId>,
        /// The other one.
        claimed: BrokerId,
    },
    /// A leader is known that no address is known of.
    #[error("node {leader} leads epoch {epoch}, but where it listens is not known")]
    UnknownLeaderEndpoint {
        /// The epoch.
        epoch: LeaderEpoch,
        /// The leader.
        leader: BrokerId,
    },
    /// The leader wants committed records gone.
    #[error("the leader wants the log cut at {offset}, below the high watermark {high_watermark}")]
    TruncationBelowHighWatermark {
        /// Where.
        offset: i64,
        /// The high watermark.
        high_watermark: i64,
    },
    /// Another node answers with an error that the protocol does not foresee here.
    #[error("node {from} answers with {error}")]
    UnexpectedError {
        /// The node.
        from: BrokerId,
        /// The error.
        error: ErrorCode,
    },
    /// An answer that does not fit what was asked.
    #[error("node {from} answers something that was not asked")]
    UnexpectedAnswer {
        /// The node.
        from: BrokerId,
    },
    /// The leader heard of no majority for too long.
    #[error("no majority of the voters has fetched for {timeout_ms} ms: resigning from epoch {epoch}")]
    QuorumLost {
        /// The epoch.
        epoch: LeaderEpoch,
        /// How long.
        timeout_ms: i64,
    },
    /// A message is meant for another replica than this.
    #[error("a message is meant for replica {meant}, not for {local}")]
    NotThisReplica {
        /// Whom it is meant for.
        meant: ReplicaKey,
        /// Who this is.
        local: ReplicaKey,
    },
}
