//! Cutting the log: at its end, for a follower whose leader knows better; at its start, for DeleteRecords; or altogether.

use std::io;

use ottla_model::ErrorCode;

use super::{Log, snapshot_source};
use crate::errors::StorageError;
use crate::segment::LogSegment;

/// Why records were not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteRecordsError {
    /// Only what is below the high watermark can be deleted.
    #[error("cannot move the log start offset to {offset}, beyond the high watermark {high_watermark}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: i64,
        /// The high watermark.
        high_watermark: i64,
    },
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl DeleteRecordsError {
    /// The code that clients get.
    pub fn code(&self) -> ErrorCode {
        match self {
            DeleteRecordsError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            DeleteRecordsError::Storage(error) => error.code(),
        }
    }
}

impl Log {
    /// Raises the log start offset, so that records below are gone for clients; segments go when retention looks next. An offset below
    /// the log start offset changes nothing. Returns the log start offset.
    pub fn delete_records_before(&mut self, offset: i64) -> Result<i64, DeleteRecordsError> {
        if offset > self.high_watermark || offset < 0 {
            return Err(DeleteRecordsError::OffsetOutOfRange { offset, high_watermark: self.high_watermark });
        }
        self.failure.check("delete records", &self.dir)?;
        self.raise_log_start_offset(offset);
        Ok(self.log_start_offset)
    }

    /// Removes the batch that holds the offset and all behind it. Returns whether something was removed.
    pub fn truncate_to(&mut self, offset: i64, now_ms: i64) -> Result<bool, StorageError> {
        if offset >= self.log_end_offset {
            self.leader_epochs.truncate_from_end(self.log_end_offset);
            return Ok(false);
        }
        if offset < self.high_watermark {
            let (partition, high_watermark) = (&self.topic_partition, self.high_watermark);
            tracing::warn!(%partition, offset, high_watermark, "truncating below the high watermark");
        }
        if offset < self.first_segment_base_offset() {
            self.truncate_fully_and_start_at(offset, now_ms)?;
        } else {
            self.guard_mut("truncate", |log| log.truncate_end(offset, now_ms))?;
        }
        Ok(true)
    }

    fn truncate_end(&mut self, offset: i64, now_ms: i64) -> io::Result<()> {
        self.truncations += 1;
        self.recent.clear();
        self.mark_dirty();
        let kept = self.segments.partition_point(|segment| segment.base_offset() <= offset);
        let removed: Vec<LogSegment> = self.segments.drain(kept..).collect();
        for segment in &removed {
            self.delete_segment_files(segment, now_ms)?;
        }
        self.active_mut().truncate_to(offset, now_ms)?;
        self.log_end_offset = offset;
        self.recovery_point = self.recovery_point.min(offset);
        self.leader_epochs.truncate_from_end(offset);
        self.log_start_offset = self.log_start_offset.min(offset);
        self.rebuild_producers(now_ms)?;
        self.high_watermark = self.high_watermark.min(offset);
        self.update_first_unstable_offset();
        // What was cut off must not come back after a power loss, when newer records may have taken its offsets elsewhere.
        self.active().file().sync_data()?;
        self.disk.sync_dir(&self.dir)
    }

    /// Removes all records; the next one gets this offset.
    pub fn truncate_fully_and_start_at(&mut self, offset: i64, now_ms: i64) -> Result<(), StorageError> {
        self.guard_mut("truncate", |log| {
            log.truncations += 1;
            log.recent.clear();
            log.mark_dirty();
            let removed = std::mem::take(&mut log.segments);
            for segment in &removed {
                log.delete_segment_files(segment, now_ms)?;
            }
            let times = log.segment_times(offset, now_ms);
            log.segments.push(LogSegment::create(log.disk.as_ref(), &log.dir, offset, &log.config, times)?);
            log.leader_epochs.clear();
            log.producers.truncate_fully_and_start_at(snapshot_source(&log.disk, &log.dir), offset)?;
            log.log_start_offset = offset;
            log.log_end_offset = offset;
            log.high_watermark = offset;
            log.recovery_point = log.recovery_point.min(offset);
            log.update_first_unstable_offset();
            log.disk.sync_dir(&log.dir)
        })
    }
}
