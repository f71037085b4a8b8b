//! The metadata log as its owner uses it: append, tick, snapshot, stop. Opening is in `open`, the quorum's actions are performed in
//! `perform`, records are handed out in `deliver`.

use std::collections::VecDeque;

use bytes::Bytes;
use ottla_metadata::{MetadataRecord, MetadataVersion};
use ottla_model::LeaderEpoch;
use ottla_raft::{AppendedBatch, Event, LeaderAndEpoch, OffsetAndEpoch, RaftCore, RoleName};

use super::batch::{BatchFrame, record_batch, size_in_batch};
use super::deliver::Progress;
use super::error::{AppendError, MetadataLogError};
use super::files::LogFiles;
use super::listener::{CommittedBatch, MetadataListener};
use super::options::{BATCH_BYTES_MAX, MetadataLogOptions};
use super::retention::Retention;
use super::snapshot_writer::{Snapshot, SnapshotQuorum, write_snapshot};

/// Records that the active controller wants in the log.
#[derive(Clone, Debug)]
pub struct Append {
    /// The epoch that the controller leads: records of an earlier one are refused.
    pub epoch: LeaderEpoch,
    /// The records.
    pub records: Vec<MetadataRecord>,
    /// The metadata version whose record versions are used.
    pub version: MetadataVersion,
    /// All of the records or none: they must fit into one batch.
    pub is_atomic: bool,
}

/// `__cluster_metadata-0` on this node.
#[derive(Debug)]
pub struct MetadataLog {
    pub(super) options: MetadataLogOptions,
    pub(super) files: LogFiles,
    pub(super) core: RaftCore,
    pub(super) progress: Progress,
    /// This leader's own records that are not committed yet, decoded: they need not be read back.
    pub(super) uncommitted: VecDeque<CommittedBatch>,
    pub(super) retention: Retention,
    /// What the quorum wants sent; a quorum of one sends nothing.
    pub(super) outgoing: Vec<ottla_raft::Action>,
}

impl MetadataLog {
    /// Appends records as the leader and returns the offset of the last one. They are committed when the listener gets them: with a
    /// single voter before this returns.
    pub fn append(&mut self, now_ms: i64, append: Append, listener: &mut dyn MetadataListener) -> Result<i64, AppendError> {
        self.check_leads(append.epoch)?;
        if append.records.is_empty() {
            return Err(AppendError::NoRecords);
        }
        let values: Vec<_> = append.records.iter().map(|record| record.to_bytes(append.version)).collect::<Result<_, _>>()?;
        let groups = into_batches(append.records, values, append.is_atomic)?;
        let mut appended = Vec::with_capacity(groups.len());
        for (records, values) in groups {
            appended.push(self.append_batch(now_ms, append.epoch, records, &values)?);
        }
        self.drive(now_ms, Event::Appended(appended), listener)?;
        Ok(self.files.log.log_end_offset() - 1)
    }

    fn check_leads(&self, epoch: LeaderEpoch) -> Result<(), AppendError> {
        let LeaderAndEpoch { leader_id, epoch: current_epoch } = self.core.leader_and_epoch();
        if self.core.role() == RoleName::Leader && current_epoch == epoch {
            return Ok(());
        }
        Err(AppendError::NotLeader { epoch, current_epoch, leader_id })
    }

    fn append_batch(
        &mut self,
        now_ms: i64,
        epoch: LeaderEpoch,
        records: Vec<MetadataRecord>,
        values: &[Bytes],
    ) -> Result<AppendedBatch, MetadataLogError> {
        let base_offset = self.files.log.log_end_offset();
        let batch = record_batch(BatchFrame { base_offset, epoch, timestamp_ms: now_ms }, values);
        self.append_bytes(now_ms, epoch, &batch)?;
        let end_offset = base_offset + records.len() as i64;
        self.uncommitted.push_back(CommittedBatch {
            base_offset,
            last_offset: end_offset - 1,
            epoch,
            append_timestamp_ms: now_ms,
            records,
        });
        self.progress.uncompacted_bytes += batch.len() as u64;
        Ok(AppendedBatch { base_offset, end_offset, epoch, control_records: Vec::new() })
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> i64 {
        self.files.log.log_end_offset()
    }

    /// The first offset of the log.
    pub fn log_start_offset(&self) -> i64 {
        self.files.log.log_start_offset()
    }

    /// What is committed, as far as this node knows.
    pub fn high_watermark(&self) -> Option<i64> {
        self.core.high_watermark()
    }

    /// The epoch and its leader, as far as known.
    pub fn leader_and_epoch(&self) -> LeaderAndEpoch {
        self.core.leader_and_epoch()
    }

    /// The quorum's rules, for what they know of voters and replicas.
    pub fn core(&self) -> &RaftCore {
        &self.core
    }

    /// Does what is due: elections, announcements, retention.
    pub fn tick(&mut self, now_ms: i64, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::Tick, listener)?;
        self.apply_retention(now_ms, listener)
    }

