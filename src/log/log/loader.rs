//! Opening a log: segments are loaded and, after a crash, recovered; leader epochs and producers are brought in line with what the
//! segments hold (`LogLoader`).

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use ottla_io::{Disk, OpenMode, read_file};
use ottla_model::{TopicPartition, Uuid};

use super::recent::RecentBatches;
use super::{Log, snapshot_source};
use crate::checkpoint::{
    CheckpointError, EpochEntry, PARTITION_METADATA, format_partition_metadata, parse_partition_metadata, read_leader_epochs,
};
use crate::config::LogConfig;
use crate::directory_files::{DirectoryFiles, SegmentFiles};
use crate::dirty_logs::DirtyLogs;
use crate::errors::{LogDirFailure, StorageError};
use crate::leader_epoch_cache::LeaderEpochCache;
use crate::producer::{ProducerStateConfig, ProducerStateManager};
use crate::segment::{LogSegment, RecoveredEnd, RecoveryBounds};

/// What is known of a log before it is opened.
#[derive(Clone, Debug)]
pub struct LogOpen {
    /// The partition.
    pub topic_partition: TopicPartition,
    /// The topic's id; written to `partition.metadata` when that is missing.
    pub topic_id: Option<Uuid>,
    /// The configuration.
    pub config: Arc<LogConfig>,
    /// From `log-start-offset-checkpoint`; 0 when it says nothing.
    pub log_start_offset: i64,
    /// From `recovery-point-offset-checkpoint`; 0 when it says nothing.
    pub recovery_point: i64,
    /// Whether the broker was stopped cleanly, so that nothing needs recovery.
    pub clean: bool,
    /// Settings of producer state.
    pub producer: ProducerStateConfig,
    /// The health of the log directory.
    pub failure: Arc<LogDirFailure>,
    /// Where the log puts itself down when it is written to.
    pub dirty_logs: Arc<DirtyLogs>,
    /// Any number, different for each log: chooses the part of `segment.jitter.ms`.
    pub jitter_seed: u32,
}

impl LogOpen {
    /// A log of which nothing is known: it is recovered from its first byte.
    pub fn new(topic_partition: TopicPartition, config: Arc<LogConfig>) -> LogOpen {
        LogOpen {
            topic_partition,
            topic_id: None,
            config,
            log_start_offset: 0,
            recovery_point: 0,
            clean: false,
            producer: ProducerStateConfig::default(),
            failure: Arc::default(),
            dirty_logs: Arc::default(),
            jitter_seed: 0,
        }
    }
}

