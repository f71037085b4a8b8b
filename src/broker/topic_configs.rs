//! What the configuration of a topic and of the broker means for logs, validation and group coordinators: Kafka's keys become the typed
//! settings of those who obey them.

use std::sync::Arc;

use ottla_config::{BrokerCompression, BrokerConfig, ConfigMap, TimestampType, TopicConfig};
use ottla_coordinator::group::GroupCoordinatorConfig;
use ottla_log::{CleanupPolicy, LogConfig, LogManagerConfig, ProducerStateConfig};
use ottla_metadata::{ConfigResource, MetadataImage};
use ottla_record::{Compression, ValidationConfig};

/// What a topic's configuration means here.
#[derive(Clone, Debug)]
pub struct TopicSettings {
    /// For its logs.
    pub log: Arc<LogConfig>,
    /// For the batches that are appended to them.
    pub validation: ValidationConfig,
}

/// The log manager's settings.
pub fn log_manager_config(config: &BrokerConfig) -> LogManagerConfig {
    LogManagerConfig {
        cleaner: ottla_log::CleanerConfig::default(),
        log_dirs: config.log_dirs.clone(),
        default_log_config: Arc::new(log_config(&config.topic_defaults)),
        recovery_threads_per_data_dir: unsigned(config.num_recovery_threads_per_data_dir).max(1),
        retention_check_interval_ms: config.log_retention_check_interval_ms,
        flush_check_interval_ms: config.log_flush_scheduler_interval_ms,
        recovery_point_checkpoint_interval_ms: i64::from(config.log_flush_offset_checkpoint_interval_ms),
        log_start_offset_checkpoint_interval_ms: i64::from(config.log_flush_start_offset_checkpoint_interval_ms),
        high_watermark_checkpoint_interval_ms: config.replica_high_watermark_checkpoint_interval_ms,
        producer_id_expiration_check_interval_ms: i64::from(config.producer_id_expiration_check_interval_ms),
        producer: ProducerStateConfig {
            expiration_ms: i64::from(config.producer_id_expiration_ms),
            verification_enabled: config.transaction_partition_verification_enable,
        },
    }
}

/// The group coordinators' settings.
pub fn group_coordinator_config(config: &BrokerConfig) -> GroupCoordinatorConfig {
    GroupCoordinatorConfig {
        offset_metadata_max_size: unsigned(config.offset_metadata_max_bytes),
        offsets_retention_ms: i64::from(config.offsets_retention_minutes) * 60 * 1000,
        offsets_retention_check_interval_ms: config.offsets_retention_check_interval_ms,
        offsets_commit_timeout_ms: i64::from(config.offsets_commit_timeout_ms),
        classic_group_min_session_timeout_ms: config.group_min_session_timeout_ms,
        classic_group_max_session_timeout_ms: config.group_max_session_timeout_ms,
        classic_group_initial_rebalance_delay_ms: config.group_initial_rebalance_delay_ms,
        classic_group_max_size: unsigned(config.group_max_size),
    }
}

/// The settings of a topic: its own keys over the broker's. Keys were checked when they were set; if they are not valid all the same, the
/// broker's defaults apply, and the log says so.
pub fn topic_settings(config: &BrokerConfig, image: &MetadataImage, topic: &str) -> TopicSettings {
    let own: ConfigMap = image.configs.resource(&ConfigResource::topic(topic)).map(|own| (**own).clone()).unwrap_or_default();
    let effective = config.topic_config(&own).unwrap_or_else(|error| {
        tracing::error!(topic, %error, "the topic's configuration is not valid: the broker's defaults apply");
        config.topic_defaults.clone()
    });
    TopicSettings { log: Arc::new(log_config(&effective)), validation: validation_config(&effective) }
}

fn log_config(config: &TopicConfig) -> LogConfig {
    LogConfig {
        segment_bytes: unsigned(config.segment_size()) as u32,
        segment_ms: config.segment_ms,
        segment_jitter_ms: config.segment_jitter_ms,
        segment_index_bytes: unsigned(config.segment_index_bytes) as u32,
        index_interval_bytes: unsigned(config.index_interval_bytes) as u32,
        retention_bytes: config.retention_bytes,
        retention_ms: config.retention_ms,
        cleanup_policy: CleanupPolicy { delete: config.cleanup_policy.delete, compact: config.cleanup_policy.compact },
        file_delete_delay_ms: config.file_delete_delay_ms,
        flush_messages: config.flush_messages,
        flush_ms: config.flush_ms,
        max_message_bytes: unsigned(config.max_message_bytes) as u32,
        min_compaction_lag_ms: config.min_compaction_lag_ms,
        max_compaction_lag_ms: config.max_compaction_lag_ms,
        delete_retention_ms: config.delete_retention_ms,
        min_cleanable_dirty_ratio: config.min_cleanable_dirty_ratio,
        preallocate: config.preallocate,
    }
}

fn validation_config(config: &TopicConfig) -> ValidationConfig {
    ValidationConfig {
        max_message_bytes: unsigned(config.max_message_bytes),
        is_compacted: config.cleanup_policy.compact,
        compression: match config.compression {
            BrokerCompression::Producer => None,
            BrokerCompression::Uncompressed => Some(Compression::None),
            BrokerCompression::Gzip { level } => Some(Compression::Gzip { level }),
            BrokerCompression::Snappy => Some(Compression::Snappy),
            BrokerCompression::Lz4 { .. } => Some(Compression::Lz4),
            BrokerCompression::Zstd { level } => Some(Compression::Zstd { level }),
        },
        timestamp_type: match config.message_timestamp_type {
            TimestampType::CreateTime => ottla_record::TimestampType::CreateTime,
            TimestampType::LogAppendTime => ottla_record::TimestampType::LogAppendTime,
        },
        timestamp_before_max_ms: config.message_timestamp_before_max_ms,
        timestamp_after_max_ms: config.message_timestamp_after_max_ms,
    }
}

/// Sizes and counts are checked to be positive where they are read.
fn unsigned(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}
