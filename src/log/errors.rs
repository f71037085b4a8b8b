//! The one error that all operations of a log share: its disk failed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_model::ErrorCode;
use parking_lot::Mutex;

/// A disk operation failed; the log directory is offline from then on.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} in {path}: {source}")]
pub struct StorageError {
    /// What was being done.
    pub operation: &'static str,
    /// The directory it was done in.
    pub path: PathBuf,
    /// What the disk said.
    pub source: io::Error,
}

impl StorageError {
    /// The code that clients get.
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::KafkaStorageError
    }
}

/// The health of a log directory, shared by its logs: the first failure of any of them takes all of them offline
/// (`LogDirFailureChannel`).
#[derive(Debug, Default)]
pub struct LogDirFailure {
    offline: AtomicBool,
    message: Mutex<Option<Arc<str>>>,
}

impl LogDirFailure {
    /// What went wrong; `None` while the directory is online.
    pub fn message(&self) -> Option<Arc<str>> {
        self.message.lock().clone()
    }

    /// Makes all operations fail from now on, without anybody being to blame: their log was deleted.
    pub(crate) fn retire(&self) {
        self.take_offline("the log was deleted".into());
    }

    /// Takes the directory offline. The first reason stays.
    pub fn report(&self, error: &dyn std::error::Error) {
        if self.take_offline(error.to_string().into()) {
            tracing::error!(%error, "log directory goes offline");
        }
    }

    /// Returns whether it was online.
    fn take_offline(&self, reason: Arc<str>) -> bool {
        let mut message = self.message.lock();
        let was_online = message.is_none();
        message.get_or_insert(reason);
        self.offline.store(true, Ordering::Release);
        was_online
    }

    /// Fails when the directory is offline.
    pub(crate) fn check(&self, operation: &'static str, path: &Path) -> Result<(), StorageError> {
        if !self.offline.load(Ordering::Acquire) {
            return Ok(());
        }
        let reason = self.message().unwrap_or_default();
        let source = io::Error::other(format!("the log directory is offline: {reason}"));
        Err(StorageError { operation, path: path.to_owned(), source })
    }

    /// Takes the directory offline because an operation failed. Bytes that are wrong concern their log alone.
    pub(crate) fn fail(&self, operation: &'static str, path: &Path, source: io::Error) -> StorageError {
        let is_corruption = is_corruption(&source);
        let error = StorageError { operation, path: path.to_owned(), source };
        if is_corruption {
            tracing::error!(%error, "corrupt log");
        } else {
            self.report(&error);
        }
        error
    }

    /// Runs an operation on the directory unless it is offline, and takes it offline when the disk fails.
    pub(crate) fn guard<T>(&self, operation: &'static str, path: &Path, run: impl FnOnce() -> io::Result<T>) -> Result<T, StorageError> {
        self.check(operation, path)?;
        run().map_err(|source| self.fail(operation, path, source))
    }
}

/// Whether the bytes are wrong rather than the disk.
pub(crate) fn is_corruption(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}
