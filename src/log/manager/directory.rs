//! One log directory: its lock, its identity, its checkpoints, and whether it still works.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Disk, LockFile};
use ottla_model::TopicPartition;

use crate::checkpoint::{
    CLEANER_OFFSET_CHECKPOINT, CheckpointError, CleanShutdownFile, LOG_START_OFFSET_CHECKPOINT, MetaProperties, OffsetCheckpoint,
    RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT,
};
use crate::errors::LogDirFailure;

pub(super) const LOCK_FILE: &str = ".lock";

/// A log directory.
#[derive(Debug)]
pub(super) struct LogDirectory {
    pub(super) path: PathBuf,
    pub(super) failure: Arc<LogDirFailure>,
    pub(super) meta_properties: Option<MetaProperties>,
    pub(super) recovery_points: OffsetCheckpoint,
    pub(super) log_start_offsets: OffsetCheckpoint,
    pub(super) high_watermarks: OffsetCheckpoint,
    pub(super) cleaned: OffsetCheckpoint,
    pub(super) clean_shutdown: CleanShutdownFile,
    /// Kept for as long as the directory is in use.
    pub(super) lock: Option<Box<dyn LockFile>>,
}

impl LogDirectory {
    pub(super) fn new(path: &Path) -> LogDirectory {
        LogDirectory {
            path: path.to_owned(),
            failure: Arc::default(),
            meta_properties: None,
            recovery_points: OffsetCheckpoint::new(path, RECOVERY_POINT_CHECKPOINT),
            log_start_offsets: OffsetCheckpoint::new(path, LOG_START_OFFSET_CHECKPOINT),
            high_watermarks: OffsetCheckpoint::new(path, REPLICATION_OFFSET_CHECKPOINT),
            cleaned: OffsetCheckpoint::new(path, CLEANER_OFFSET_CHECKPOINT),
            clean_shutdown: CleanShutdownFile::new(path),
            lock: None,
        }
    }

    pub(super) fn is_online(&self) -> bool {
        self.failure.message().is_none()
    }

    /// Writes one of the checkpoints; a failing disk takes the directory offline.
    pub(super) fn write_checkpoint(
        &self,
        disk: &dyn Disk,
        checkpoint: &OffsetCheckpoint,
        offsets: &mut [(TopicPartition, i64)],
    ) -> Result<(), CheckpointError> {
        offsets.sort();
        let written = checkpoint.write(disk, offsets);
        if let Err(error) = &written {
            self.failure.report(error);
        }
        written
    }
}
