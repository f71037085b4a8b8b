//! The one error that all operations of a log share: its disk failed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    message: Mutex<Option<Arc<str>>>,
}

impl LogDirFailure {
    /// What went wrong; `None` while the directory is online.
    pub fn message(&self) -> Option<Arc<str>> {
        self.message.lock().clone()
    }

    /// Makes all operations fail from now on, without anybody being to blame: their log was deleted.
    pub(crate) fn retire(&self) {
        *self.message.lock() = Some("the log was deleted".into());
    }

    /// Takes the directory offline. The first reason stays.
    pub fn report(&self, error: &dyn std::error::Error) {
        let mut message = self.message.lock();
        if message.is_none() {
            tracing::error!(%error, "log directory goes offline");
            *message = Some(error.to_string().into());
        }
    }

    /// Runs an operation on the directory unless it is offline, and takes it offline when the disk fails. Bytes that are wrong concern
    /// their log alone.
    pub(crate) fn guard<T>(&self, operation: &'static str, path: &Path, run: impl FnOnce() -> io::Result<T>) -> Result<T, StorageError> {
        let storage_error = |source| StorageError { operation, path: path.to_owned(), source };
        if let Some(message) = self.message() {
            return Err(storage_error(io::Error::other(format!("the log directory is offline: {message}"))));
        }
        run().map_err(|source| {
            let is_corruption = is_corruption(&source);
            let error = storage_error(source);
            if is_corruption {
                tracing::error!(%error, "corrupt log");
            } else {
                self.report(&error);
            }
            error
        })
    }
}

/// Whether the bytes are wrong rather than the disk.
pub(crate) fn is_corruption(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}
