//! Cleaning: the dirtiest log first, one at a time for each caller (`LogCleaner`, `LogCleanerManager`). A log that cannot be cleaned is
//! reported and left alone; the others go on.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use ottla_model::TopicPartition;

use super::{LogManager, ManagedLog};
use crate::checkpoint::OffsetCheckpoint;
use crate::cleaner::{CleanError, Cleaning, Pace, Selection};
use crate::errors::is_corruption;
use crate::paths::CLEANED_SUFFIX;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanOutcome {
    /// There is nothing to clean now.
    Nothing,
    /// A log was cleaned.
    Cleaned {
        /// Its partition.
        partition: TopicPartition,
        /// Below this offset no key has two records.
        end_offset: i64,
    },
    /// A cleaning was given up: the broker stops, or the log was deleted or cut meanwhile.
    Abandoned(TopicPartition),
    /// A log cannot be cleaned, and will not be tried again.
    Uncleanable(TopicPartition),
}

/// What the cleaner knows.
#[derive(Debug, Default)]
pub(super) struct CleanerState {
    in_progress: HashSet<TopicPartition>,
    uncleanable: HashSet<TopicPartition>,
    /// Where each log's last cleaning ended; `None` until the files were read. By log directory.
    checkpoints: Option<Vec<HashMap<TopicPartition, i64>>>,
    next_clean_ms: i64,
}

/// A log that was chosen.
struct Chosen {
    partition: TopicPartition,
    managed: ManagedLog,
    selection: Selection,
}

impl LogManager {
    /// When to call [`LogManager::clean_once`] again; `None` when there is no cleaner.
    pub fn next_clean_ms(&self) -> Option<i64> {
        (self.config.cleaner.enable && !self.closing.load(Ordering::Acquire)).then(|| self.cleaner.lock().next_clean_ms)
    }

    /// Cleans the log that needs it most. Takes long, and is for a thread that may block; up to `log.cleaner.threads` of them at a time.
    pub fn clean_once(&self, now_ms: i64, pace: &mut Pace<'_>) -> CleanOutcome {
        let Some(chosen) = self.choose_log(now_ms) else { return CleanOutcome::Nothing };
        let mut pace = |bytes| if self.closing.load(Ordering::Acquire) { ControlFlow::Break(()) } else { pace(bytes) };
        let result = self.clean_log(&chosen, now_ms, &mut pace);
        let Chosen { partition, managed, .. } = chosen;
        let mut state = self.cleaner.lock();
        state.in_progress.remove(&partition);
        match result {
            Ok(end_offset) => {
                self.checkpoint_cleaned(&mut state, managed.directory, &partition, Some(end_offset));
                tracing::info!(%partition, end_offset, "cleaned a log");
                CleanOutcome::Cleaned { partition, end_offset }
            }
            Err(CleanError::Abandoned) => CleanOutcome::Abandoned(partition),
            Err(error) => {
                tracing::error!(%partition, %error, "the log cannot be cleaned, and is left as it is");
                state.uncleanable.insert(partition.clone());
                CleanOutcome::Uncleanable(partition)
            }
        }
    }

    /// The partitions that the cleaner has given up on.
    pub fn uncleanable_partitions(&self) -> Vec<TopicPartition> {
        self.cleaner.lock().uncleanable.iter().cloned().collect()
    }

    /// Forgets a log that is deleted: another one may get its name.
    pub(super) fn forget_cleaned(&self, directory: usize, partition: &TopicPartition) {
        let mut state = self.cleaner.lock();
        state.uncleanable.remove(partition);
        self.read_cleaned(&mut state);
        self.checkpoint_cleaned(&mut state, directory, partition, None);
    }

    /// Finds the log with the largest dirty ratio among those that are worth it. When there is none, the next look is due after
    /// `log.cleaner.backoff.ms`.
    fn choose_log(&self, now_ms: i64) -> Option<Chosen> {
        if !self.config.cleaner.enable {
            return None;
        }
        let mut state = self.cleaner.lock();
        self.read_cleaned(&mut state);
        let candidates = self.logs_where(|partition, managed| {
            let is_free = !state.in_progress.contains(partition) && !state.uncleanable.contains(partition);
            is_free && self.directories[managed.directory].is_online()
        });
        let mut best: Option<Chosen> = None;
        for (partition, managed) in candidates {
            let checkpoint = state.checkpoints.as_ref().and_then(|all| all[managed.directory].get(&partition).copied());
            let log = managed.log.lock();
            let config = log.config().clone();
            if !config.cleanup_policy.compact {
                continue;
            }
            let selection = log.select_cleanable(checkpoint, now_ms);
            drop(log);
            match selection {
                Ok(selection) => {
                    let is_dirtier = best.as_ref().is_none_or(|best| selection.ratio > best.selection.ratio);
                    if is_dirtier && selection.is_worth_it(&config) {
                        best = Some(Chosen { partition, managed, selection });
                    }
                }
                Err(error) => {
                    tracing::error!(%partition, %error, "cannot tell what is to be cleaned, the log is left as it is");
                    state.uncleanable.insert(partition);
                }
            }
        }
        match &best {
            Some(chosen) => {
                state.in_progress.insert(chosen.partition.clone());
            }
            None => state.next_clean_ms = now_ms.saturating_add(self.config.cleaner.backoff_ms.max(1)),
        }
        best
    }

