//! Stopping so that the next start needs no recovery.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::directory::LogDirectory;
use super::{LogManager, ManagedLog};
use crate::errors::StorageError;
use crate::log::FlushTask;

/// With more logs than this to be made durable, the whole file system is.
const FLUSH_ONE_BY_ONE_MAX: usize = 16;

/// A log that was closed but for its flush.
type Unflushed = (ManagedLog, FlushTask);

impl LogManager {
    /// Closes all logs, writes the checkpoints and the marker of a clean stop. A directory in which that fails gets no marker and is
    /// recovered at the next start; the first such failure is returned.
    pub fn close(&self, broker_epoch: i64, now_ms: i64) -> Result<(), StorageError> {
        self.closing.store(true, Ordering::Release);
        let mut failures = self.close_logs(now_ms);
        self.write_recovery_points();
        self.write_log_start_offsets();
        self.write_high_watermarks();
        for directory in self.directories.iter().filter(|directory| directory.is_online()) {
            if failures.iter().any(|failure| failure.path.starts_with(&directory.path)) {
                continue;
            }
            if let Err(error) = directory.clean_shutdown.write(self.disk.as_ref(), broker_epoch) {
                directory.failure.report(&error);
                let (path, source) = (directory.path.clone(), std::io::Error::other(error));
                failures.push(StorageError { operation: "mark the clean shutdown", path, source });
            }
        }
        failures.into_iter().next().map_or(Ok(()), Err)
    }

    fn close_logs(&self, now_ms: i64) -> Vec<StorageError> {
        let logs: Vec<ManagedLog> =
            self.logs_where(|_, managed| self.directories[managed.directory].is_online()).into_iter().map(|(_, managed)| managed).collect();
        let unflushed: Mutex<Vec<Unflushed>> = Mutex::new(Vec::new());
        let mut failures = self.in_parallel(&logs, |managed| {
            let task = managed.log.lock().prepare_close()?;
            unflushed.lock().extend(task.map(|task| (managed.clone(), task)));
            Ok(())
        });
        let mut unflushed = unflushed.into_inner();
        for (index, directory) in self.directories.iter().enumerate() {
            let here = unflushed.iter().filter(|(managed, _)| managed.directory == index).count();
            if here > FLUSH_ONE_BY_ONE_MAX {
                let all = std::mem::take(&mut unflushed);
                let (here, elsewhere) = all.into_iter().partition(|(managed, _)| managed.directory == index);
                unflushed = elsewhere;
                failures.extend(self.flush_directory(directory, here, now_ms).err());
            }
        }
        failures.extend(self.in_parallel(&unflushed, |(managed, task)| {
            task.run()?;
            managed.log.lock().flushed(task, now_ms);
            Ok(())
        }));
        failures
    }

    fn flush_directory(&self, directory: &LogDirectory, logs: Vec<Unflushed>, now_ms: i64) -> Result<(), StorageError> {
        directory.failure.guard("flush all logs", &directory.path, || self.disk.sync_all(&directory.path))?;
        for (managed, task) in logs {
            managed.log.lock().flushed(&task, now_ms);
        }
        Ok(())
    }

    /// Does something to each item, with so many threads as logs are loaded with; returns what failed.
    fn in_parallel<T: Sync>(&self, items: &[T], work: impl Fn(&T) -> Result<(), StorageError> + Sync) -> Vec<StorageError> {
        let next = AtomicUsize::new(0);
        let failures = Mutex::new(Vec::new());
        let run = || {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = work(item) {
                    failures.lock().push(error);
                }
            }
        };
        let threads = (self.config.recovery_threads_per_data_dir.max(1) * self.directories.len()).min(items.len());
        if threads > 1 {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(run);
                }
            });
        } else {
            run();
        }
        failures.into_inner()
    }
}
