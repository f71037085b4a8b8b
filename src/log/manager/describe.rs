//! What DescribeLogDirs, registration and heartbeats want to know.

use std::path::PathBuf;

use ottla_model::{TopicPartition, Uuid};

use super::LogManager;

/// A partition's share of a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSize {
    /// The partition.
    pub partition: TopicPartition,
    /// The bytes of its segments.
    pub size_bytes: u64,
    /// The log end offset.
    pub log_end_offset: i64,
    /// The high watermark.
    pub high_watermark: i64,
}

/// A log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDirInfo {
    /// Where it is.
    pub path: PathBuf,
    /// Its id, if it has been formatted with one.
    pub directory_id: Option<Uuid>,
    /// Why it is offline; `None` while it is online.
    pub error: Option<String>,
    /// The size of its file system; `None` when that cannot be told.
    pub total_bytes: Option<u64>,
    /// What of it may still be used.
    pub usable_bytes: Option<u64>,
    /// Its logs; none while it is offline.
    pub partitions: Vec<PartitionSize>,
}

impl LogManager {
    /// All log directories with their logs' sizes.
    pub fn log_dirs(&self) -> Vec<LogDirInfo> {
        let mut infos: Vec<LogDirInfo> = self
            .directories
            .iter()
            .map(|directory| {
                let error = directory.failure.message().map(|message| message.to_string());
                let space = if error.is_none() { self.disk.space(&directory.path).ok() } else { None };
                LogDirInfo {
                    path: directory.path.clone(),
                    directory_id: directory.meta_properties.as_ref().and_then(|properties| properties.directory_id),
                    error,
                    total_bytes: space.map(|space| space.total_bytes),
                    usable_bytes: space.map(|space| space.usable_bytes),
                    partitions: Vec::new(),
                }
            })
            .collect();
        for (partition, managed) in self.logs_where(|_, managed| self.directories[managed.directory].is_online()) {
            let log = managed.log.lock();
            infos[managed.directory].partitions.push(PartitionSize {
                partition,
                size_bytes: log.size_in_bytes(),
                log_end_offset: log.log_end_offset(),
                high_watermark: log.high_watermark(),
            });
        }
        for info in &mut infos {
            info.partitions.sort_by(|left, right| left.partition.cmp(&right.partition));
        }
        infos
    }

    /// The ids of the directories that work.
    pub fn directory_ids(&self) -> Vec<(PathBuf, Option<Uuid>)> {
        let online = self.directories.iter().filter(|directory| directory.is_online());
        online
            .map(|directory| {
                let id = directory.meta_properties.as_ref().and_then(|properties| properties.directory_id);
                (directory.path.clone(), id)
            })
            .collect()
    }

    /// The directory that a partition's log is in, by its id; `None` without log, or without id.
    pub fn directory_id_of(&self, partition: &TopicPartition) -> Option<Uuid> {
        let directory = self.logs.read().get(partition)?.directory;
        self.directories[directory].meta_properties.as_ref()?.directory_id
    }

    /// The directories that do not work any more.
    pub fn offline_dirs(&self) -> Vec<PathBuf> {
        let offline = self.directories.iter().filter(|directory| !directory.is_online());
        offline.map(|directory| directory.path.clone()).collect()
    }

    /// Whether any directory still works: a broker without one must stop.
    pub fn has_online_dir(&self) -> bool {
        self.directories.iter().any(super::directory::LogDirectory::is_online)
    }
}