impl Log {
    /// Opens the log in a directory, or creates both. A disk that fails takes the log directory offline. The name of a directory that is
    /// there already must be durable: after a crash, sync its parent first.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, open: LogOpen, now_ms: i64) -> Result<Log, StorageError> {
        let failure = open.failure.clone();
        failure.guard("load the log", dir, || {
            let dir_is_new = disk.metadata(dir)?.is_none();
            if dir_is_new {
                disk.create_dir_all(dir)?;
            }
            let files = DirectoryFiles::load(disk.as_ref(), dir)?;
            let mut log = Log::without_segments(disk, dir, &open, &files, now_ms)?;
            log.dir_is_new = dir_is_new;
            log.load_topic_id(files.has_partition_metadata, open.topic_id)?;
            let recovered_from = log.load_segments(&files, &open, now_ms)?;
            log.settle_offsets(&open, now_ms)?;
            if !log.removals.is_empty() {
                // Segments behind a gap must not come back with the next power loss.
                log.disk.sync_dir(&log.dir)?;
            }
            log.load_producers(&open, recovered_from, now_ms)?;
            Ok(log)
        })
    }

    fn without_segments(disk: Arc<dyn Disk>, dir: &Path, open: &LogOpen, files: &DirectoryFiles, now_ms: i64) -> io::Result<Log> {
        let epochs = if files.has_leader_epochs { load_leader_epochs(disk.as_ref(), dir)? } else { Vec::new() };
        Ok(Log {
            disk,
            dir: dir.to_owned(),
            failure: open.failure.clone(),
            topic_partition: open.topic_partition.clone(),
            topic_id: None,
            config: open.config.clone(),
            segments: Vec::new(),
            log_start_offset: open.log_start_offset,
            log_end_offset: 0,
            high_watermark: 0,
            first_unstable_offset: None,
            recovery_point: open.recovery_point,
            last_flushed_ms: now_ms,
            truncations: 0,
            flush_running: false,
            flush_done: Arc::default(),
            leader_epochs: LeaderEpochCache::new(epochs),
            producers: ProducerStateManager::new(open.producer, files.snapshots.clone()),
            recent: RecentBatches::default(),
            removals: Vec::new(),
            jitter_seed: open.jitter_seed,
            dirty_logs: open.dirty_logs.clone(),
            dirty: false,
            settle_later: false,
            changed_since_close: !open.clean,
            metadata_unsynced: false,
            // What a killed broker did to names may not be durable either.
            names_changed: u32::from(!open.clean),
            names_synced: 0,
            dir_is_new: false,
        })
    }

    /// The topic id in the directory must be the one that was asked for. A file without one is what a crash may leave of a new
    /// directory, and is written again.
    fn load_topic_id(&mut self, has_file: bool, wanted: Option<Uuid>) -> io::Result<()> {
        let path = self.dir.join(PARTITION_METADATA);
        let found = if has_file { read_file(self.disk.as_ref(), &path)?.as_deref().and_then(parse_partition_metadata) } else { None };
        match (found, wanted) {
            (Some(found), Some(wanted)) if found != wanted => {
                let message = format!("the directory belongs to the topic id {found}, not to {wanted}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            (Some(found), _) => self.topic_id = Some(found),
            (None, Some(wanted)) => {
                self.write_topic_id(wanted)?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    pub(super) fn write_topic_id(&mut self, topic_id: Uuid) -> io::Result<()> {
        let file = self.disk.open(&self.dir.join(PARTITION_METADATA), OpenMode::CreateEmpty)?;
        file.write_all_at(&mut [IoSlice::new(format_partition_metadata(topic_id).as_bytes())], 0)?;
        self.topic_id = Some(topic_id);
        self.metadata_unsynced = true;
        self.names_changed += 1;
        self.mark_dirty();
        Ok(())
    }

    /// Loads all segments and recovers those that need it. Returns from which offset on batches were looked at again, if any were.
    fn load_segments(&mut self, files: &DirectoryFiles, open: &LogOpen, now_ms: i64) -> io::Result<Option<i64>> {
        let mut recovered_from: Option<i64> = None;
        let mut base_offsets = files.segments.iter().peekable();
        // Where the segment before ended, if it was recovered; what follows must begin there.
        let mut recovered_end: Option<RecoveredEnd> = None;
        let mut was_compacted = false;
        while let Some((&base_offset, segment_files)) = base_offsets.next() {
            let end_offset = base_offsets.peek().map_or(i64::MAX, |(next, _)| **next);
            let mut segment = self.open_segment(base_offset, segment_files)?;
            let is_active = end_offset == i64::MAX;
            let is_unflushed = !open.clean && end_offset > open.recovery_point;
            if is_unflushed && recovered_end.is_some_and(|end| self.is_behind_a_gap(base_offset, &end)) {
                tracing::warn!(partition = %self.topic_partition, base_offset, "dropping a segment behind a gap");
                self.delete_segment_files(&segment, now_ms)?;
                continue;
            }
            let has_indexes = segment_files.sizes.offset_index.is_some() && segment_files.sizes.time_index.is_some();
            let looks_sane = has_indexes && (open.clean && !is_active || segment.indexes_are_sane()?);
            recovered_end = None;
            if is_unflushed || !looks_sane {
                let trusted_offset = if looks_sane { open.recovery_point } else { 0 };
                let (first_offset, mut end) = self.recover_segment(&mut segment, RecoveryBounds { trusted_offset, end_offset })?;
                was_compacted |= end.was_compacted;
                end.was_compacted = was_compacted;
                recovered_from = Some(recovered_from.map_or(first_offset, |earlier| earlier.min(first_offset)));
                recovered_end = Some(end);
            }
            self.segments.push(segment);
        }
        Ok(recovered_from)
    }

    /// Whether records are missing before a segment. Offsets are without gaps but for logs that are, or once were, compacted: there only
    /// cut bytes tell.
    fn is_behind_a_gap(&self, base_offset: i64, end: &RecoveredEnd) -> bool {
        let may_have_gaps = self.config.cleanup_policy.compact || end.was_compacted;
        end.truncated_bytes > 0 || (!may_have_gaps && end.next_offset != base_offset)
    }

    fn open_segment(&self, base_offset: i64, files: &SegmentFiles) -> io::Result<LogSegment> {
        let times = self.segment_times(base_offset, files.modified_ms);
        LogSegment::open(self.disk.as_ref(), &self.dir, base_offset, files.sizes, times)
    }

    /// Recovers a segment; returns the first offset that was looked at again, and where the segment ends.
    fn recover_segment(&mut self, segment: &mut LogSegment, bounds: RecoveryBounds) -> io::Result<(i64, RecoveredEnd)> {
        let mut first_offset = None;
        let leader_epochs = &mut self.leader_epochs;
        let end = segment.recover(bounds, &self.config, |header| {
            first_offset.get_or_insert(header.base_offset);
            let newer = leader_epochs.latest().is_none_or(|latest| header.partition_leader_epoch > latest.epoch);
            if newer {
                leader_epochs.assign(EpochEntry { epoch: header.partition_leader_epoch, start_offset: header.base_offset });
            }
        })?;
        let base_offset = segment.base_offset();
        if end.truncated_bytes > 0 {
            let (partition, size, truncated_bytes) = (&self.topic_partition, segment.size(), end.truncated_bytes);
            tracing::warn!(%partition, base_offset, truncated_bytes, size, "cut off what is no whole batch at the end of a segment");
        }
        Ok((first_offset.unwrap_or(base_offset), end))
    }

    /// Finds the end of the log, and drops all of it when it ends before the log start offset.
    fn settle_offsets(&mut self, open: &LogOpen, now_ms: i64) -> io::Result<()> {
        if let Some(last) = self.segments.last() {
            self.log_end_offset = last.read_next_offset()?;
            if self.log_end_offset < open.log_start_offset {
                let (log_end_offset, log_start_offset) = (self.log_end_offset, open.log_start_offset);
                tracing::warn!(dir = %self.dir.display(), log_end_offset, log_start_offset, "the log ends before its start, dropping it");
                for segment in std::mem::take(&mut self.segments) {
                    self.delete_segment_files(&segment, now_ms)?;
                }
                self.leader_epochs.clear();
                self.producers.truncate_fully_and_start_at(snapshot_source(&self.disk, &self.dir), open.log_start_offset)?;
            }
        }
        if self.segments.is_empty() {
            let base_offset = open.log_start_offset;
            let times = self.segment_times(base_offset, now_ms);
            self.segments.push(LogSegment::create(self.disk.as_ref(), &self.dir, base_offset, &self.config, times)?);
            self.log_end_offset = base_offset;
            self.recovery_point = self.recovery_point.min(base_offset);
            self.names_changed += 1;
            self.mark_dirty();
        }
        self.log_start_offset = open.log_start_offset.max(self.first_segment_base_offset());
        self.leader_epochs.truncate_from_end(self.log_end_offset);
        self.leader_epochs.truncate_from_start(self.log_start_offset);
        self.recovery_point = if open.clean { self.log_end_offset } else { self.recovery_point.min(self.log_end_offset) };
        self.high_watermark = self.log_start_offset;
        Ok(())
    }

    fn load_producers(&mut self, open: &LogOpen, recovered_from: Option<i64>, now_ms: i64) -> io::Result<()> {
        let base_offsets: Vec<i64> = self.segments.iter().map(LogSegment::base_offset).collect();
        let source = snapshot_source(&self.disk, &self.dir);
        self.producers.remove_stray_snapshots(source, &base_offsets)?;
        if open.clean && recovered_from.is_none() && !self.producers.has_snapshots() {
            // After a clean stop there would be a snapshot if there were a producer.
            self.producers.set_end_offset(self.log_end_offset);
            return Ok(());
        }
        if let Some(recovered_from) = recovered_from {
            // Aborted transactions must be entered again into the indexes that were rebuilt.
            self.producers.truncate_and_reload(source, self.log_start_offset, recovered_from, now_ms)?;
        }
        self.rebuild_producers(now_ms)?;
        self.update_first_unstable_offset();
        Ok(())
    }
}

/// The leader epochs on disk. Damage is not fatal: recovery finds again those that matter.
fn load_leader_epochs(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<EpochEntry>> {
    match read_leader_epochs(disk, dir) {
        Ok(entries) => Ok(entries),
        Err(CheckpointError::Io { source, .. }) => Err(source),
        Err(error @ CheckpointError::Malformed { .. }) => {
            tracing::warn!(%error, "leader epochs are unreadable and will be rebuilt as far as possible");
            Ok(Vec::new())
        }
    }
}
