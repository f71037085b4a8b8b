//! All producers of a log, its open transactions, and the snapshots of both (`ProducerStateManager`).

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use ottla_io::{Disk, read_file, write_file};
use ottla_record::BatchHeader;

use super::verification::{TransactionStart, Verifications};
use super::{CompletedTransaction, ProducerAppend, ProducerEntry, SequenceError, snapshot};
use crate::append::{AppendOrigin, VerificationGuard};
use crate::cleaner::LastRecord;
use crate::paths::{PRODUCER_SNAPSHOT_SUFFIX, segment_file};

/// Broker-wide settings of producer state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerStateConfig {
    /// `producer.id.expiration.ms`: how long an idle producer is remembered.
    pub expiration_ms: i64,
    /// `transaction.partition.verification.enable`.
    pub verification_enabled: bool,
}

impl Default for ProducerStateConfig {
    fn default() -> ProducerStateConfig {
        ProducerStateConfig { expiration_ms: 86_400_000, verification_enabled: true }
    }
}

/// One producer, as DescribeProducers shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerState {
    /// The producer.
    pub producer_id: i64,
    /// Its last epoch.
    pub producer_epoch: i16,
    /// Its last sequence; -1 for none.
    pub last_sequence: i32,
    /// The max timestamp of its last batch, or the time of its last marker.
    pub last_timestamp: i64,
    /// The epoch of the coordinator that wrote its last marker; -1 for none.
    pub coordinator_epoch: i32,
    /// Where its open transaction began; -1 for none.
    pub current_transaction_first_offset: i64,
}

/// Where the snapshots of a log are.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotSource<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) dir: &'a Path,
}

