//! All logs of a broker, in one or several log directories (`LogManager`): opening them, creating and deleting, checkpoints, and the work
//! that comes round by time. Shared by reference; must not know which replicas lead.
//!
//! Locks, in the order in which they may be taken: the cleaner's state, the map of logs, then one log. Never two logs.

mod clean;
mod create;
mod delete;
mod describe;
mod directory;
mod open;
mod shutdown;
#[cfg(test)]
mod tests;
mod tick;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ottla_io::{Disk, Rng};
use ottla_model::TopicPartition;
use parking_lot::{Mutex, RwLock};

pub use clean::CleanOutcome;
pub use create::CreateLogError;
pub use describe::{LogDirInfo, PartitionSize};
pub use open::{OpenError, TopicConfigs};

use crate::cleaner::CleanerConfig;
use crate::config::LogConfig;
use crate::dirty_logs::DirtyLogs;
use crate::log::SharedLog;
use crate::producer::ProducerStateConfig;
use clean::CleanerState;
use delete::DeletedDir;
use directory::LogDirectory;
use tick::Schedule;

/// Settings of the log manager. Field names are Kafka's keys; the defaults are Kafka's.
#[derive(Clone, Debug)]
pub struct LogManagerConfig {
    /// `log.dirs`.
    pub log_dirs: Vec<PathBuf>,
    /// What logs of topics without own configuration obey.
    pub default_log_config: Arc<LogConfig>,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_data_dir: usize,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `log.flush.scheduler.interval.ms`: how often `flush.ms` is looked after at most.
    pub flush_check_interval_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_checkpoint_interval_ms: i64,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub log_start_offset_checkpoint_interval_ms: i64,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub high_watermark_checkpoint_interval_ms: i64,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_id_expiration_check_interval_ms: i64,
    /// Settings of producer state.
    pub producer: ProducerStateConfig,
    /// Settings of the cleaner.
    pub cleaner: CleanerConfig,
}

impl LogManagerConfig {
    /// Kafka's defaults for these directories.
    pub fn new(log_dirs: Vec<PathBuf>) -> LogManagerConfig {
        LogManagerConfig {
            log_dirs,
            default_log_config: Arc::default(),
            recovery_threads_per_data_dir: 2,
            retention_check_interval_ms: 5 * 60 * 1000,
            flush_check_interval_ms: i64::MAX,
            recovery_point_checkpoint_interval_ms: 60_000,
            log_start_offset_checkpoint_interval_ms: 60_000,
            high_watermark_checkpoint_interval_ms: 5_000,
            producer_id_expiration_check_interval_ms: 10 * 60 * 1000,
            producer: ProducerStateConfig::default(),
            cleaner: CleanerConfig::default(),
        }
    }
}

/// A log and the directory it is in.
#[derive(Clone, Debug)]
struct ManagedLog {
    log: SharedLog,
    directory: usize,
}

/// All logs of a broker.
#[derive(Debug)]
pub struct LogManager {
    config: LogManagerConfig,
    disk: Arc<dyn Disk>,
    rng: Mutex<Box<dyn Rng>>,
    directories: Vec<LogDirectory>,
    logs: RwLock<HashMap<TopicPartition, ManagedLog>>,
    /// Directories of deleted partitions whose files wait for their removal.
    deleted_dirs: Mutex<Vec<DeletedDir>>,
    dirty_logs: Arc<DirtyLogs>,
    schedule: Mutex<Schedule>,
    cleaner: Mutex<CleanerState>,
    /// No cleaning may change a log any more.
    closing: AtomicBool,
}

impl LogManager {
    /// The log of a partition.
    pub fn get(&self, partition: &TopicPartition) -> Option<SharedLog> {
        self.logs.read().get(partition).map(|managed| managed.log.clone())
    }

    /// All partitions that have a log here, in order.
    pub fn partitions(&self) -> Vec<TopicPartition> {
        let partitions: BTreeSet<TopicPartition> = self.logs.read().keys().cloned().collect();
        partitions.into_iter().collect()
    }

    /// Gives all logs of a topic another configuration.
    pub fn update_config(&self, topic: &str, config: &Arc<LogConfig>) {
        for (_, managed) in self.logs_where(|partition, _| *partition.topic == *topic) {
            managed.log.lock().update_config(config.clone());
        }
    }

    /// Copies of the entries of some logs, so that the map is not locked while they are worked on.
    fn logs_where(&self, wanted: impl Fn(&TopicPartition, &ManagedLog) -> bool) -> Vec<(TopicPartition, ManagedLog)> {
        let logs = self.logs.read();
        logs.iter()
            .filter(|(partition, managed)| wanted(partition, managed))
            .map(|(partition, managed)| (partition.clone(), managed.clone()))
            .collect()
    }
}
