//! Leaving a log so that the next start finds all it needs.

use super::{Log, snapshot_source};
use crate::errors::StorageError;

impl Log {
    /// Makes the log durable, writes a snapshot of its producers, and closes the books of the active segment's indexes. Nothing may be
    /// appended afterwards.
    pub fn close(&mut self, now_ms: i64) -> Result<(), StorageError> {
        self.guard_mut("close", |log| {
            log.active_mut().become_inactive()?;
            if log.producers.has_snapshots() || !log.producers.is_empty() {
                log.producers.take_snapshot(snapshot_source(&log.disk, &log.dir), true)?;
            }
            Ok(())
        })?;
        if let Some(task) = self.prepare_flush()? {
            task.run()?;
            self.flushed(&task, now_ms);
        }
        Ok(())
    }
}
