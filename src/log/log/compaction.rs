//! What the cleaner needs of a log: its segments to read, and their replacement (`LocalLog.replaceSegments`).

use std::io;
use std::sync::Arc;

use super::Log;
use crate::cleaner::{Cleanable, CleanedSegment, CleaningSource, SegmentAges, Selection};
use crate::errors::StorageError;
use crate::paths::{CLEANED_SUFFIX, SWAP_SUFFIX};
use crate::segment::LogSegment;

impl Log {
    /// Which part may be cleaned, given where the last cleaning ended.
    pub(crate) fn select_cleanable(&self, checkpoint: Option<i64>, now_ms: i64) -> Result<Selection, StorageError> {
        let segments = self.guard("look for what to clean", || self.segments.iter().map(|segment| self.ages(segment)).collect())?;
        let segments: Vec<SegmentAges> = segments;
        let cleanable = Cleanable {
            segments: &segments,
            log_start_offset: self.log_start_offset,
            last_stable_offset: self.last_stable_offset(),
            log_end_offset: self.log_end_offset,
            checkpoint,
        };
        Ok(cleanable.select(&self.config, now_ms))
    }

    /// Timestamps are read from the disk only when the configuration goes by them.
    fn ages(&self, segment: &LogSegment) -> io::Result<SegmentAges> {
        let goes_by_first = self.config.max_compaction_lag_ms < i64::MAX;
        let goes_by_largest = self.config.min_compaction_lag_ms > 0;
        Ok(SegmentAges {
            base_offset: segment.base_offset(),
            size: u64::from(segment.size()),
            largest_timestamp: if goes_by_largest { segment.largest_timestamp()? } else { -1 },
            first_timestamp: if goes_by_first { segment.first_batch_timestamp()?.unwrap_or(-1) } else { -1 },
        })
    }

    /// What a cleaning reads.
    pub(crate) fn cleaning_source(&self, selection: Selection) -> CleaningSource {
        let below_end = |segment: &&LogSegment| segment.base_offset() < selection.end_offset;
        CleaningSource {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            config: self.config.clone(),
            selection,
            segments: self.segments.iter().take_while(below_end).map(LogSegment::as_source).collect(),
            transaction_indexes: self.segments.iter().map(|segment| segment.transaction_index().clone()).collect(),
            last_records: self.producers.last_records(),
            high_watermark: self.high_watermark,
        }
    }

    /// Puts a cleaned segment in the place of those that it was made of; `false` when the log no longer has them. A crash at any point
    /// leaves either the old segments or what `DirectoryFiles` completes.
    pub(crate) fn swap_in(&mut self, cleaned: &CleanedSegment, now_ms: i64) -> Result<bool, StorageError> {
        self.guard_mut("swap a cleaned segment in", |log| {
            let Some(first) = log.position_of(cleaned) else { return Ok(false) };
            let segment = &cleaned.segment;
            segment.change_suffix(log.disk.as_ref(), &log.dir, CLEANED_SUFFIX, SWAP_SUFFIX)?;
            log.disk.sync_dir(&log.dir)?;
            let replaced: Vec<LogSegment> = log.segments.drain(first..first + cleaned.replaces.len()).collect();
            for old in &replaced {
                // The producer snapshot at the base offset goes on to belong to the new segment.
                if old.base_offset() == segment.base_offset() {
                    log.replace_segment_files(old, now_ms)?;
                } else {
                    log.delete_segment_files(old, now_ms)?;
                }
            }
            log.disk.sync_dir(&log.dir)?;
            segment.change_suffix(log.disk.as_ref(), &log.dir, SWAP_SUFFIX, "")?;
            log.disk.sync_dir(&log.dir)?;
            let reopened = segment.reopen(log.disk.as_ref(), &log.dir)?;
            log.segments.insert(first, reopened);
            Ok(true)
        })
    }

    /// Where the segments are that a cleaned one replaces; none of them may be the active one.
    fn position_of(&self, cleaned: &CleanedSegment) -> Option<usize> {
        let first = self.floor_segment(cleaned.segment.base_offset())?;
        let inactive = &self.segments[..self.segments.len() - 1];
        let present = inactive.get(first..first + cleaned.replaces.len())?;
        let are_same = present.iter().zip(&cleaned.replaces).all(|(segment, file)| Arc::ptr_eq(segment.file(), file));
        are_same.then_some(first)
    }
}