    fn clean_log(&self, chosen: &Chosen, now_ms: i64, pace: &mut Pace<'_>) -> Result<i64, CleanError> {
        let source = chosen.managed.log.lock().cleaning_source(chosen.selection);
        let dir = source.dir.clone();
        let result = self.clean_segments(chosen, source, now_ms, pace);
        match result {
            Ok(end_offset) => Ok(end_offset),
            Err(error) => {
                // The directory of a deleted log has another name by now, and is removed as a whole.
                if chosen.managed.log.lock().dir() != dir {
                    return Err(CleanError::Abandoned);
                }
                self.remove_unfinished(chosen, &dir)?;
                Err(self.judge(chosen, error))
            }
        }
    }

    fn clean_segments(
        &self,
        chosen: &Chosen,
        source: crate::cleaner::CleaningSource,
        now_ms: i64,
        pace: &mut Pace<'_>,
    ) -> Result<i64, CleanError> {
        let mut cleaning = Cleaning::begin(source, &self.config.cleaner, now_ms, pace)?;
        while let Some(cleaned) = cleaning.next_segment(pace)? {
            if self.closing.load(Ordering::Acquire) || !chosen.managed.log.lock().swap_in(&cleaned, now_ms)? {
                return Err(CleanError::Abandoned);
            }
        }
        Ok(cleaning.end_offset())
    }

    /// A disk that fails takes its directory offline; bytes that are wrong concern their log alone, and so do segments that retention
    /// has removed meanwhile.
    fn judge(&self, chosen: &Chosen, error: CleanError) -> CleanError {
        match error {
            CleanError::Io(source) if source.kind() == std::io::ErrorKind::NotFound => CleanError::Abandoned,
            CleanError::Io(source) if !is_corruption(&source) => {
                let directory = &self.directories[chosen.managed.directory];
                CleanError::Storage(directory.failure.fail("clean a log", &directory.path, source))
            }
            other => other,
        }
    }

    fn remove_unfinished(&self, chosen: &Chosen, dir: &std::path::Path) -> Result<(), CleanError> {
        if !self.directories[chosen.managed.directory].is_online() {
            return Ok(());
        }
        for entry in self.disk.read_dir(dir)? {
            if entry.name.ends_with(CLEANED_SUFFIX) {
                self.disk.remove_file(&dir.join(entry.name))?;
            }
        }
        Ok(())
    }

    /// Reads the checkpoints when they are first needed. One that cannot be read is begun anew: everything counts as dirty.
    fn read_cleaned(&self, state: &mut CleanerState) {
        state.checkpoints.get_or_insert_with(|| {
            let read = |checkpoint: &OffsetCheckpoint| {
                checkpoint.read(self.disk.as_ref()).unwrap_or_else(|error| {
                    tracing::warn!(%error, "logs count as never cleaned");
                    HashMap::new()
                })
            };
            self.directories.iter().map(|directory| read(&directory.cleaned)).collect()
        });
    }

    fn checkpoint_cleaned(&self, state: &mut CleanerState, directory: usize, partition: &TopicPartition, end_offset: Option<i64>) {
        let Some(offsets) = state.checkpoints.as_mut().map(|all| &mut all[directory]) else { return };
        let before = match end_offset {
            Some(end_offset) => offsets.insert(partition.clone(), end_offset),
            None => offsets.remove(partition),
        };
        let directory = &self.directories[directory];
        if before == end_offset || !directory.is_online() {
            return;
        }
        let mut lines: Vec<(TopicPartition, i64)> = offsets.iter().map(|(partition, offset)| (partition.clone(), *offset)).collect();
        if let Err(error) = directory.write_checkpoint(self.disk.as_ref(), &directory.cleaned, &mut lines) {
            tracing::error!(%error, "cannot write a checkpoint");
        }
    }
}
