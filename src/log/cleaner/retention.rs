//! What stays of a batch (`Cleaner.cleanInto`, `MemoryRecords.filterTo`). Pure: bytes in, bytes out. Offsets never change.

use std::collections::HashMap;

use ottla_record::{
    BATCH_OVERHEAD, Batch, BatchBuilder, BatchSettings, BuildError, Compression, DecompressionBuffers, ProducerFields, Record,
    RecordReader, TimestampType,
};

use super::CleanError;
use super::offset_map::OffsetMap;
use super::transactions::{Marker, Transactions};
use crate::control::transaction_marker;
use crate::index::AbortedTransaction;

/// What the state of a live producer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastRecord {
    /// The offset of its last record, if that is known.
    pub(crate) data_offset: Option<i64>,
    pub(crate) producer_epoch: i16,
}

/// What the decision goes by, for a whole cleaning.
#[derive(Debug)]
pub(super) struct Retention<'a> {
    pub(super) offset_map: &'a OffsetMap,
    pub(super) last_records: &'a HashMap<i64, LastRecord>,
    pub(super) high_watermark: i64,
    pub(super) now_ms: i64,
    pub(super) delete_retention_ms: i64,
}

/// What stays of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Retained {
    Nothing,
    /// All of it, byte for byte.
    Whole,
    Rewritten(Vec<u8>),
}

/// What stays, and what goes into the transaction index with it.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) retained: Retained,
    pub(super) aborted: Option<AbortedTransaction>,
}

/// A look at all records of a batch.
#[derive(Clone, Copy, Debug, Default)]
struct Survey {
    kept: u32,
    dropped: u32,
    has_tombstones: bool,
}

impl Retention<'_> {
    /// Decides on the next batch of the log.
    pub(super) fn decide(
        &self,
        batch: &Batch<'_>,
        transactions: &mut Transactions,
        buffers: &mut DecompressionBuffers,
    ) -> Result<Verdict, CleanError> {
        let header = &batch.header;
        let (discardable, aborted) = if header.is_control() {
            let is_abort = transaction_marker(header, &batch.bytes[BATCH_OVERHEAD..]).map(|marker| marker.is_abort);
            match transactions.on_marker(header, is_abort) {
                Marker::Keep => (false, None),
                Marker::KeepAborted(aborted) => (false, Some(aborted)),
                Marker::Discardable => (true, None),
            }
        } else {
            (transactions.on_data(header), None)
        };
        let is_empty_marker = discardable && header.is_control();
        let horizon_passed = header.delete_horizon_ms().is_some_and(|horizon_ms| horizon_ms <= self.now_ms);
        let drop_all = discardable && (!header.is_control() || horizon_passed);
        if drop_all && !self.must_remain(batch) {
            return Ok(Verdict { retained: Retained::Nothing, aborted });
        }
        let survey = if drop_all { Survey::default() } else { self.survey(batch, buffers)? };
        let sets_horizon = (survey.has_tombstones || is_empty_marker) && header.delete_horizon_ms().is_none();
        let retained = match survey {
            Survey { kept: 0, .. } if self.must_remain(batch) => Retained::Rewritten(header.to_empty_batch().to_vec()),
            Survey { kept: 0, .. } => Retained::Nothing,
            Survey { dropped: 0, .. } if !sets_horizon => Retained::Whole,
            _ => Retained::Rewritten(self.rewrite(batch, sets_horizon, buffers)?),
        };
        Ok(Verdict { retained, aborted })
    }

    /// Whether the batch stays even when it is empty: for its producer's sequence numbers or epoch, or for the end of the log.
    fn must_remain(&self, batch: &Batch<'_>) -> bool {
        let header = &batch.header;
        let last = self.last_records.get(&header.producer_id).filter(|_| header.has_producer_id());
        let is_last_of_producer = last.is_some_and(|last| match last.data_offset {
            Some(offset) => header.last_offset() == offset,
            None => header.is_control() && header.producer_epoch == last.producer_epoch,
        });
        is_last_of_producer || header.next_offset() == self.high_watermark
    }

    fn keeps(&self, batch: &Batch<'_>, record: &Record<'_>) -> bool {
        if batch.header.is_control() || record.offset > self.offset_map.latest_offset() {
            return true;
        }
        // Records without a key are from before the topic was compacted.
        let Some(key) = record.key else { return false };
        let is_latest = self.offset_map.get(key).is_none_or(|latest| record.offset >= latest);
        let keeps_tombstones = batch.header.delete_horizon_ms().is_none_or(|horizon_ms| self.now_ms < horizon_ms);
        is_latest && (record.value.is_some() || keeps_tombstones)
    }

    fn survey(&self, batch: &Batch<'_>, buffers: &mut DecompressionBuffers) -> Result<Survey, CleanError> {
        let mut survey = Survey::default();
        for_each_record(batch, buffers, |record| {
            if self.keeps(batch, record) {
                survey.kept += 1;
                survey.has_tombstones |= record.value.is_none();
            } else {
                survey.dropped += 1;
            }
            Ok(())
        })?;
        Ok(survey)
    }

    fn rewrite(&self, batch: &Batch<'_>, sets_horizon: bool, buffers: &mut DecompressionBuffers) -> Result<Vec<u8>, CleanError> {
        let header = &batch.header;
        let failed = |source: BuildError| CleanError::Build { offset: header.base_offset, source };
        let codec = header.compression().map_err(|source| CleanError::Records { offset: header.base_offset, source: source.into() })?;
        let mut builder = BatchBuilder::new(BatchSettings {
            base_offset: header.base_offset,
            compression: Compression::with_default_level(codec),
            log_append_time_ms: (header.timestamp_type() == TimestampType::LogAppendTime).then_some(header.max_timestamp),
            partition_leader_epoch: header.partition_leader_epoch,
            producer: ProducerFields {
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                base_sequence: header.base_sequence,
            },
            is_transactional: header.is_transactional(),
            is_control: header.is_control(),
            delete_horizon_ms: if sets_horizon {
                Some(self.now_ms.saturating_add(self.delete_retention_ms))
            } else {
                header.delete_horizon_ms()
            },
        })
        .map_err(failed)?;
        for_each_record(batch, buffers, |record| {
            if self.keeps(batch, record) { builder.append_record(record.offset, record).map_err(failed) } else { Ok(()) }
        })?;
        builder.override_last_offset(header.last_offset());
        builder.build().map_err(failed)
    }
}

/// Hands over all records of a batch.
pub(super) fn for_each_record(
    batch: &Batch<'_>,
    buffers: &mut DecompressionBuffers,
    mut each: impl FnMut(&Record<'_>) -> Result<(), CleanError>,
) -> Result<(), CleanError> {
    let failed = |source| CleanError::Records { offset: batch.header.base_offset, source };
    let mut reader = RecordReader::new(batch, buffers).map_err(failed)?;
    while let Some(record) = reader.next_record().map_err(failed)? {
        each(&record)?;
    }
    Ok(())
}
