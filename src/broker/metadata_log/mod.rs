//! The metadata log of this node: `__cluster_metadata-0` with its snapshots and the file `quorum-state`. It owns these files, does for
//! [`ottla_raft::RaftCore`] what that decides, and hands committed records to a listener. What the records mean is not known here, nor
//! how messages travel to other nodes.

mod batch;
mod control;
mod deliver;
mod error;
mod files;
mod host;
mod listener;
mod network;
mod open;
mod options;
mod perform;
mod quorum_state;
mod retention;
mod snapshot_name;
mod snapshot_reader;
mod snapshot_writer;

pub use error::{AppendError, MetadataLogError};
pub use host::{Append, MetadataLog};
pub use listener::{CommittedBatch, LoadedSnapshot, MetadataListener};
pub use network::Outgoing;
pub use options::{BATCH_BYTES_MAX, MetadataLogOptions};
pub use quorum_state::{QUORUM_STATE_FILE, QuorumStateError};
pub use snapshot_name::{SnapshotName, snapshot_file_name};
pub use snapshot_writer::{Snapshot, SnapshotQuorum, write_snapshot};

/// The directory of the metadata log within `metadata.log.dir`.
pub const METADATA_PARTITION_DIR: &str = "__cluster_metadata-0";

#[cfg(test)]
mod replication_tests;
#[cfg(test)]
mod tests;
