//! Deletes old snapshots, and with them the part of the log that the next one covers (`KafkaRaftLog.maybeClean`). The latest snapshot
//! and what follows it always stay.

use ottla_raft::{Event, OffsetAndEpoch};

use super::error::MetadataLogError;
use super::host::MetadataLog;
use super::listener::MetadataListener;

/// How often retention looks (`RaftMetadataLogCleanerManager`).
const CHECK_INTERVAL_MS: i64 = 60_000;

/// When retention looks next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retention {
    next_check_ms: i64,
}

impl Retention {
    pub(super) fn new(now_ms: i64) -> Retention {
        Retention { next_check_ms: now_ms + CHECK_INTERVAL_MS }
    }

    pub(super) fn next_check_ms(&self) -> i64 {
        self.next_check_ms
    }
}

impl MetadataLog {
    /// Deletes what retention no longer keeps, if it is time to look.
    pub(super) fn apply_retention(&mut self, now_ms: i64, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        if now_ms < self.retention.next_check_ms {
            return Ok(());
        }
        self.retention = Retention::new(now_ms);
        while let Some(next) = self.snapshot_to_begin_with(now_ms)? {
            if !self.delete_before(now_ms, next, listener)? {
                break;
            }
        }
        Ok(())
    }

    /// The second oldest snapshot, if the oldest one is too old or everything together too large.
    fn snapshot_to_begin_with(&self, now_ms: i64) -> Result<Option<OffsetAndEpoch>, MetadataLogError> {
        let mut snapshots = self.core.log().snapshots();
        let (Some((oldest, _)), Some((next, _))) = (snapshots.next(), snapshots.next()) else { return Ok(None) };
        let total: u64 = self.core.log().snapshots().map(|(_, size)| size).sum::<u64>() + self.files.log.size_in_bytes();
        let is_too_large = u64::try_from(self.options.retention_bytes).is_ok_and(|limit| total > limit);
        if is_too_large || self.is_too_old(oldest, now_ms)? { Ok(Some(next)) } else { Ok(None) }
    }

    fn is_too_old(&self, id: OffsetAndEpoch, now_ms: i64) -> Result<bool, MetadataLogError> {
        if self.options.retention_ms < 0 {
            return Ok(false);
        }
        let written_ms = self.files.read_snapshot(id)?.last_contained_log_timestamp_ms;
        Ok(now_ms - written_ms > self.options.retention_ms)
    }

    /// Lets the log begin at a snapshot. Answers whether anything was deleted.
    fn delete_before(&mut self, now_ms: i64, id: OffsetAndEpoch, listener: &mut dyn MetadataListener) -> Result<bool, MetadataLogError> {
        if id.offset <= self.files.log.log_start_offset() {
            return Ok(false);
        }
        let deleted = self.files.log.delete_records_before(id.offset);
        deleted.map_err(|error| MetadataLogError::Refused { operation: "a new start offset", reason: error.to_string() })?;
        self.files.log.delete_old_segments(now_ms)?;
        tracing::info!("metadata log: what is before {id} is deleted");
        self.drive(now_ms, Event::LogStartAdvanced(id.offset), listener)?;
        self.remove_snapshots_before(now_ms, id, listener)?;
        Ok(true)
    }

    fn remove_snapshots_before(
        &mut self,
        now_ms: i64,
        id: OffsetAndEpoch,
        listener: &mut dyn MetadataListener,
    ) -> Result<(), MetadataLogError> {
        let old: Vec<_> = self.core.log().snapshots().map(|(old, _)| old).take_while(|old| *old < id).collect();
        for old in old {
            self.files.remove_snapshot(old)?;
            self.drive(now_ms, Event::SnapshotDeleted(old), listener)?;
        }
        Ok(())
    }
}
