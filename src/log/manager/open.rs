//! Starting: directories are locked and checked, logs loaded by several threads, and recovered where there was no clean stop.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ottla_io::{Disk, EntryKind, Rng};
use ottla_model::{TopicPartition, internal_topic};
use parking_lot::{Mutex, RwLock};

use super::delete::DeletedDir;
use super::directory::{LOCK_FILE, LogDirectory};
use super::tick::Schedule;
use super::{LogManager, LogManagerConfig, ManagedLog};
use crate::checkpoint::{CheckpointError, MetaProperties, MetaPropertiesError, OffsetCheckpoint};
use crate::dirty_logs::DirtyLogs;
use crate::log::{Log, LogOpen};
use crate::paths::{PartitionDir, REMOTE_INDEX_CACHE_DIR};

/// The configuration of a topic's logs; `None` for a topic that has none of its own.
pub type TopicConfigs<'a> = &'a (dyn Fn(&str) -> Option<Arc<crate::LogConfig>> + Sync);

/// Why the log manager does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// `log.dirs` names a directory twice.
    #[error("log.dirs names {0} more than once")]
    DuplicateLogDir(PathBuf),
    /// Another broker uses the directory.
    #[error("the log directory {0} is in use: another broker, or a Kafka, holds its .lock file")]
    Locked(PathBuf),
    /// A directory's `meta.properties` cannot be understood.
    #[error(transparent)]
    MetaProperties(MetaPropertiesError),
    /// Something lies in a log directory that is no partition.
    #[error("found the directory {0}, which is not named like a partition: a log directory may hold nothing else")]
    ForeignDirectory(PathBuf),
    /// A partition is in two directories.
    #[error("the partition {partition} is in {first} and in {second}: remove the one that is not needed")]
    DuplicatePartition {
        /// The partition.
        partition: TopicPartition,
        /// Where it was found.
        first: PathBuf,
        /// Where it was found again.
        second: PathBuf,
    },
    /// No directory is left.
    #[error("none of the log directories can be used: {0}")]
    AllOffline(String),
}

/// How often loading says how far it is, in logs.
const PROGRESS_EVERY: usize = 1000;

/// A log that is to be loaded.
struct Job {
    directory: usize,
    path: PathBuf,
    partition: TopicPartition,
    clean: bool,
    recovery_point: i64,
    log_start_offset: i64,
    high_watermark: i64,
    jitter_seed: u32,
}

impl LogManager {
    /// Locks the log directories and loads all logs. A directory that fails is taken offline; it is an error when none is left, when one
    /// is locked or foreign, or holds what it must not.
    pub fn open(
        config: LogManagerConfig,
        topic_configs: TopicConfigs<'_>,
        disk: Arc<dyn Disk>,
        mut rng: Box<dyn Rng>,
        now_ms: i64,
    ) -> Result<LogManager, OpenError> {
        let directories = open_directories(&config, disk.as_ref())?;
        let mut jobs = Vec::new();
        let mut deleted_dirs = Vec::new();
        for (index, directory) in directories.iter().enumerate() {
            list_directory(index, directory, disk.as_ref(), rng.as_mut(), &mut jobs, &mut deleted_dirs, now_ms)?;
        }
        let dirty_logs: Arc<DirtyLogs> = Arc::default();
        let loading = Loading { config: &config, topic_configs, disk: &disk, directories: &directories, dirty_logs: &dirty_logs, now_ms };
        let logs = loading.load_all(&jobs)?;
        let online = directories.iter().filter(|directory| directory.is_online()).count();
        if online == 0 {
            let reasons: Vec<String> = directories.iter().filter_map(|directory| Some(directory.failure.message()?.to_string())).collect();
            return Err(OpenError::AllOffline(reasons.join("; ")));
        }
        let schedule = Schedule::starting_at(now_ms, &config);
        Ok(LogManager {
            config,
            disk,
            rng: Mutex::new(rng),
            directories,
            logs: RwLock::new(logs),
            deleted_dirs: Mutex::new(deleted_dirs),
            dirty_logs,
            schedule: Mutex::new(schedule),
            cleaner: Mutex::default(),
            closing: AtomicBool::new(false),
        })
    }
}

fn open_directories(config: &LogManagerConfig, disk: &dyn Disk) -> Result<Vec<LogDirectory>, OpenError> {
    let mut directories: Vec<LogDirectory> = Vec::new();
    for path in &config.log_dirs {
        if directories.iter().any(|directory| directory.path == *path) {
            return Err(OpenError::DuplicateLogDir(path.clone()));
        }
        let mut directory = LogDirectory::new(path);
        match lock_directory(disk, path) {
            Ok(Some(lock)) => directory.lock = Some(lock),
            Ok(None) => return Err(OpenError::Locked(path.clone())),
            Err(error) => directory.failure.report(&error),
        }
        if directory.is_online() {
            match MetaProperties::read(disk, path) {
                Ok(meta_properties) => directory.meta_properties = meta_properties,
                Err(error @ MetaPropertiesError::Io { .. }) => directory.failure.report(&error),
                Err(error @ MetaPropertiesError::Malformed { .. }) => return Err(OpenError::MetaProperties(error)),
            }
        }
        directories.push(directory);
    }
    Ok(directories)
}

fn lock_directory(disk: &dyn Disk, path: &Path) -> io::Result<Option<Box<dyn ottla_io::LockFile>>> {
    if disk.metadata(path)?.is_none() {
        disk.create_dir_all(path)?;
        if let Some(parent) = path.parent() {
            disk.sync_dir(parent)?;
        }
    }
    disk.lock(&path.join(LOCK_FILE))
}

