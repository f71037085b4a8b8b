//! The files in the directory of the metadata log: the log itself and the snapshots beside it. Knows their formats, and nothing of
//! elections or listeners.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::Disk;
use ottla_log::{Log, LogOpen, ReadRequest};
use ottla_model::{LeaderEpoch, TopicPartition, Uuid, internal_topic};
use ottla_raft::{ControlHistory, LogView, OffsetAndEpoch, VoterSet};

use super::METADATA_PARTITION_DIR;
use super::batch::{BatchError, DecodedBatch, decode_batches, outline};
use super::error::MetadataLogError;
use super::options::MetadataLogOptions;
use super::snapshot_name::{SnapshotName, snapshot_file_name};
use super::snapshot_reader::{SnapshotContent, read_snapshot};

/// How much of the log is read at a time.
const READ_BYTES: usize = 1024 * 1024;

/// The opened directory.
#[derive(Debug)]
pub(super) struct LogFiles {
    pub(super) disk: Arc<dyn Disk>,
    /// The directory of the partition.
    pub(super) directory: PathBuf,
    pub(super) log: Log,
}

impl LogFiles {
    /// Opens or creates the log, and removes what a crash has left of snapshots. The snapshots that are there are returned with their
    /// sizes.
    pub(super) fn open(
        options: &MetadataLogOptions,
        disk: Arc<dyn Disk>,
        now_ms: i64,
    ) -> Result<(LogFiles, Vec<(OffsetAndEpoch, u64)>), MetadataLogError> {
        let directory = options.directory.join(METADATA_PARTITION_DIR);
        let partition = TopicPartition::new(internal_topic::CLUSTER_METADATA, 0);
        let mut open = LogOpen::new(partition, options.log_config());
        open.topic_id = Some(Uuid::METADATA_TOPIC_ID);
        open.clean = options.clean_shutdown;
        let log = Log::open(Arc::clone(&disk), &directory, open, now_ms)?;
        let mut files = LogFiles { disk, directory, log };
        let snapshots = files.recover_snapshots()?;
        files.finish_interrupted_install(&snapshots, now_ms)?;
        Ok((files, snapshots))
    }

    /// Finds the whole snapshots from the log's beginning on, and removes the others (`KafkaRaftLog.recoverSnapshots`).
    fn recover_snapshots(&self) -> Result<Vec<(OffsetAndEpoch, u64)>, MetadataLogError> {
        let start_offset = self.log.log_start_offset();
        let mut snapshots = Vec::new();
        for entry in self.disk.read_dir(&self.directory).map_err(self.at(""))? {
            match SnapshotName::parse(&entry.name) {
                Some(SnapshotName::Whole(id)) if id.offset >= start_offset => {
                    let metadata = self.disk.metadata(&self.directory.join(&entry.name)).map_err(self.at(&entry.name))?;
                    snapshots.extend(metadata.map(|metadata| (id, metadata.len)));
                }
                Some(SnapshotName::Whole(_) | SnapshotName::Leftover) => self.remove(&entry.name)?,
                None => {}
            }
        }
        snapshots.sort_unstable_by_key(|&(id, _)| id);
        if start_offset > 0 && snapshots.is_empty() {
            return Err(MetadataLogError::MissingSnapshot { directory: self.directory.clone(), start_offset });
        }
        Ok(snapshots)
    }

    /// A follower that crashed between fetching a snapshot and emptying its log goes on after the snapshot.
    fn finish_interrupted_install(&mut self, snapshots: &[(OffsetAndEpoch, u64)], now_ms: i64) -> Result<(), MetadataLogError> {
        let Some(&(latest, _)) = snapshots.last() else { return Ok(()) };
        let last_epoch = LeaderEpoch(self.log.latest_epoch().unwrap_or(0));
        let end_offset = self.log.log_end_offset();
        if latest > OffsetAndEpoch::new(end_offset, last_epoch) {
            self.log.truncate_fully_and_start_at(latest.offset, now_ms)?;
        }
        Ok(())
    }

    /// What the quorum's rules need to know of the log.
    pub(super) fn outline(&self, snapshots: &[(OffsetAndEpoch, u64)]) -> LogView {
        let mut view = LogView::new(self.log.log_start_offset(), self.log.log_end_offset(), self.epoch_starts());
        for &(id, size) in snapshots {
            view.add_snapshot(id, size);
        }
        view
    }

