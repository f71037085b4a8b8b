//! Beginning a new segment.

use std::io;

use super::{Log, snapshot_source};
use crate::config::LogConfig;
use crate::segment::{LogSegment, SegmentTimes};

impl Log {
    /// Ends the active segment and begins one at the given offset, or at the log end offset if that is larger.
    pub(super) fn roll_to(&mut self, offset: i64, now_ms: i64) -> io::Result<()> {
        let base_offset = offset.max(self.log_end_offset);
        if self.active().base_offset() == base_offset {
            // The active segment is empty but cannot hold what comes: it is replaced by one with fresh indexes.
            let empty = self.segments.pop().expect("a log has a segment");
            self.replace_segment_files(&empty, now_ms)?;
        } else {
            self.active_mut().become_inactive()?;
        }
        let times = self.segment_times(base_offset, now_ms);
        let segment = LogSegment::create(self.disk.as_ref(), &self.dir, base_offset, &self.config, times)?;
        self.segments.push(segment);
        self.names_changed += 1;
        self.mark_dirty();
        self.recent.clear();
        self.producers.set_end_offset(base_offset);
        self.producers.take_snapshot(snapshot_source(&self.disk, &self.dir), false)?;
        tracing::debug!(partition = %self.topic_partition, base_offset, "rolled a new segment");
        Ok(())
    }

    /// Begins a new segment now, for whoever wants the old one to be deleted or compacted.
    pub fn roll(&mut self, now_ms: i64) -> Result<(), crate::StorageError> {
        self.guard_mut("roll a segment", |log| log.roll_to(log.log_end_offset, now_ms))
    }

    pub(super) fn segment_times(&self, base_offset: i64, created_ms: i64) -> SegmentTimes {
        SegmentTimes { roll_jitter_ms: roll_jitter_ms(&self.config, self.jitter_seed, base_offset), created_ms }
    }
}

/// A part of `segment.jitter.ms`, so that logs that were created together are not rolled together.
pub(super) fn roll_jitter_ms(config: &LogConfig, seed: u32, base_offset: i64) -> i64 {
    let bound = config.segment_jitter_ms.min(config.segment_ms);
    if bound <= 0 {
        return 0;
    }
    let mixed = (u64::from(seed) << 32 ^ base_offset as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(mixed) * bound as u128) >> 64) as i64
}