/// Finds the partitions of a directory. The marker of a clean stop is taken away here: it says nothing about what follows.
fn list_directory(
    index: usize,
    directory: &LogDirectory,
    disk: &dyn Disk,
    rng: &mut dyn Rng,
    jobs: &mut Vec<Job>,
    deleted_dirs: &mut Vec<DeletedDir>,
    now_ms: i64,
) -> Result<(), OpenError> {
    if !directory.is_online() {
        return Ok(());
    }
    let clean = match directory.clean_shutdown.take(disk) {
        Ok(clean) => clean,
        Err(error) => {
            directory.failure.report(&error);
            return Ok(());
        }
    };
    let recovery_points = offsets(&directory.recovery_points, disk);
    let log_start_offsets = offsets(&directory.log_start_offsets, disk);
    let high_watermarks = offsets(&directory.high_watermarks, disk);
    // A killed broker may have left directories of new partitions whose names are not durable; their logs count on them.
    let synced = if clean { Ok(()) } else { disk.sync_dir(&directory.path) };
    let entries = match synced.and_then(|()| disk.read_dir(&directory.path)) {
        Ok(entries) => entries,
        Err(error) => {
            directory.failure.report(&error);
            return Ok(());
        }
    };
    for entry in entries {
        let path = directory.path.join(&entry.name);
        if entry.kind != EntryKind::Directory || entry.name == REMOTE_INDEX_CACHE_DIR {
            continue;
        }
        let Some(found) = PartitionDir::parse(&entry.name) else { return Err(OpenError::ForeignDirectory(path)) };
        if *found.topic_partition().topic == *internal_topic::CLUSTER_METADATA {
            continue;
        }
        match found {
            PartitionDir::Deleted(_) => deleted_dirs.push(DeletedDir { directory: index, path, due_ms: now_ms }),
            PartitionDir::Stray(_) => tracing::warn!(path = %path.display(), "leaving a stray partition alone"),
            PartitionDir::Future(_) => tracing::warn!(path = %path.display(), "leaving an unfinished move alone"),
            PartitionDir::Current(partition) => jobs.push(Job {
                directory: index,
                path,
                clean,
                recovery_point: recovery_points.get(&partition).copied().unwrap_or(0),
                log_start_offset: log_start_offsets.get(&partition).copied().unwrap_or(0),
                high_watermark: high_watermarks.get(&partition).copied().unwrap_or(0),
                partition,
                jitter_seed: rng.next_u64() as u32,
            }),
        }
    }
    Ok(())
}

/// A checkpoint's offsets; one that cannot be read costs a longer recovery, not the start.
fn offsets(checkpoint: &OffsetCheckpoint, disk: &dyn Disk) -> HashMap<TopicPartition, i64> {
    checkpoint.read(disk).unwrap_or_else(|error: CheckpointError| {
        tracing::warn!(%error, "a checkpoint is unreadable and begins anew");
        HashMap::new()
    })
}

/// What loading a log needs.
struct Loading<'a> {
    config: &'a LogManagerConfig,
    topic_configs: TopicConfigs<'a>,
    disk: &'a Arc<dyn Disk>,
    directories: &'a [LogDirectory],
    dirty_logs: &'a Arc<DirtyLogs>,
    now_ms: i64,
}

impl Loading<'_> {
    /// Loads logs with so many threads as the directories allow.
    fn load_all(&self, jobs: &[Job]) -> Result<HashMap<TopicPartition, ManagedLog>, OpenError> {
        let logs = Mutex::new(HashMap::with_capacity(jobs.len()));
        let duplicate = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let unclean = jobs.iter().filter(|job| !job.clean).count();
        if unclean > 0 {
            tracing::info!(logs = unclean, "recovering logs: there was no clean shutdown");
        }
        let work = || {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(log) = self.load(job) else { continue };
                let mut logs = logs.lock();
                let managed = ManagedLog { log: Arc::new(Mutex::new(log)), directory: job.directory };
                let previous: Option<ManagedLog> = logs.insert(job.partition.clone(), managed);
                if let Some(previous) = previous {
                    *duplicate.lock() = Some((job.partition.clone(), previous.directory, job.directory));
                }
                if logs.len().is_multiple_of(PROGRESS_EVERY) {
                    tracing::info!(loaded = logs.len(), of = jobs.len(), "loading logs");
                }
            }
        };
        let threads = (self.config.recovery_threads_per_data_dir.max(1) * self.directories.len()).min(jobs.len());
        if threads > 1 {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            });
        } else {
            work();
        }
        if let Some((partition, first, second)) = duplicate.into_inner() {
            let path = |index: usize| self.directories[index].path.clone();
            return Err(OpenError::DuplicatePartition { partition, first: path(first), second: path(second) });
        }
        Ok(logs.into_inner())
    }

    fn load(&self, job: &Job) -> Option<Log> {
        let config = (self.topic_configs)(&job.partition.topic);
        let open = LogOpen {
            log_start_offset: job.log_start_offset,
            recovery_point: job.recovery_point,
            clean: job.clean,
            producer: self.config.producer,
            failure: self.directories[job.directory].failure.clone(),
            dirty_logs: self.dirty_logs.clone(),
            jitter_seed: job.jitter_seed,
            ..LogOpen::new(job.partition.clone(), config.unwrap_or_else(|| self.config.default_log_config.clone()))
        };
        match Log::open(self.disk.clone(), &job.path, open, self.now_ms) {
            Ok(mut log) => {
                log.update_high_watermark(job.high_watermark);
                Some(log)
            }
            Err(error) => {
                // The failure has been taken note of: the directory is offline, or this one log cannot be used.
                tracing::error!(partition = %job.partition, %error, "cannot load a log");
                None
            }
        }
    }
}
