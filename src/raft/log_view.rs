//! What the quorum's rules need to know of the log without reading it: where it begins and ends, where each epoch begins, and which
//! snapshots exist (`RaftLog`). The host reports every change; the view holds no records.

use std::collections::BTreeMap;

use ottla_model::LeaderEpoch;
use ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use ottla_protocol::messages::leader_change_message::LeaderChangeMessage;
use ottla_protocol::messages::snapshot_footer_record::SnapshotFooterRecord;
use ottla_protocol::messages::snapshot_header_record::SnapshotHeaderRecord;
use ottla_protocol::messages::voters_record::VotersRecord;

use crate::replica::OffsetAndEpoch;

/// A control record of the metadata log or of a snapshot (`ControlRecordType`).
#[derive(Clone, Debug, PartialEq)]
pub enum ControlRecord {
    /// The first record of an epoch.
    LeaderChange(LeaderChangeMessage),
    /// `kraft.version` from here on.
    KRaftVersion(KRaftVersionRecord),
    /// The voters from here on.
    Voters(VotersRecord),
    /// The first record of a snapshot.
    SnapshotHeader(SnapshotHeaderRecord),
    /// The last record of a snapshot.
    SnapshotFooter(SnapshotFooterRecord),
}

/// A batch that the host has appended.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendedBatch {
    /// The first record's offset.
    pub base_offset: i64,
    /// The offset after the last record.
    pub end_offset: i64,
    /// The batch's partition leader epoch.
    pub epoch: LeaderEpoch,
    /// The control records in it and their offsets.
    pub control_records: Vec<(i64, ControlRecord)>,
}

/// Whether a follower's log is a prefix of this one up to where it wants to fetch (`ValidOffsetAndEpoch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetValidation {
    /// It is.
    Valid,
    /// It is not: the epoch's end, or that of the largest epoch before it, is here.
    Diverging(OffsetAndEpoch),
    /// What it needs is no longer in the log: it has to fetch this snapshot.
    Snapshot(OffsetAndEpoch),
}

/// The log's outline.
#[derive(Clone, Debug, Default)]
pub struct LogView {
    start_offset: i64,
    end_offset: i64,
    flushed_offset: i64,
    epoch_starts: Vec<(LeaderEpoch, i64)>,
    snapshots: BTreeMap<OffsetAndEpoch, u64>,
}

impl LogView {
    /// The outline of a log that was opened: `start_offset..end_offset`, with the first offset of every epoch in it, ascending.
    pub fn new(start_offset: i64, end_offset: i64, epoch_starts: Vec<(LeaderEpoch, i64)>) -> LogView {
        LogView { start_offset, end_offset, flushed_offset: end_offset, epoch_starts, snapshots: BTreeMap::new() }
    }

    /// The first offset of the log.
    pub fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// The offset that the next record gets.
    pub fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// What is before this offset survives a crash.
    pub fn flushed_offset(&self) -> i64 {
        self.flushed_offset
    }

    /// The epoch of the last record, else of the snapshot that the empty log continues, else 0 (`RaftLog.lastFetchedEpoch`).
    pub fn last_epoch(&self) -> LeaderEpoch {
        let of_snapshot = || self.latest_snapshot().map_or(LeaderEpoch(0), |snapshot| snapshot.epoch);
        self.epoch_starts.last().map_or_else(of_snapshot, |&(epoch, _)| epoch)
    }

    /// The end of the log.
    pub fn end(&self) -> OffsetAndEpoch {
        OffsetAndEpoch::new(self.end_offset, self.last_epoch())
    }

    /// The newest snapshot.
    pub fn latest_snapshot(&self) -> Option<OffsetAndEpoch> {
        self.snapshots.last_key_value().map(|(&id, _)| id)
    }

    /// The oldest snapshot.
    pub fn earliest_snapshot(&self) -> Option<OffsetAndEpoch> {
        self.snapshots.first_key_value().map(|(&id, _)| id)
    }