    /// When to tick at the latest; `i64::MAX` if never.
    pub fn next_deadline_ms(&self) -> i64 {
        self.core.next_deadline_ms().min(self.retention.next_check_ms())
    }

    /// Gives leadership of `epoch` up, e.g. because the controller found a fault in its own state.
    pub fn resign(&mut self, now_ms: i64, epoch: LeaderEpoch, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::Resign { epoch }, listener)
    }

    /// Whether enough has been committed since the last snapshot to make another one.
    pub fn wants_snapshot(&self, now_ms: i64) -> bool {
        let interval_ms = self.options.max_snapshot_interval_ms;
        let is_old = interval_ms > 0 && self.progress.uncompacted_bytes > 0 && now_ms - self.progress.last_snapshot_ms >= interval_ms;
        is_old || self.progress.uncompacted_bytes >= self.options.max_record_bytes_between_snapshots
    }

    /// Keeps a state of the cluster as a snapshot; later starts begin with it, and retention may delete what it replaces.
    pub fn write_snapshot(
        &mut self,
        now_ms: i64,
        snapshot: &Snapshot,
        listener: &mut dyn MetadataListener,
    ) -> Result<(), MetadataLogError> {
        let OffsetAndEpoch { offset, .. } = snapshot.id;
        let refused = |reason| MetadataLogError::SnapshotPosition { offset, reason };
        if Some(offset) > self.core.high_watermark() {
            return Err(refused("it is not committed"));
        }
        if offset < self.files.log.log_start_offset() {
            return Err(refused("the log begins later"));
        }
        if self.core.log().snapshot_size(snapshot.id).is_some() {
            return Ok(());
        }
        let history = self.core.history();
        let quorum = SnapshotQuorum { kraft_version: history.kraft_version_at(offset - 1), voters: history.voters_at(offset - 1).cloned() };
        let size = write_snapshot(self.files.disk.as_ref(), &self.files.directory, snapshot, &quorum, now_ms)?;
        self.progress.uncompacted_bytes = 0;
        self.progress.last_snapshot_ms = now_ms;
        self.drive(now_ms, Event::SnapshotCreated { id: snapshot.id, size }, listener)
    }

    /// The node stops: a leader resigns, so that the others need not wait for its silence.
    pub fn begin_shutdown(&mut self, now_ms: i64, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        self.drive(now_ms, Event::Shutdown, listener)
    }

    /// Makes everything durable and closes the files. Nothing may follow.
    pub fn close(&mut self, now_ms: i64) -> Result<(), MetadataLogError> {
        Ok(self.files.log.close(now_ms)?)
    }
}

type Group = (Vec<MetadataRecord>, Vec<Bytes>);

/// Splits records so that every group fits into a batch; what is atomic must fit into one.
fn into_batches(records: Vec<MetadataRecord>, values: Vec<Bytes>, is_atomic: bool) -> Result<Vec<Group>, AppendError> {
    let mut groups: Vec<Group> = Vec::new();
    let mut room = 0;
    for (record, value) in records.into_iter().zip(values) {
        let size = size_in_batch(value.len());
        if size > BATCH_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes: size });
        }
        match groups.last_mut() {
            Some((records, values)) if size <= room => {
                records.push(record);
                values.push(value);
                room -= size;
            }
            Some((_, values)) if is_atomic => {
                let bytes = values.iter().map(|value| size_in_batch(value.len())).sum::<usize>() + size;
                return Err(AppendError::TooLarge { bytes });
            }
            Some(_) | None => {
                groups.push((vec![record], vec![value]));
                room = BATCH_BYTES_MAX - size;
            }
        }
    }
    Ok(groups)
}