impl SnapshotSource<'_> {
    fn remove(&self, offset: i64) -> io::Result<()> {
        match self.disk.remove_file(&segment_file(self.dir, offset, PRODUCER_SNAPSHOT_SUFFIX)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// An open transaction, or one whose marker is not below the high watermark yet.
#[derive(Clone, Copy, Debug)]
struct Transaction {
    producer_id: i64,
    /// The marker's offset.
    last_offset: Option<i64>,
}

/// The producers of one log.
#[derive(Debug)]
pub(crate) struct ProducerStateManager {
    config: ProducerStateConfig,
    producers: HashMap<i64, ProducerEntry>,
    verifications: Verifications,
    /// By first offset.
    ongoing: BTreeMap<i64, Transaction>,
    /// Completed, but the marker is not below the high watermark yet; by first offset.
    unreplicated: BTreeMap<i64, Transaction>,
    /// The state covers all offsets below this one.
    end_offset: i64,
    last_snapshot_offset: i64,
    /// The offsets of the snapshots on disk, ascending.
    snapshots: Vec<i64>,
}

impl ProducerStateManager {
    /// No producers, and the snapshots that are there.
    pub(crate) fn new(config: ProducerStateConfig, mut snapshots: Vec<i64>) -> ProducerStateManager {
        snapshots.sort_unstable();
        ProducerStateManager {
            config,
            producers: HashMap::new(),
            verifications: Verifications::default(),
            ongoing: BTreeMap::new(),
            unreplicated: BTreeMap::new(),
            end_offset: 0,
            last_snapshot_offset: 0,
            snapshots,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.producers.is_empty() && self.unreplicated.is_empty()
    }

    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    pub(crate) fn set_end_offset(&mut self, end_offset: i64) {
        self.end_offset = end_offset;
    }

    pub(crate) fn entry(&self, producer_id: i64) -> Option<&ProducerEntry> {
        self.producers.get(&producer_id)
    }

    pub(crate) fn states(&self) -> Vec<ProducerState> {
        let state = |(&producer_id, entry): (&i64, &ProducerEntry)| ProducerState {
            producer_id,
            producer_epoch: entry.producer_epoch,
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_transaction_first_offset: entry.transaction_first_offset.unwrap_or(-1),
        };
        self.producers.iter().map(state).collect()
    }

    /// What the cleaner must leave of each producer.
    pub(crate) fn last_records(&self) -> HashMap<i64, LastRecord> {
        let last = |entry: &ProducerEntry| LastRecord {
            data_offset: entry.last_batch().map(|batch| batch.last_offset),
            producer_epoch: entry.producer_epoch,
        };
        self.producers.iter().map(|(&producer_id, entry)| (producer_id, last(entry))).collect()
    }

    pub(crate) fn prepare(&self, producer_id: i64, origin: AppendOrigin) -> ProducerAppend {
        let current = self.producers.get(&producer_id).cloned().unwrap_or_else(ProducerEntry::unknown);
        ProducerAppend::new(producer_id, current, self.verifications.get(producer_id).copied(), origin)
    }

    /// Whether a transaction of the producer's epoch is open.
    fn has_open_transaction(&self, producer_id: i64, producer_epoch: i16) -> bool {
        let entry = self.entry(producer_id);
        entry.is_some_and(|entry| entry.transaction_first_offset.is_some() && entry.producer_epoch == producer_epoch)
    }

    fn check_not_fenced(&self, producer_id: i64, producer_epoch: i16, offset: i64) -> Result<(), SequenceError> {
        match self.entry(producer_id).map(|entry| entry.producer_epoch) {
            Some(current_epoch) if producer_epoch < current_epoch => {
                Err(SequenceError::InvalidProducerEpoch { producer_id, offset, producer_epoch, current_epoch })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Begins the verification of a transaction; `None` when the transaction is open already, so that there is nothing to verify.
    pub(crate) fn start_verification(
        &mut self,
        start: &TransactionStart,
        log_end_offset: i64,
        now_ms: i64,
    ) -> Result<Option<VerificationGuard>, SequenceError> {
        self.check_not_fenced(start.producer_id, start.producer_epoch, log_end_offset)?;
        if self.has_open_transaction(start.producer_id, start.producer_epoch) {
            return Ok(None);
        }
        Ok(Some(self.verifications.start(start, now_ms)))
    }

    /// Checks that a transactional batch may begin a transaction if none is open.
    pub(crate) fn check_verified(&self, header: &BatchHeader, guard: Option<VerificationGuard>) -> Result<(), SequenceError> {
        let (producer_id, offset) = (header.producer_id, header.base_offset);
        if !header.is_transactional() || self.has_open_transaction(producer_id, header.producer_epoch) {
            return Ok(());
        }
        self.check_not_fenced(producer_id, header.producer_epoch, offset)?;
        let needs_guard = self.config.verification_enabled && !header.is_control();
        if needs_guard && !self.verifications.accepts(producer_id, guard) {
            let reason = "the record is not part of an ongoing transaction";
            return Err(SequenceError::InvalidTransactionState { producer_id, offset, reason });
        }
        Ok(())
    }

    /// Ends the verification of a transaction whose batch is in the log now.
    pub(crate) fn end_verification(&mut self, header: &BatchHeader) {
        if header.is_transactional() {
            self.verifications.end(header.producer_id, header.producer_epoch, header.is_control());
        }
    }

    /// Takes over what an append has made of a producer.
    pub(crate) fn update(&mut self, append: &ProducerAppend) {
        self.producers.entry(append.producer_id).or_insert_with(ProducerEntry::unknown).update(&append.updated);
        for &first_offset in &append.started_transactions {
            self.ongoing.insert(first_offset, Transaction { producer_id: append.producer_id, last_offset: None });
        }
    }

    /// Ends a transaction; it stays unstable until its marker is below the high watermark.
    pub(crate) fn complete_transaction(&mut self, completed: &CompletedTransaction) {
        if let Some(mut transaction) = self.ongoing.remove(&completed.first_offset) {
            transaction.last_offset = Some(completed.last_offset);
            self.unreplicated.insert(completed.first_offset, transaction);
        }
    }

    /// The last stable offset that completing this transaction leads to: the first offset of the next one that stays open.
    pub(crate) fn last_stable_offset_after(&self, completed: &CompletedTransaction) -> i64 {
        self.ongoing
            .iter()
            .find(|(_, transaction)| transaction.producer_id != completed.producer_id)
            .map_or(completed.last_offset + 1, |(&first_offset, _)| first_offset)
    }

    /// The first offset of a transaction that is open, or whose end is not below the high watermark.
    pub(crate) fn first_unstable_offset(&self) -> Option<i64> {
        let first = |transactions: &BTreeMap<i64, Transaction>| transactions.first_key_value().map(|(&offset, _)| offset);
        match (first(&self.ongoing), first(&self.unreplicated)) {
            (Some(ongoing), Some(unreplicated)) => Some(ongoing.min(unreplicated)),
            (first, None) | (None, first) => first,
        }
    }

    pub(crate) fn on_high_watermark(&mut self, high_watermark: i64) {
        self.unreplicated.retain(|_, transaction| transaction.last_offset.is_none_or(|last| last >= high_watermark));
    }

    pub(crate) fn on_log_start_offset(&mut self, log_start_offset: i64) {
        self.on_high_watermark(log_start_offset);
        self.end_offset = self.end_offset.max(log_start_offset);
        self.last_snapshot_offset = self.snapshots.last().copied().unwrap_or(log_start_offset);
    }

    fn is_expired(&self, entry: &ProducerEntry, now_ms: i64) -> bool {
        entry.transaction_first_offset.is_none() && now_ms - entry.last_timestamp >= self.config.expiration_ms
    }

    pub(crate) fn remove_expired(&mut self, now_ms: i64) {
        let expired: Vec<i64> = self.producers.iter().filter(|(_, entry)| self.is_expired(entry, now_ms)).map(|(&id, _)| id).collect();
        for producer_id in expired {
            self.producers.remove(&producer_id);
        }
        self.verifications.remove_expired(self.config.expiration_ms, now_ms);
    }

    fn clear(&mut self) {
        self.producers.clear();
        self.ongoing.clear();
        self.unreplicated.clear();
    }

    /// Makes the state that of a log from `log_start_offset` to at most `log_end_offset`: keeps it when it ends there, and loads the
    /// newest usable snapshot otherwise. What lies between [`ProducerStateManager::end_offset`] and the end is the caller's to replay.
    pub(crate) fn truncate_and_reload(
        &mut self,
        source: SnapshotSource<'_>,
        log_start_offset: i64,
        log_end_offset: i64,
        now_ms: i64,
    ) -> io::Result<()> {
        for offset in self.snapshots.clone() {
            if offset > log_end_offset || offset <= log_start_offset {
                self.remove_snapshot(source, offset)?;
            }
        }
        if log_end_offset == self.end_offset {
            self.on_log_start_offset(log_start_offset);
            return Ok(());
        }
        self.clear();
        self.load_newest_snapshot(source, log_start_offset, now_ms)
    }

    fn load_newest_snapshot(&mut self, source: SnapshotSource<'_>, log_start_offset: i64, now_ms: i64) -> io::Result<()> {
        while let Some(&offset) = self.snapshots.last() {
            let path = segment_file(source.dir, offset, PRODUCER_SNAPSHOT_SUFFIX);
            match snapshot::decode(&read_file(source.disk, &path)?.unwrap_or_default()) {
                Ok(entries) => {
                    for (producer_id, entry) in entries {
                        if !self.is_expired(&entry, now_ms) {
                            self.load_entry(producer_id, entry);
                        }
                    }
                    self.last_snapshot_offset = offset;
                    self.end_offset = offset;
                    return Ok(());
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "producer snapshot is unusable and will be removed");
                    self.remove_snapshot(source, offset)?;
                }
            }
        }
        self.last_snapshot_offset = log_start_offset;
        self.end_offset = log_start_offset;
        Ok(())
    }

    fn load_entry(&mut self, producer_id: i64, entry: ProducerEntry) {
        if let Some(first_offset) = entry.transaction_first_offset {
            self.ongoing.insert(first_offset, Transaction { producer_id, last_offset: None });
        }
        self.producers.insert(producer_id, entry);
    }

    /// Forgets everything, snapshots included.
    pub(crate) fn truncate_fully_and_start_at(&mut self, source: SnapshotSource<'_>, offset: i64) -> io::Result<()> {
        self.clear();
        for offset in self.snapshots.clone() {
            self.remove_snapshot(source, offset)?;
        }
        self.last_snapshot_offset = 0;
        self.end_offset = offset;
        Ok(())
    }

    /// Writes a snapshot unless there is one of this offset. Whether it is durable when this returns is the caller's choice.
    pub(crate) fn take_snapshot(&mut self, source: SnapshotSource<'_>, sync: bool) -> io::Result<()> {
        if self.end_offset <= self.last_snapshot_offset {
            return Ok(());
        }
        let path = segment_file(source.dir, self.end_offset, PRODUCER_SNAPSHOT_SUFFIX);
        let content = snapshot::encode(self.producers.iter().map(|(&producer_id, entry)| (producer_id, entry)));
        if sync {
            write_file(source.disk, &path, &content)?;
        } else {
            let file = source.disk.open(&path, ottla_io::OpenMode::CreateEmpty)?;
            file.write_all_at(&mut [io::IoSlice::new(&content)], 0)?;
        }
        if let Err(place) = self.snapshots.binary_search(&self.end_offset) {
            self.snapshots.insert(place, self.end_offset);
        }
        self.last_snapshot_offset = self.end_offset;
        Ok(())
    }

    fn remove_snapshot(&mut self, source: SnapshotSource<'_>, offset: i64) -> io::Result<()> {
        self.snapshots.retain(|&existing| existing != offset);
        source.remove(offset)
    }

    /// Stops counting on a snapshot whose segment is being deleted; returns whether there was one.
    pub(crate) fn forget_snapshot(&mut self, offset: i64) -> bool {
        let place = self.snapshots.binary_search(&offset);
        place.is_ok_and(|index| {
            self.snapshots.remove(index);
            true
        })
    }

    /// Removes snapshots that belong to no segment, but for the newest one when it lies behind all segments' beginnings: a clean stop
    /// left it there (`removeStraySnapshots`).
    pub(crate) fn remove_stray_snapshots(&mut self, source: SnapshotSource<'_>, base_offsets: &[i64]) -> io::Result<()> {
        let newest_base_offset = base_offsets.last().copied().unwrap_or(i64::MIN);
        let strays: Vec<i64> = self.snapshots.iter().copied().filter(|offset| base_offsets.binary_search(offset).is_err()).collect();
        for (index, &stray) in strays.iter().enumerate() {
            if index + 1 < strays.len() || stray < newest_base_offset {
                self.remove_snapshot(source, stray)?;
            }
        }
        Ok(())
    }

    pub(crate) fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    pub(crate) fn latest_snapshot_offset(&self) -> Option<i64> {
        self.snapshots.last().copied()
    }
}
