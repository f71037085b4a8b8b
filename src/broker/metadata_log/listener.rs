//! What the metadata log tells those who build state from it. Everything comes in the order of the log, and nothing before it is
//! committed.

use ottla_metadata::MetadataRecord;
use ottla_model::LeaderEpoch;
use ottla_raft::{LeaderAndEpoch, OffsetAndEpoch};

/// Records that a majority has.
#[derive(Clone, Debug, PartialEq)]
pub struct CommittedBatch {
    /// The first offset.
    pub base_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// The epoch of the leader that wrote them.
    pub epoch: LeaderEpoch,
    /// When that leader wrote them.
    pub append_timestamp_ms: i64,
    /// The records; none in a batch of control records, which only moves the offset.
    pub records: Vec<MetadataRecord>,
}

/// The state of the cluster at an offset, in place of all records before it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSnapshot {
    /// The end offset of what it contains, and the epoch of the last record in it.
    pub id: OffsetAndEpoch,
    /// When the last record in it was written; -1 where nobody knows.
    pub last_contained_log_timestamp_ms: i64,
    /// Records that make the state.
    pub records: Vec<MetadataRecord>,
}

/// Gets to know what the metadata log says (`RaftClient.Listener`).
pub trait MetadataListener {
    /// What formatting has laid down for the first controller, which writes it into the log if that is empty. It is not state yet.
    fn on_bootstrap(&mut self, records: Vec<MetadataRecord>);

    /// All earlier state is void: begin with this one.
    fn on_snapshot(&mut self, snapshot: LoadedSnapshot);

    /// These records follow what came before.
    fn on_commit(&mut self, batch: CommittedBatch);

    /// Another epoch, or its leader has become known. That this node leads is told only after all records of earlier epochs.
    fn on_leader_change(&mut self, leader_and_epoch: LeaderAndEpoch);
}
