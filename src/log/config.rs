//! The topic-level configuration that a log obeys, typed. Parsing and validation of the texts happen where configuration lives.

/// What happens to old records (`cleanup.policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Segments are deleted by age, size and log start offset.
    pub delete: bool,
    /// Only the last record of each key is kept.
    pub compact: bool,
}

/// Configuration of one log (`LogConfig`). Field names are Kafka's topic-level keys.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// `segment.bytes`: the size at which a segment is rolled.
    pub segment_bytes: u32,
    /// `segment.ms`: the age, by record timestamps, at which a segment is rolled.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: up to so much is taken off `segment.ms`, at random for each segment.
    pub segment_jitter_ms: i64,
    /// `segment.index.bytes`: the most that an index file may hold.
    pub segment_index_bytes: u32,
    /// `index.interval.bytes`: how many bytes of records lie between two index entries.
    pub index_interval_bytes: u32,
    /// `retention.bytes`; negative for no limit.
    pub retention_bytes: i64,
    /// `retention.ms`; negative for no limit.
    pub retention_ms: i64,
    /// `cleanup.policy`.
    pub cleanup_policy: CleanupPolicy,
    /// `file.delete.delay.ms`: how long deleted files stay under another name.
    pub file_delete_delay_ms: i64,
    /// `flush.messages`: how many records may be appended before the log is made durable.
    pub flush_messages: i64,
    /// `flush.ms`: how long records may stay that are not durable.
    pub flush_ms: i64,
    /// `max.message.bytes`: the largest record batch.
    pub max_message_bytes: u32,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: i64,
    /// `delete.retention.ms`: how long tombstones stay.
    pub delete_retention_ms: i64,
    /// `min.cleanable.dirty.ratio`.
    pub min_cleanable_dirty_ratio: f64,
    /// `preallocate`: whether a new segment's file gets its full size at once.
    pub preallocate: bool,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            segment_bytes: 1024 * 1024 * 1024,
            segment_ms: 7 * 24 * 60 * 60 * 1000,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 * 1024 * 1024,
            index_interval_bytes: 4096,
            retention_bytes: -1,
            retention_ms: 7 * 24 * 60 * 60 * 1000,
            cleanup_policy: CleanupPolicy { delete: true, compact: false },
            file_delete_delay_ms: 60_000,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            max_message_bytes: 1024 * 1024 + 12,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
            delete_retention_ms: 24 * 60 * 60 * 1000,
            min_cleanable_dirty_ratio: 0.5,
            preallocate: false,
        }
    }
}

impl LogConfig {
    /// The age at which a segment is rolled: on a compacted topic no later than the longest time a record may stay uncompacted.
    pub fn max_segment_ms(&self) -> i64 {
        if self.cleanup_policy.compact && self.max_compaction_lag_ms > 0 {
            self.max_compaction_lag_ms.min(self.segment_ms)
        } else {
            self.segment_ms
        }
    }
}
