//! What validation is told: the topic's rules and the circumstances of the append.

use crate::attributes::TimestampType;
use crate::compression::Compression;

/// The topic's rules for batches. Field names are those of Kafka's topic-level keys where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationConfig {
    /// `max.message.bytes`: the largest batch, header included and as it is stored.
    pub max_message_bytes: usize,
    /// Whether `cleanup.policy` contains `compact`: records then need keys.
    pub is_compacted: bool,
    /// `compression.type` with the codec's level; `None` for `producer`, which keeps what came.
    pub compression: Option<Compression>,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far in the past a record's timestamp may be.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far in the future a record's timestamp may be.
    pub timestamp_after_max_ms: i64,
}

impl Default for ValidationConfig {
    /// Kafka's defaults.
    fn default() -> ValidationConfig {
        ValidationConfig {
            max_message_bytes: 1024 * 1024 + 12,
            is_compacted: false,
            compression: None,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 60 * 60 * 1000,
        }
    }
}

/// Where a batch comes from (`AppendOrigin`), as far as a leader validates it: what followers fetch, and what the raft leader appends,
/// has its offsets already and does not pass through here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A produce request.
    Client,
    /// The group, transaction or share coordinator.
    Coordinator,
}

/// The circumstances of one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendContext {
    /// Where the batch comes from.
    pub origin: AppendOrigin,
    /// The time of the append, in ms since the epoch.
    pub now_ms: i64,
}
