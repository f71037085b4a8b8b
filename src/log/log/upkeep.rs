//! What a log wants done now and then, and how it ends: written index entries, due removals and flushes, deletion, closing.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ottla_model::Uuid;

use super::{FlushTask, Log, snapshot_source};
use crate::errors::{LogDirFailure, StorageError};
use crate::segment::Writeback;

/// What is left to do for a log after a round of upkeep.
#[derive(Debug)]
pub(crate) enum Upkeep {
    /// Nothing until it is written to again.
    Idle,
    /// Come again.
    Waiting,
    /// Run this, without the lock, and come again.
    Writeback(Writeback),
    /// Run this, without the lock, and hand it to [`Log::flushed`].
    Flush(FlushTask),
}

impl Log {
    /// Notes that the log changed: whoever looks after it finds it among the dirty logs.
    pub(super) fn mark_dirty(&mut self) {
        self.changed_since_close = true;
        if !std::mem::replace(&mut self.dirty, true) {
            self.dirty_logs.push(self.topic_partition.clone());
        }
    }

    /// Does what is due. A log that was not written to since the last round gives its memory back.
    pub(crate) fn upkeep(&mut self, now_ms: i64) -> Result<Upkeep, StorageError> {
        if self.removals.iter().any(|removal| removal.is_due(now_ms)) {
            self.remove_due_files(now_ms)?;
        }
        if self.flush_deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms) && !self.flush_running {
            return Ok(self.prepare_flush()?.map_or(Upkeep::Waiting, Upkeep::Flush));
        }
        if std::mem::take(&mut self.dirty) {
            self.settle_later = true;
        } else if std::mem::take(&mut self.settle_later) {
            self.write_leader_epochs()?;
            self.guard_mut("write index entries", |log| log.active_mut().write_index_tails())?;
        }
        if let Some(writeback) = self.active_mut().take_writeback() {
            return Ok(Upkeep::Writeback(writeback));
        }
        let waits = self.settle_later || !self.removals.is_empty() || self.flush_deadline_ms().is_some();
        Ok(if waits { Upkeep::Waiting } else { Upkeep::Idle })
    }

    /// Learns the topic's id and writes it down.
    pub(crate) fn assign_topic_id(&mut self, topic_id: Uuid) -> Result<(), StorageError> {
        self.guard_mut("write partition.metadata", |log| log.write_topic_id(topic_id))
    }

    /// Renames the directory of a log that is deleted. Nothing can be done with the log afterwards; what has been read from it stays
    /// readable.
    pub(crate) fn retire(&mut self, new_dir: &Path) -> Result<(), StorageError> {
        self.guard_mut("rename", |log| {
            log.disk.rename(&log.dir, new_dir)?;
            match log.dir.parent() {
                Some(parent) => log.disk.sync_dir(parent),
                None => Ok(()),
            }
        })?;
        self.dir = new_dir.to_owned();
        // Later failures are about a log that is gone, and nothing that its directory could be blamed for.
        self.failure = Arc::new(LogDirFailure::default());
        self.failure.retire();
        Ok(())
    }

    /// Makes the log durable, writes a snapshot of its producers, and closes the books of the active segment's indexes. Nothing may be
    /// appended afterwards. A log that was not changed since it was opened needs nothing.
    pub fn close(&mut self, now_ms: i64) -> Result<(), StorageError> {
        if let Some(task) = self.prepare_close()? {
            task.run()?;
            self.flushed(&task, now_ms);
        }
        Ok(())
    }

    /// The first half of [`Log::close`]: what is left is to make files durable.
    pub(crate) fn prepare_close(&mut self) -> Result<Option<FlushTask>, StorageError> {
        if !std::mem::take(&mut self.changed_since_close) {
            return Ok(None);
        }
        self.guard_mut("close", Log::write_for_close)?;
        self.prepare_flush()
    }

    fn write_for_close(&mut self) -> io::Result<()> {
        self.active_mut().become_inactive()?;
        if self.producers.has_snapshots() || !self.producers.is_empty() {
            self.producers.take_snapshot(snapshot_source(&self.disk, &self.dir), false)?;
        }
        Ok(())
    }
}
