//! The metadata quorum: KRaft (KIP-595, 630, 853, 996) as one step function. An event goes in with the time, actions come out; there is
//! no clock, file, socket, lock or randomness here. How the log is kept on disk and how messages get to other nodes is the host's
//! business, what the records of the log mean is the controller's.
//!
//! Beginning: [`RaftCore::start`]; then [`RaftCore::step`] for everything that happens.

mod config;
mod connections;
mod core;
mod election;
mod event;
mod fetch;
mod follow;
mod history;
mod leader;
mod log_view;
mod message;
mod parked;
mod poll;
mod quorum_epoch;
mod replica;
mod respond;
mod role;
mod transitions;
mod vote;
mod voter_change;
mod voter_requests;
pub mod wire;

pub use config::RaftConfig;
pub use core::{Found, QuorumDescription, RaftCore};
pub use event::{Action, Anomaly, Caller, CorrelationId, Event, Peer, PersistedElection, RequestFailure, RequestId};
pub use history::{ControlHistory, LogHistory};
pub use leader::ReplicaState;
pub use log_view::{AppendedBatch, ControlRecord, LogView, OffsetValidation};
pub use message::{
    AddVoterRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchAnswer, FetchOutcome, FetchRequest, FetchSnapshotAnswer,
    FetchSnapshotRequest, LeaderAndEpoch, RemoveVoterRequest, Request, Response, ResponseBody, SnapshotPart, UpdateVoterRequest,
    VoteRequest,
};
pub use replica::{Endpoint, Endpoints, KRAFT_VERSION_MAX, OffsetAndEpoch, ReplicaKey, SupportedKRaftVersions, VoterNode, VoterSet};
pub use role::{ElectionState, RoleName};
