//! Deleting logs: the directory is renamed at once, and removed when `file.delete.delay.ms` is over.

use std::path::PathBuf;

use ottla_model::TopicPartition;

use super::LogManager;
use crate::errors::StorageError;
use crate::paths::delete_dir_name;

/// A renamed directory that waits for its removal.
#[derive(Debug)]
pub(super) struct DeletedDir {
    pub(super) directory: usize,
    pub(super) path: PathBuf,
    pub(super) due_ms: i64,
}

impl LogManager {
    /// Deletes the log of a partition; `false` when there is none. Whoever still holds the log reads from it for a while, and must not
    /// append.
    pub fn delete(&self, partition: &TopicPartition, now_ms: i64) -> Result<bool, StorageError> {
        let Some(managed) = self.logs.write().remove(partition) else { return Ok(false) };
        let name = delete_dir_name(partition, self.rng.lock().as_mut());
        let directory = &self.directories[managed.directory];
        let path = directory.path.join(name);
        let mut log = managed.log.lock();
        log.retire(&path)?;
        let due_ms = now_ms.saturating_add(log.config().file_delete_delay_ms);
        drop(log);
        self.forget_cleaned(managed.directory, partition);
        tracing::info!(%partition, path = %path.display(), "log is marked for deletion");
        self.deleted_dirs.lock().push(DeletedDir { directory: managed.directory, path, due_ms });
        Ok(true)
    }

    /// Removes the directories whose time has come.
    pub(super) fn remove_deleted_dirs(&self, now_ms: i64) {
        let mut deleted_dirs = self.deleted_dirs.lock();
        let (due, later): (Vec<DeletedDir>, Vec<DeletedDir>) =
            std::mem::take(&mut *deleted_dirs).into_iter().partition(|deleted| deleted.due_ms <= now_ms);
        *deleted_dirs = later;
        drop(deleted_dirs);
        for deleted in due {
            let directory = &self.directories[deleted.directory];
            if !directory.is_online() {
                continue;
            }
            match self.disk.remove_dir_all(&deleted.path) {
                Ok(()) => tracing::info!(path = %deleted.path.display(), "removed a deleted log"),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => directory.failure.report(&error),
            }
        }
    }
}
