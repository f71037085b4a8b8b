//! Making the log durable. The slow part runs without the log's lock, and one flush serves all who wait for it.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Disk, DiskFile, OpenMode};
use parking_lot::MutexGuard;
use smallvec::SmallVec;

use super::{Log, SharedLog};
use crate::checkpoint::{LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, format_leader_epochs};
use crate::errors::{LogDirFailure, StorageError};
use crate::paths::{PRODUCER_SNAPSHOT_SUFFIX, segment_file};

/// The files to be made durable, so that the log is up to an offset.
#[derive(Debug)]
pub struct FlushTask {
    disk: Arc<dyn Disk>,
    failure: Arc<LogDirFailure>,
    dir: PathBuf,
    files: Vec<Arc<dyn DiskFile>>,
    snapshots_and_metadata: Vec<PathBuf>,
    /// The log's directory, and the one above when the log is new.
    dirs: SmallVec<[PathBuf; 2]>,
    names_changed: u32,
    end_offset: i64,
    truncations: u32,
}

impl FlushTask {
    /// What will be durable: everything below.
    pub fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Waits for the disk. A failure takes the log directory offline: what was written is in doubt and must not be written again.
    pub fn run(&self) -> Result<(), StorageError> {
        self.failure.guard("flush", &self.dir, || {
            for file in &self.files {
                unless_gone(file.sync_data())?;
            }
            for path in &self.snapshots_and_metadata {
                unless_gone(self.disk.open(path, OpenMode::Existing).and_then(|file| file.sync_data()))?;
            }
            for dir in &self.dirs {
                unless_gone(self.disk.sync_dir(dir))?;
            }
            Ok(())
        })
    }
}

/// Retention may have removed a file since the task was made: then nobody needs it durable.
fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

impl Log {
    /// What has to be made durable for the whole log to be; `None` when it is. Run the task, without the lock if need be, and hand it
    /// to [`Log::flushed`].
    pub fn prepare_flush(&mut self) -> Result<Option<FlushTask>, StorageError> {
        self.write_leader_epochs()?;
        if self.recovery_point >= self.log_end_offset && self.names_synced == self.names_changed {
            return Ok(None);
        }
        self.guard_mut("flush", Log::flush_task).map(Some)
    }

    fn flush_task(&mut self) -> io::Result<FlushTask> {
        let from = self.floor_segment(self.recovery_point).unwrap_or(0);
        let mut files = Vec::new();
        for segment in &mut self.segments[from..] {
            segment.write_index_tails()?;
            files.extend(segment.files());
        }
        let mut snapshots_and_metadata = Vec::new();
        if let Some(offset) = self.producers.latest_snapshot_offset().filter(|&offset| offset >= self.recovery_point) {
            snapshots_and_metadata.push(segment_file(&self.dir, offset, PRODUCER_SNAPSHOT_SUFFIX));
        }
        if self.metadata_unsynced {
            snapshots_and_metadata.push(self.dir.join(PARTITION_METADATA));
        }
        let mut dirs = SmallVec::new();
        if self.names_synced != self.names_changed {
            dirs.push(self.dir.clone());
        }
        if self.dir_is_new {
            dirs.extend(self.dir.parent().map(Path::to_owned));
        }
        Ok(FlushTask {
            disk: self.disk.clone(),
            failure: self.failure.clone(),
            dir: self.dir.clone(),
            files,
            snapshots_and_metadata,
            dirs,
            names_changed: self.names_changed,
            end_offset: self.log_end_offset,
            truncations: self.truncations,
        })
    }

    /// Takes note that a task has run.
    pub fn flushed(&mut self, task: &FlushTask, now_ms: i64) {
        self.last_flushed_ms = now_ms;
        self.metadata_unsynced = false;
        self.dir_is_new = false;
        self.names_synced = task.names_changed;
        if task.truncations == self.truncations {
            self.recovery_point = self.recovery_point.max(task.end_offset);
        }
    }

    /// When `flush.ms` asks for the next flush; `None` when nothing is waiting for one.
    pub(crate) fn flush_deadline_ms(&self) -> Option<i64> {
        let waiting = self.recovery_point < self.log_end_offset && self.config.flush_ms < i64::MAX;
        waiting.then(|| self.last_flushed_ms.saturating_add(self.config.flush_ms))
    }

    /// Writes `leader-epoch-checkpoint` when it is older than the epochs in memory.
    pub(crate) fn write_leader_epochs(&mut self) -> Result<(), StorageError> {
        if !self.leader_epochs.take_dirty() {
            return Ok(());
        }
        let content = format_leader_epochs(self.leader_epochs.entries());
        let path = self.dir.join(LEADER_EPOCH_CHECKPOINT);
        let disk = self.disk.clone();
        let written = self.guard("write leader epochs", || replace_file(disk.as_ref(), &path, content.as_bytes()));
        match written {
            Ok(()) => self.names_changed += 1,
            Err(_) => self.leader_epochs.mark_dirty(),
        }
        written
    }
}

/// Replaces a file; the content is durable, the name once the directory is.
fn replace_file(disk: &dyn Disk, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let file = disk.open(temporary.as_ref(), OpenMode::CreateEmpty)?;
    file.write_all_at(&mut [IoSlice::new(content)], 0)?;
    file.sync_data()?;
    disk.rename(temporary.as_ref(), path)
}

/// Returns once everything below an offset is durable. Whoever comes while another flush runs waits for that one and, if it began too
/// early, for the next, which serves all who wait by then. To be called without holding the log.
pub fn flush_to(log: &SharedLog, offset: i64, now_ms: i64) -> Result<(), StorageError> {
    let mut guard = log.lock();
    loop {
        if guard.recovery_point >= offset.min(guard.log_end_offset) {
            return Ok(());
        }
        if guard.flush_running {
            let flush_done = guard.flush_done.clone();
            flush_done.wait(&mut guard);
            continue;
        }
        let Some(task) = guard.prepare_flush()? else { return Ok(()) };
        guard.flush_running = true;
        let result = MutexGuard::unlocked(&mut guard, || task.run());
        guard.flush_running = false;
        guard.flush_done.notify_all();
        result?;
        guard.flushed(&task, now_ms);
    }
}