    /// The snapshots and their sizes in bytes, oldest first.
    pub fn snapshots(&self) -> impl Iterator<Item = (OffsetAndEpoch, u64)> {
        self.snapshots.iter().map(|(&id, &size)| (id, size))
    }

    /// The snapshot's size in bytes, if it exists.
    pub fn snapshot_size(&self, id: OffsetAndEpoch) -> Option<u64> {
        self.snapshots.get(&id).copied()
    }

    /// A snapshot of `size` bytes exists.
    pub fn add_snapshot(&mut self, id: OffsetAndEpoch, size: u64) {
        self.snapshots.insert(id, size);
    }

    /// The snapshot was deleted.
    pub fn remove_snapshot(&mut self, id: OffsetAndEpoch) {
        self.snapshots.remove(&id);
    }

    /// A batch was appended. It continues the log.
    pub fn append(&mut self, batch: &AppendedBatch) {
        debug_assert_eq!(batch.base_offset, self.end_offset, "a batch continues the log");
        if self.epoch_starts.last().is_none_or(|&(epoch, _)| epoch < batch.epoch) {
            self.epoch_starts.push((batch.epoch, batch.base_offset));
        }
        self.end_offset = batch.end_offset;
    }

    /// Everything before `offset` is durable.
    pub fn flushed(&mut self, offset: i64) {
        self.flushed_offset = self.flushed_offset.max(offset.min(self.end_offset));
    }

    /// The log's records from `offset` on are gone.
    pub fn truncate(&mut self, offset: i64) {
        self.epoch_starts.retain(|&(_, start)| start < offset);
        self.end_offset = self.end_offset.min(offset);
        self.flushed_offset = self.flushed_offset.min(offset);
    }

    /// The log's records before `offset` are gone.
    pub fn advance_start(&mut self, offset: i64) {
        self.start_offset = self.start_offset.max(offset);
        if let Some(index) = self.epoch_starts.iter().rposition(|&(_, start)| start <= offset) {
            self.epoch_starts.drain(..index);
            self.epoch_starts[0].1 = self.epoch_starts[0].1.max(offset);
        }
        if self.start_offset >= self.end_offset {
            self.epoch_starts.clear();
        }
    }

    /// The log was emptied: it now begins and ends where the snapshot `id` does (`RaftLog.truncateToLatestSnapshot`).
    pub fn reset_to_snapshot(&mut self, id: OffsetAndEpoch) {
        self.start_offset = id.offset;
        self.end_offset = id.offset;
        self.flushed_offset = id.offset;
        self.epoch_starts.clear();
        self.snapshots.retain(|snapshot, _| *snapshot >= id);
    }

    /// Where `epoch`, or the largest epoch before it, ends (`RaftLog.endOffsetForEpoch`). An epoch from before the log's first one ends
    /// where the log begins.
    pub fn end_offset_for_epoch(&self, epoch: LeaderEpoch) -> OffsetAndEpoch {
        let Some(&(_, first_start)) = self.epoch_starts.first() else { return self.end() };
        let later = self.epoch_starts.partition_point(|&(e, _)| e <= epoch);
        let Some(&(found, _)) = later.checked_sub(1).and_then(|index| self.epoch_starts.get(index)) else {
            return OffsetAndEpoch::new(first_start, epoch);
        };
        let end = self.epoch_starts.get(later).map_or(self.end_offset, |&(_, start)| start);
        OffsetAndEpoch::new(end, found)
    }

    /// Checks where a follower wants to continue, given the epoch of its last record (`RaftLog.validateOffsetAndEpoch`).
    pub fn validate(&self, position: OffsetAndEpoch) -> OffsetValidation {
        let OffsetAndEpoch { offset, epoch } = position;
        if self.start_offset == 0 && offset == 0 && epoch == LeaderEpoch(0) {
            return OffsetValidation::Valid;
        }
        if let (Some(earliest), Some(latest)) = (self.earliest_snapshot(), self.latest_snapshot()) {
            let before_the_log =
                offset < self.start_offset || (offset == self.start_offset && epoch != earliest.epoch) || epoch < earliest.epoch;
            if before_the_log {
                return OffsetValidation::Snapshot(latest);
            }
        }
        let end = self.end_offset_for_epoch(epoch);
        if end.epoch != epoch || end.offset < offset { OffsetValidation::Diverging(end) } else { OffsetValidation::Valid }
    }

