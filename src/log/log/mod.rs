//! The log of one partition (`UnifiedLog` and `LocalLog`): its segments, offsets, leader epochs and producers.
//!
//! Not synchronised: whoever shares a log puts it into a [`SharedLog`]. Time comes in as an argument. Must not know of other partitions,
//! of replication, or of the log directory beyond whether it has failed.

mod append;
mod compaction;
mod flush;
#[cfg(test)]
mod harness;
mod list_offsets;
mod loader;
mod producers;
mod read;
mod recent;
mod retention;
mod roll;
#[cfg(test)]
mod tests;
mod truncate;
mod upkeep;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::Disk;
use ottla_model::{TopicPartition, Uuid};
use parking_lot::{Condvar, Mutex};

pub use flush::{FlushTask, flush_to};
pub use list_offsets::{TimestampedOffset, special_timestamp};
pub use loader::LogOpen;
pub use read::{FetchedRecords, FileSlice, ReadError, ReadRequest};
pub use truncate::DeleteRecordsError;
pub(crate) use upkeep::Upkeep;

use crate::append::VerificationGuard;
use crate::checkpoint::EpochEntry;
use crate::config::LogConfig;
use crate::dirty_logs::DirtyLogs;
use crate::errors::{LogDirFailure, StorageError};
use crate::leader_epoch_cache::LeaderEpochCache;
use crate::producer::{ProducerState, ProducerStateManager, SequenceError, SnapshotSource, TransactionStart};
use crate::segment::LogSegment;
use recent::RecentBatches;
use retention::PendingRemoval;

/// A log that threads share. Never hold two of them at once.
pub type SharedLog = Arc<Mutex<Log>>;

/// The end of a leader epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEndOffset {
    /// The largest known epoch that is not above the one asked for.
    pub leader_epoch: i32,
    /// Where the next epoch begins, or the log end offset.
    pub end_offset: i64,
}

/// The log of one partition. See the module.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    failure: Arc<LogDirFailure>,
    topic_partition: TopicPartition,
    topic_id: Option<Uuid>,
    config: Arc<LogConfig>,
    /// Ascending by base offset; the last one is active. Never empty.
    segments: Vec<LogSegment>,
    log_start_offset: i64,
    log_end_offset: i64,
    high_watermark: i64,
    first_unstable_offset: Option<i64>,
    /// What is below is durable.
    recovery_point: i64,
    last_flushed_ms: i64,
    /// Counts truncations, so that a flush from before one does not vouch for what was written after it.
    truncations: u32,
    flush_running: bool,
    flush_done: Arc<Condvar>,
    leader_epochs: LeaderEpochCache,
    producers: ProducerStateManager,
    recent: RecentBatches,
    removals: Vec<PendingRemoval>,
    /// Chosen by chance once per log: which part of `segment.jitter.ms` is taken off.
    jitter_seed: u32,
    dirty_logs: Arc<DirtyLogs>,
    /// The log is among `dirty_logs`, or was taken from there and not looked after since.
    dirty: bool,
    /// At the next round of upkeep what is only in memory is written, unless the log is written to meanwhile.
    settle_later: bool,
    changed_since_close: bool,
    /// `partition.metadata` was written but is not durable.
    metadata_unsynced: bool,
    /// Counts files that were created or renamed; the directory is durable up to `names_synced`.
    names_changed: u32,
    names_synced: u32,
    /// The directory itself is new, and its name may not be durable.
    dir_is_new: bool,
}

