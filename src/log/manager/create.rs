//! Making logs for new partitions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition, Uuid};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{LogManager, ManagedLog};
use crate::config::LogConfig;
use crate::errors::StorageError;
use crate::log::{Log, LogOpen, SharedLog};

/// Why a log was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateLogError {
    /// There is a log, but of an earlier topic of that name.
    #[error("the log of {partition} belongs to the topic id {found}, not to {wanted}")]
    InconsistentTopicId {
        /// The partition.
        partition: TopicPartition,
        /// The id of the log that is there.
        found: Uuid,
        /// The id that was asked for.
        wanted: Uuid,
    },
    /// All log directories are offline.
    #[error("no log directory is online")]
    NoLogDir,
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl CreateLogError {
    /// The code that clients get.
    pub fn code(&self) -> ErrorCode {
        match self {
            CreateLogError::InconsistentTopicId { .. } => ErrorCode::InconsistentTopicId,
            CreateLogError::NoLogDir => ErrorCode::KafkaStorageError,
            CreateLogError::Storage(error) => error.code(),
        }
    }
}

impl LogManager {
    /// The log of a partition, created when there is none, in the directory with the fewest logs.
    pub fn get_or_create(
        &self,
        partition: &TopicPartition,
        topic_id: Uuid,
        config: &Arc<LogConfig>,
        now_ms: i64,
    ) -> Result<SharedLog, CreateLogError> {
        if let Some(log) = self.get(partition) {
            return self.check_topic_id(log, partition, topic_id);
        }
        let mut logs = self.logs.write();
        if let Some(existing) = logs.get(partition) {
            return self.check_topic_id(existing.log.clone(), partition, topic_id);
        }
        let directory = self.emptiest_directory(&logs).ok_or(CreateLogError::NoLogDir)?;
        let log = Arc::new(Mutex::new(self.create_in(directory, partition, topic_id, config, now_ms)?));
        logs.insert(partition.clone(), ManagedLog { log: log.clone(), directory });
        Ok(log)
    }

    /// The online directory with the fewest logs.
    fn emptiest_directory(&self, logs: &HashMap<TopicPartition, ManagedLog>) -> Option<usize> {
        let online: SmallVec<[usize; 1]> = (0..self.directories.len()).filter(|&index| self.directories[index].is_online()).collect();
        // Mostly there is one directory, and counting very many logs for each new one would be felt.
        if online.len() <= 1 {
            return online.first().copied();
        }
        let mut counts = vec![0usize; self.directories.len()];
        for managed in logs.values() {
            counts[managed.directory] += 1;
        }
        online.into_iter().min_by_key(|&index| counts[index])
    }

    fn create_in(
        &self,
        directory: usize,
        partition: &TopicPartition,
        topic_id: Uuid,
        config: &Arc<LogConfig>,
        now_ms: i64,
    ) -> Result<Log, StorageError> {
        let directory = &self.directories[directory];
        let open = LogOpen {
            topic_id: Some(topic_id),
            clean: true,
            producer: self.config.producer,
            failure: directory.failure.clone(),
            dirty_logs: self.dirty_logs.clone(),
            jitter_seed: self.rng.lock().next_u64() as u32,
            ..LogOpen::new(partition.clone(), config.clone())
        };
        let path: PathBuf = directory.path.join(partition.to_string());
        Log::open(self.disk.clone(), &path, open, now_ms)
    }

    /// A log that was there already must be of the same topic; one that does not know its topic yet learns it.
    fn check_topic_id(&self, log: SharedLog, partition: &TopicPartition, wanted: Uuid) -> Result<SharedLog, CreateLogError> {
        let mut guard = log.lock();
        match guard.topic_id() {
            Some(found) if found != wanted => Err(CreateLogError::InconsistentTopicId { partition: partition.clone(), found, wanted }),
            Some(_) => {
                drop(guard);
                Ok(log)
            }
            None => {
                guard.assign_topic_id(wanted)?;
                drop(guard);
                Ok(log)
            }
        }
    }
}