    /// The first offset of every epoch in the log, found from the last one down: an epoch begins where the one before it ends.
    fn epoch_starts(&self) -> Vec<(LeaderEpoch, i64)> {
        let start_offset = self.log.log_start_offset();
        let mut starts = Vec::new();
        let mut next = self.log.latest_epoch();
        while let Some(epoch) = next {
            let previous = self.log.end_offset_for_epoch(epoch - 1).filter(|end| end.end_offset > start_offset);
            starts.push((LeaderEpoch(epoch), previous.map_or(start_offset, |end| end.end_offset)));
            next = previous.map(|end| end.leader_epoch);
        }
        starts.reverse();
        starts
    }

    /// The control records of the latest snapshot and of the log after it.
    pub(super) fn control_history(&self, view: &LogView, static_voters: VoterSet) -> Result<ControlHistory, MetadataLogError> {
        let mut history = ControlHistory::new(static_voters);
        let mut offset = self.log.log_start_offset();
        if let Some(id) = view.latest_snapshot() {
            for record in self.read_snapshot(id)?.control_records {
                history.apply(id.offset - 1, &record);
            }
            offset = offset.max(id.offset);
        }
        while offset < view.end_offset() {
            let bytes = self.read_bytes(offset, view.end_offset())?;
            let batches = outline(&bytes).map_err(|error| self.damaged(error))?;
            if batches.is_empty() {
                return Err(no_records(offset, view.end_offset()));
            }
            // Most batches hold no control records: their contents need not be decoded to know that.
            for batch in batches {
                for (offset, record) in &batch.control_records {
                    history.apply(*offset, record);
                }
                offset = batch.end_offset;
            }
        }
        Ok(history)
    }

    /// Whole batches from `offset` on, at least one and none at `end_offset` or later.
    pub(super) fn read_batches(&self, offset: i64, end_offset: i64) -> Result<Vec<DecodedBatch>, MetadataLogError> {
        let bytes = self.read_bytes(offset, end_offset)?;
        let decoded = decode_batches(&bytes).collect::<Result<Vec<_>, _>>().map_err(|error| self.damaged(error))?;
        if decoded.is_empty() { Err(no_records(offset, end_offset)) } else { Ok(decoded) }
    }

    fn read_bytes(&self, offset: i64, end_offset: i64) -> Result<Vec<u8>, MetadataLogError> {
        let request = ReadRequest { offset, max_bytes: READ_BYTES, end_offset, at_least_one_batch: true, include_aborted: false };
        let fetched = self.log.read(request);
        let fetched = fetched.map_err(|error| MetadataLogError::Refused { operation: "a read", reason: error.to_string() })?;
        let slice = fetched.records.ok_or_else(|| no_records(offset, end_offset))?;
        slice.read().map_err(self.at(""))
    }

    fn damaged(&self, error: BatchError) -> MetadataLogError {
        MetadataLogError::Damaged { path: self.directory.clone(), error }
    }

    /// A snapshot that is known to be there.
    pub(super) fn read_snapshot(&self, id: OffsetAndEpoch) -> Result<SnapshotContent, MetadataLogError> {
        let content = read_snapshot(self.disk.as_ref(), &self.directory, id)?;
        content.ok_or(MetadataLogError::SnapshotPosition { offset: id.offset, reason: "its file is gone" })
    }

    /// Removes a snapshot.
    pub(super) fn remove_snapshot(&self, id: OffsetAndEpoch) -> Result<(), MetadataLogError> {
        self.remove(&snapshot_file_name(id))
    }

    fn remove(&self, name: &str) -> Result<(), MetadataLogError> {
        self.disk.remove_file(&self.directory.join(name)).map_err(self.at(name))
    }

    /// Names the file in an error; "" for the directory itself.
    pub(super) fn at(&self, name: &str) -> impl FnOnce(io::Error) -> MetadataLogError + use<> {
        let path = if name.is_empty() { self.directory.clone() } else { self.directory.join(Path::new(name)) };
        move |source| MetadataLogError::Io { path, source }
    }
}

fn no_records(offset: i64, end_offset: i64) -> MetadataLogError {
    let reason = format!("there is no record at offset {offset}, though the log goes to {end_offset}");
    MetadataLogError::Refused { operation: "a read", reason }
}
