//! Deleting old segments, by age, size and log start offset.

use std::io;
use std::path::PathBuf;

use super::Log;
use crate::errors::StorageError;
use crate::paths::{DELETED_SUFFIX, PRODUCER_SNAPSHOT_SUFFIX, segment_file};
use crate::segment::LogSegment;

/// Files that were renamed out of the way and are removed when `file.delete.delay.ms` is over.
#[derive(Debug)]
pub(super) struct PendingRemoval {
    due_ms: i64,
    files: Vec<PathBuf>,
}

impl PendingRemoval {
    pub(super) fn is_due(&self, now_ms: i64) -> bool {
        self.due_ms <= now_ms
    }
}

impl Log {
    /// Deletes segments that the configuration no longer keeps; returns how many. Segments at or above the high watermark stay. When all
    /// of them go, a new empty one begins.
    pub fn delete_old_segments(&mut self, now_ms: i64) -> Result<usize, StorageError> {
        self.guard_mut("delete old segments", |log| {
            let mut deleted = log.delete_below_log_start(now_ms)?;
            if log.config.cleanup_policy.delete {
                deleted += log.delete_beyond_size(now_ms)?;
                deleted += log.delete_beyond_age(now_ms)?;
            }
            Ok(deleted)
        })
    }

    fn delete_below_log_start(&mut self, now_ms: i64) -> io::Result<usize> {
        let log_start_offset = self.log_start_offset;
        self.delete_while(now_ms, "log start offset", |_, next| Ok(next.is_some_and(|next| next <= log_start_offset)))
    }

    fn delete_beyond_size(&mut self, now_ms: i64) -> io::Result<usize> {
        let Ok(retention_bytes) = u64::try_from(self.config.retention_bytes) else { return Ok(0) };
        let Some(mut surplus) = self.size_in_bytes().checked_sub(retention_bytes) else { return Ok(0) };
        self.delete_while(now_ms, "retention size", |segment, _| {
            let Some(rest) = surplus.checked_sub(u64::from(segment.size())) else { return Ok(false) };
            surplus = rest;
            Ok(true)
        })
    }

    fn delete_beyond_age(&mut self, now_ms: i64) -> io::Result<usize> {
        let retention_ms = self.config.retention_ms;
        if retention_ms < 0 {
            return Ok(0);
        }
        self.delete_while(now_ms, "retention time", |segment, _| Ok(now_ms - segment.largest_timestamp()? > retention_ms))
    }

    /// Deletes segments from the oldest on as long as the condition, given the next segment's base offset, asks for it.
    fn delete_while(
        &mut self,
        now_ms: i64,
        reason: &str,
        mut condition: impl FnMut(&LogSegment, Option<i64>) -> io::Result<bool>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (index, segment) in self.segments.iter().enumerate() {
            let next = self.segments.get(index + 1).map(LogSegment::base_offset);
            let is_empty_active = next.is_none() && segment.size() == 0;
            let below_high_watermark = next.unwrap_or(self.log_end_offset) <= self.high_watermark;
            if is_empty_active || !below_high_watermark || !condition(segment, next)? {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        if count == self.segments.len() {
            self.roll_to(self.log_end_offset, now_ms)?;
        }
        let deleted: Vec<LogSegment> = self.segments.drain(..count).collect();
        let start = self.first_segment_base_offset();
        tracing::info!(partition = %self.topic_partition, count, reason, log_start_offset = start, "deleting segments");
        self.raise_log_start_offset(start);
        for segment in &deleted {
            self.delete_segment_files(segment, now_ms)?;
        }
        Ok(count)
    }

    /// Moves the log start offset up.
    pub(super) fn raise_log_start_offset(&mut self, log_start_offset: i64) {
        if log_start_offset <= self.log_start_offset {
            return;
        }
        self.log_start_offset = log_start_offset;
        self.high_watermark = self.high_watermark.max(log_start_offset);
        self.leader_epochs.truncate_from_start(log_start_offset);
        self.producers.on_log_start_offset(log_start_offset);
        self.update_first_unstable_offset();
        self.mark_dirty();
    }

    /// Renames a segment's files, and its producer snapshot, and puts them down for removal.
    pub(super) fn delete_segment_files(&mut self, segment: &LogSegment, now_ms: i64) -> io::Result<()> {
        if self.producers.forget_snapshot(segment.base_offset()) {
            let path = |suffix: &str| segment_file(&self.dir, segment.base_offset(), suffix);
            let renamed = path(&format!("{PRODUCER_SNAPSHOT_SUFFIX}{DELETED_SUFFIX}"));
            self.disk.rename(&path(PRODUCER_SNAPSHOT_SUFFIX), &renamed)?;
            self.put_down_for_removal(vec![renamed], now_ms);
        }
        self.replace_segment_files(segment, now_ms)
    }

    /// The same, when another segment takes the place of this one and the snapshot with it.
    pub(super) fn replace_segment_files(&mut self, segment: &LogSegment, now_ms: i64) -> io::Result<()> {
        let files = segment.mark_deleted(self.disk.as_ref(), &self.dir)?;
        self.put_down_for_removal(files, now_ms);
        self.mark_dirty();
        Ok(())
    }

    fn put_down_for_removal(&mut self, files: Vec<PathBuf>, now_ms: i64) {
        self.removals.push(PendingRemoval { due_ms: now_ms.saturating_add(self.config.file_delete_delay_ms), files });
    }

    /// Removes files whose delay is over.
    pub(super) fn remove_due_files(&mut self, now_ms: i64) -> Result<(), StorageError> {
        let (due, later) = std::mem::take(&mut self.removals).into_iter().partition(|removal| removal.is_due(now_ms));
        self.removals = later;
        let due: Vec<PendingRemoval> = due;
        self.guard("remove deleted files", || {
            for path in due.iter().flat_map(|removal| &removal.files) {
                match self.disk.remove_file(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    result => result?,
                }
            }
            Ok(())
        })
    }
}
