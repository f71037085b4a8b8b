//! Why the metadata log could not do what it was asked. Most of it ends the node: a controller that may have lost what it has promised
//! must not go on.

use std::io;
use std::path::PathBuf;

use ottla_log::StorageError;
use ottla_model::{BrokerId, LeaderEpoch};
use ottla_protocol::EncodeError;

use super::batch::BatchError;
use super::quorum_state::QuorumStateError;

/// The metadata log cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum MetadataLogError {
    /// The election state cannot be read.
    #[error(transparent)]
    QuorumState(#[from] QuorumStateError),
    /// The log's files cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file beside the log cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The log refused a batch or a read.
    #[error("the metadata log refuses {operation}: {reason}")]
    Refused {
        /// What was tried.
        operation: &'static str,
        /// The log's reason.
        reason: String,
    },
    /// A file holds what cannot be records of the metadata log.
    #[error("{path} is damaged: {error}")]
    Damaged {
        /// The file, or the directory of the log.
        path: PathBuf,
        /// What is wrong.
        error: BatchError,
    },
    /// A snapshot file does not begin or end as a snapshot does.
    #[error("{path} is not a whole snapshot: {reason}")]
    IncompleteSnapshot {
        /// The file.
        path: PathBuf,
        /// What is missing.
        reason: &'static str,
    },
    /// The log begins after offset 0, and no snapshot has what is before.
    #[error("{directory} begins at offset {start_offset}, and no snapshot holds what came before")]
    MissingSnapshot {
        /// The directory of the log.
        directory: PathBuf,
        /// Where the log begins.
        start_offset: i64,
    },
    /// A snapshot was to be made of what is not committed, or of a part of a batch.
    #[error("no snapshot can be made at offset {offset}: {reason}")]
    SnapshotPosition {
        /// The end offset of the snapshot.
        offset: i64,
        /// Why not.
        reason: &'static str,
    },
    /// The state that is built from the log does not accept a committed record.
    #[error("the metadata log cannot be replayed: {message}")]
    Replay {
        /// What the state said.
        message: String,
    },
    /// A record of a snapshot cannot be written at the version of its metadata.
    #[error("a record cannot be written: {0}")]
    Encode(#[from] EncodeError),
}

/// Records could not be appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// This node does not lead, or no longer in this epoch.
    #[error("this node does not lead epoch {epoch}; the leader is {leader_id:?} in epoch {current_epoch}")]
    NotLeader {
        /// The epoch that the records were made for.
        epoch: LeaderEpoch,
        /// The epoch now.
        current_epoch: LeaderEpoch,
        /// Its leader, if known.
        leader_id: Option<BrokerId>,
    },
    /// There is nothing to append.
    #[error("there are no records to append")]
    NoRecords,
    /// Records that belong together are too large for one batch.
    #[error("{bytes} bytes of records do not fit into one batch of {} bytes", super::BATCH_BYTES_MAX)]
    TooLarge {
        /// How large.
        bytes: usize,
    },
    /// A record cannot be written at this metadata version.
    #[error("a record cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The log cannot go on.
    #[error(transparent)]
    Log(#[from] MetadataLogError),
}
