//! Which part of a log may be cleaned, and whether it is worth it (`LogCleanerManager.cleanableOffsets`, `LogToClean`). Pure.

use crate::config::LogConfig;

/// What is known of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentAges {
    pub(crate) base_offset: i64,
    pub(crate) size: u64,
    /// The largest timestamp of its records.
    pub(crate) largest_timestamp: i64,
    /// That of its first batch; -1 when it has none.
    pub(crate) first_timestamp: i64,
}

/// A log as far as the choice goes by it.
#[derive(Debug)]
pub(crate) struct Cleanable<'a> {
    /// Ascending; the last one is active.
    pub(crate) segments: &'a [SegmentAges],
    pub(crate) log_start_offset: i64,
    pub(crate) last_stable_offset: i64,
    pub(crate) log_end_offset: i64,
    /// Where the last cleaning ended.
    pub(crate) checkpoint: Option<i64>,
}

/// The part of a log that may be cleaned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selection {
    pub(crate) first_dirty_offset: i64,
    /// Exclusive; the base offset of a segment.
    pub(crate) end_offset: i64,
    /// The dirty part of what may be cleaned, 0 to 1.
    pub(crate) ratio: f64,
    /// Something has stayed uncompacted for longer than `max.compaction.lag.ms`.
    pub(crate) is_overdue: bool,
    pub(crate) dirty_bytes: u64,
}

impl Cleanable<'_> {
    /// What may be cleaned; the last segment never.
    pub(crate) fn select(&self, config: &LogConfig, now_ms: i64) -> Selection {
        let first_dirty_offset = self
            .checkpoint
            .filter(|checkpoint| (self.log_start_offset..=self.log_end_offset).contains(checkpoint))
            .unwrap_or(self.log_start_offset);
        let inactive = &self.segments[..self.segments.len().saturating_sub(1)];
        let dirty = &inactive[self.floor(first_dirty_offset).min(inactive.len())..];
        let bound = self.last_stable_offset.min(young_from(dirty, config, now_ms).unwrap_or(i64::MAX));
        let active = self.segments.len().saturating_sub(1);
        let end_offset = self.segments.get(self.floor(bound).min(active)).map_or(first_dirty_offset, |segment| segment.base_offset);
        let bytes = |from: i64| -> u64 {
            let from = self.floor(from.min(end_offset));
            self.segments[from..].iter().take_while(|segment| segment.base_offset < end_offset).map(|segment| segment.size).sum()
        };
        let clean_bytes: u64 =
            self.segments.iter().take_while(|segment| segment.base_offset < first_dirty_offset).map(|segment| segment.size).sum();
        let dirty_bytes = bytes(first_dirty_offset);
        let total = clean_bytes + dirty_bytes;
        let ratio = if total == 0 { 0.0 } else { dirty_bytes as f64 / total as f64 };
        Selection { first_dirty_offset, end_offset, ratio, is_overdue: is_overdue(dirty, config, now_ms), dirty_bytes }
    }

    /// The index of the segment that holds an offset; the first one for those below it.
    fn floor(&self, offset: i64) -> usize {
        self.segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1)
    }
}

/// The base offset of the first segment that `min.compaction.lag.ms` still protects.
fn young_from(dirty: &[SegmentAges], config: &LogConfig, now_ms: i64) -> Option<i64> {
    let lag_ms = config.min_compaction_lag_ms.max(0);
    let is_young = |segment: &&SegmentAges| lag_ms > 0 && segment.largest_timestamp > now_ms.saturating_sub(lag_ms);
    dirty.iter().find(is_young).map(|segment| segment.base_offset)
}

fn is_overdue(dirty: &[SegmentAges], config: &LogConfig, now_ms: i64) -> bool {
    let latest = now_ms.saturating_sub(config.max_compaction_lag_ms.max(0));
    dirty.iter().any(|segment| segment.first_timestamp > 0 && segment.first_timestamp < latest)
}

impl Selection {
    /// Whether there is enough to do (`LogCleanerManager.grabFilthiestCompactedLog`).
    pub(crate) fn is_worth_it(&self, config: &LogConfig) -> bool {
        self.dirty_bytes > 0 && (self.is_overdue || self.ratio > config.min_cleanable_dirty_ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(checkpoint: Option<i64>, last_stable_offset: i64, config: &LogConfig) -> Selection {
        let segment = |base_offset: i64| SegmentAges {
            base_offset,
            size: 100,
            largest_timestamp: 1000 + base_offset,
            first_timestamp: 1000 + base_offset,
        };
        let segments: Vec<SegmentAges> = [0, 10, 20, 30].map(segment).into();
        let log = Cleanable { segments: &segments, log_start_offset: 0, last_stable_offset, log_end_offset: 40, checkpoint };
        log.select(config, 2000)
    }

    #[test]
    fn the_active_segment_and_what_is_undecided_stay() {
        let config = LogConfig::default();
        let all = select(None, 40, &config);
        assert_eq!((all.first_dirty_offset, all.end_offset, all.ratio), (0, 30, 1.0));
        assert_eq!(select(None, 15, &config).end_offset, 10);
        assert_eq!(select(None, 5, &config).dirty_bytes, 0);
    }

    #[test]
    fn the_ratio_counts_from_the_checkpoint() {
        let config = LogConfig::default();
        let rest = select(Some(20), 40, &config);
        assert_eq!((rest.first_dirty_offset, rest.dirty_bytes), (20, 100));
        assert!(!rest.is_worth_it(&config));
        assert!(rest.is_worth_it(&LogConfig { min_cleanable_dirty_ratio: 0.3, ..config.clone() }));
        assert_eq!(select(Some(99), 40, &config).first_dirty_offset, 0, "a checkpoint beyond the end is not believed");
        assert_eq!(select(Some(30), 40, &config).dirty_bytes, 0);
    }

    #[test]
    fn lags_protect_and_press() {
        let young = LogConfig { min_compaction_lag_ms: 985, ..LogConfig::default() };
        assert_eq!(select(None, 40, &young).end_offset, 20, "1020 is younger than 985 ms at 2000, 1010 is not");
        let pressing = LogConfig { max_compaction_lag_ms: 985, min_cleanable_dirty_ratio: 1.0, ..LogConfig::default() };
        assert!(select(None, 40, &pressing).is_worth_it(&pressing));
        assert!(!select(Some(20), 40, &pressing).is_worth_it(&pressing));
    }
}