    /// Where to cut the log after the leader said that its `diverging.epoch` ends at `diverging.offset` (`RaftLog.truncateToEndOffset`).
    pub fn truncation_offset(&self, diverging: OffsetAndEpoch) -> i64 {
        if diverging.epoch == LeaderEpoch(0) {
            return diverging.offset.min(self.end_offset);
        }
        let local = self.end_offset_for_epoch(diverging.epoch);
        if local.epoch == diverging.epoch { local.offset.min(diverging.offset) } else { local.offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64, epoch: i32) -> OffsetAndEpoch {
        OffsetAndEpoch::new(offset, LeaderEpoch(epoch))
    }

    /// Epoch 1 is 0..10, epoch 3 is 10..15, epoch 4 is 15..20.
    fn log() -> LogView {
        LogView::new(0, 20, vec![(LeaderEpoch(1), 0), (LeaderEpoch(3), 10), (LeaderEpoch(4), 15)])
    }

    #[test]
    fn epochs_end_where_the_next_begins() {
        assert_eq!(log().end_offset_for_epoch(LeaderEpoch(1)), at(10, 1));
        assert_eq!(log().end_offset_for_epoch(LeaderEpoch(2)), at(10, 1));
        assert_eq!(log().end_offset_for_epoch(LeaderEpoch(3)), at(15, 3));
        assert_eq!(log().end_offset_for_epoch(LeaderEpoch(9)), at(20, 4));
    }

    #[test]
    fn a_fetch_position_is_valid_diverging_or_gone() {
        assert_eq!(log().validate(at(0, 0)), OffsetValidation::Valid);
        assert_eq!(log().validate(at(12, 3)), OffsetValidation::Valid);
        assert_eq!(log().validate(at(20, 4)), OffsetValidation::Valid);
        assert_eq!(log().validate(at(16, 3)), OffsetValidation::Diverging(at(15, 3)));
        assert_eq!(log().validate(at(12, 2)), OffsetValidation::Diverging(at(10, 1)));

        let mut log = log();
        log.add_snapshot(at(12, 3), 100);
        log.advance_start(12);
        assert_eq!(log.validate(at(5, 1)), OffsetValidation::Snapshot(at(12, 3)));
        assert_eq!(log.validate(at(0, 0)), OffsetValidation::Snapshot(at(12, 3)));
        assert_eq!(log.validate(at(12, 2)), OffsetValidation::Snapshot(at(12, 3)));
        assert_eq!(log.validate(at(12, 3)), OffsetValidation::Valid);
        assert_eq!(log.validate(at(16, 3)), OffsetValidation::Diverging(at(15, 3)));
    }

    #[test]
    fn truncation_goes_to_the_common_prefix() {
        assert_eq!(log().truncation_offset(at(13, 3)), 13);
        assert_eq!(log().truncation_offset(at(18, 3)), 15);
        assert_eq!(log().truncation_offset(at(12, 2)), 10);
        let mut log = log();
        log.truncate(13);
        assert_eq!(log.end(), at(13, 3));
        log.truncate(10);
        assert_eq!(log.end(), at(10, 1));
    }

    #[test]
    fn an_empty_log_continues_its_snapshot() {
        let mut log = log();
        log.add_snapshot(at(30, 5), 100);
        log.reset_to_snapshot(at(30, 5));
        assert_eq!(log.end(), at(30, 5));
        assert_eq!(log.validate(at(30, 5)), OffsetValidation::Valid);
        log.append(&AppendedBatch { base_offset: 30, end_offset: 31, epoch: LeaderEpoch(6), control_records: Vec::new() });
        assert_eq!(log.end(), at(31, 6));
        assert_eq!(log.end_offset_for_epoch(LeaderEpoch(5)), at(30, 5));
        assert_eq!(log.validate(at(30, 5)), OffsetValidation::Valid);
    }
}
