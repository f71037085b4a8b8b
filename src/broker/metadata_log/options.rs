//! The settings of the metadata log on disk (`MetadataLogConfig`).

use std::path::PathBuf;
use std::sync::Arc;

use ottla_log::{CleanupPolicy, LogConfig};
use ottla_raft::RaftConfig;

/// The largest batch of records (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`).
pub const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Where the metadata log is and how long what of it is kept. Times in milliseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct MetadataLogOptions {
    /// `metadata.log.dir`
    pub directory: PathBuf,
    /// The node in its quorum.
    pub raft: RaftConfig,
    /// The node had stopped in good order: the log needs no recovery.
    pub clean_shutdown: bool,
    /// `metadata.log.segment.bytes`
    pub segment_bytes: u32,
    /// `metadata.log.segment.ms`
    pub segment_ms: i64,
    /// `metadata.max.retention.bytes`; negative for no limit.
    pub retention_bytes: i64,
    /// `metadata.max.retention.ms`; negative for no limit.
    pub retention_ms: i64,
    /// `metadata.log.max.record.bytes.between.snapshots`
    pub max_record_bytes_between_snapshots: u64,
    /// `metadata.log.max.snapshot.interval.ms`; 0 for no limit.
    pub max_snapshot_interval_ms: i64,
}

impl MetadataLogOptions {
    /// Kafka's defaults for a node that has stopped in an unknown way.
    pub fn new(directory: PathBuf, raft: RaftConfig) -> MetadataLogOptions {
        MetadataLogOptions {
            directory,
            raft,
            clean_shutdown: false,
            segment_bytes: 1024 * 1024 * 1024,
            segment_ms: 7 * 24 * 60 * 60 * 1000,
            retention_bytes: 100 * 1024 * 1024,
            retention_ms: 7 * 24 * 60 * 60 * 1000,
            max_record_bytes_between_snapshots: 20 * 1024 * 1024,
            max_snapshot_interval_ms: 60 * 60 * 1000,
        }
    }

    /// The configuration of the log itself. Segments go with the snapshots, never by age or size of their own.
    pub(super) fn log_config(&self) -> Arc<LogConfig> {
        Arc::new(LogConfig {
            segment_bytes: self.segment_bytes,
            segment_ms: self.segment_ms,
            retention_bytes: -1,
            retention_ms: -1,
            cleanup_policy: CleanupPolicy { delete: true, compact: false },
            max_message_bytes: BATCH_BYTES_MAX as u32,
            ..LogConfig::default()
        })
    }
}