impl Log {
    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.topic_partition
    }

    /// The id of the topic, once known.
    pub fn topic_id(&self) -> Option<Uuid> {
        self.topic_id
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its configuration.
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// Changes the configuration; the next append, roll and retention go by it.
    pub fn update_config(&mut self, config: Arc<LogConfig>) {
        self.config = config;
    }

    /// The first offset that clients may read.
    pub fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The first offset on local disks; without tiered storage that of the log.
    pub fn local_log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> i64 {
        self.log_end_offset
    }

    /// What is below is replicated, and visible to consumers.
    pub fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// What is below is decided: the high watermark, or the first offset of a transaction that is not.
    pub fn last_stable_offset(&self) -> i64 {
        self.first_unstable_offset.map_or(self.high_watermark, |first_unstable| first_unstable.min(self.high_watermark))
    }

    /// What is below is durable; recovery after a crash begins here.
    pub fn recovery_point(&self) -> i64 {
        self.recovery_point
    }

    /// The bytes of all segments' records.
    pub fn size_in_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.size())).sum()
    }

    /// How many segments there are; at least one.
    pub fn number_of_segments(&self) -> usize {
        self.segments.len()
    }

    /// Moves the high watermark, kept between log start and log end; returns where it is now.
    pub fn update_high_watermark(&mut self, high_watermark: i64) -> i64 {
        self.high_watermark = high_watermark.clamp(self.log_start_offset, self.log_end_offset);
        self.producers.on_high_watermark(self.high_watermark);
        self.update_first_unstable_offset();
        self.high_watermark
    }

    /// Moves the high watermark up; returns whether it moved (`UnifiedLog.maybeIncrementHighWatermark`).
    pub fn maybe_increment_high_watermark(&mut self, high_watermark: i64) -> bool {
        let before = self.high_watermark;
        high_watermark > before && self.update_high_watermark(high_watermark) > before
    }

    fn update_first_unstable_offset(&mut self) {
        self.first_unstable_offset = self.producers.first_unstable_offset().map(|offset| offset.max(self.log_start_offset));
    }

    /// The latest leader epoch that appended, or was announced.
    pub fn latest_epoch(&self) -> Option<i32> {
        self.leader_epochs.latest().map(|entry| entry.epoch)
    }

    /// Notes that this replica leads from an offset on; called when it becomes leader.
    pub fn assign_epoch_start_offset(&mut self, epoch: i32, start_offset: i64) {
        self.leader_epochs.assign(EpochEntry { epoch, start_offset });
        self.mark_dirty();
    }

    /// Where an epoch ended, for followers that truncate (KIP-101); `None` when this log cannot know.
    pub fn end_offset_for_epoch(&self, epoch: i32) -> Option<EpochEndOffset> {
        self.leader_epochs
            .end_offset_for(epoch, self.log_end_offset)
            .map(|(leader_epoch, end_offset)| EpochEndOffset { leader_epoch, end_offset })
    }

    /// The idempotent producers that are remembered.
    pub fn producer_states(&self) -> Vec<ProducerState> {
        self.producers.states()
    }

    /// To be called before a transactional batch is appended: begins the verification of its transaction, whose guard the append must
    /// bring along once the coordinator has confirmed it. `None` when the transaction is open already and needs no verification.
    pub fn start_transaction_verification(
        &mut self,
        start: &TransactionStart,
        now_ms: i64,
    ) -> Result<Option<VerificationGuard>, SequenceError> {
        self.producers.start_verification(start, self.log_end_offset, now_ms)
    }

    /// Forgets producers that have been idle for `producer.id.expiration.ms`.
    pub fn remove_expired_producers(&mut self, now_ms: i64) {
        self.producers.remove_expired(now_ms);
    }

    /// The base offset of the first segment: the log start offset is written to its checkpoint only when it is above.
    pub(crate) fn first_segment_base_offset(&self) -> i64 {
        self.segments.first().expect("a log has a segment").base_offset()
    }

    fn active(&self) -> &LogSegment {
        self.segments.last().expect("a log has a segment")
    }

    fn active_mut(&mut self) -> &mut LogSegment {
        self.segments.last_mut().expect("a log has a segment")
    }

    /// The index of the segment that an offset falls into; `None` below the first.
    fn floor_segment(&self, offset: i64) -> Option<usize> {
        self.segments.partition_point(|segment| segment.base_offset() <= offset).checked_sub(1)
    }

    fn guard<T>(&self, operation: &'static str, run: impl FnOnce() -> std::io::Result<T>) -> Result<T, StorageError> {
        self.failure.guard(operation, &self.dir, run)
    }

    /// Runs an operation that changes the log, unless its directory is offline; a failure takes the directory offline.
    fn guard_mut<T>(&mut self, operation: &'static str, run: impl FnOnce(&mut Log) -> std::io::Result<T>) -> Result<T, StorageError> {
        self.failure.check(operation, &self.dir)?;
        run(self).map_err(|source| self.failure.fail(operation, &self.dir, source))
    }
}

/// Where producer snapshots are; takes the two fields alone, so that `producers` can be borrowed beside them.
fn snapshot_source<'a>(disk: &'a Arc<dyn Disk>, dir: &'a Path) -> SnapshotSource<'a> {
    SnapshotSource { disk: disk.as_ref(), dir }
}
