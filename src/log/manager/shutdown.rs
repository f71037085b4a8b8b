//! Stopping so that the next start needs no recovery.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::LogManager;
use crate::errors::StorageError;

impl LogManager {
    /// Closes all logs, writes the checkpoints and the marker of a clean stop. A directory in which that fails gets no marker and is
    /// recovered at the next start; the first such failure is returned.
    pub fn close(&self, broker_epoch: i64, now_ms: i64) -> Result<(), StorageError> {
        let mut first_failure = self.close_logs(now_ms).err();
        self.write_recovery_points();
        self.write_log_start_offsets();
        self.write_high_watermarks();
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            if first_failure.as_ref().is_some_and(|failure| failure.path.starts_with(&directory.path)) {
                continue;
            }
            if let Err(error) = directory.clean_shutdown.write(self.disk.as_ref(), broker_epoch) {
                directory.failure.report(&error);
                let source = std::io::Error::other(error);
                first_failure.get_or_insert(StorageError { operation: "mark the clean shutdown", path: directory.path.clone(), source });
            }
        }
        first_failure.map_or(Ok(()), Err)
    }

    fn close_logs(&self, now_ms: i64) -> Result<(), StorageError> {
        let logs = self.logs_where(|_, managed| self.directories[managed.directory].is_online());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut first_failure = None;
            while let Some((_, managed)) = logs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = managed.log.lock().close(now_ms) {
                    first_failure.get_or_insert(error);
                }
            }
            first_failure
        };
        let threads = (self.config.recovery_threads_per_data_dir.max(1) * self.directories.len()).min(logs.len()).max(1);
        let failures: Vec<StorageError> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            handles.into_iter().filter_map(|handle| handle.join().expect("closing does not panic")).collect()
        });
        failures.into_iter().next().map_or(Ok(()), Err)
    }
}
