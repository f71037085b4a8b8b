//! What an append means for idempotent and transactional producers (`analyzeAndValidateProducerState`).

use std::io;

use ottla_record::{BATCH_OVERHEAD, BatchHeader};

use super::{Log, snapshot_source};
use crate::append::{AppendOrigin, BatchToAppend, TransactionContext};
use crate::batch_reader::{BatchReader, READ_AHEAD_LOOKUP};
use crate::control::transaction_marker;
use crate::index::AbortedTransaction;
use crate::producer::{BatchMetadata, CompletedTransaction, ProducerAppend, SequenceError};
use crate::segment::LogSegment;

/// What to do with the batches.
pub(super) enum ProducerVerdict {
    /// Append them, and then take this over.
    Append(ProducerOutcome),
    /// They are in the log already.
    Duplicate(BatchMetadata),
}

/// What changes once the batches are in the log.
#[derive(Default)]
pub(super) struct ProducerOutcome {
    appends: Vec<ProducerAppend>,
    completed: Vec<CompletedTransaction>,
}

impl Log {
    pub(super) fn check_producers(
        &self,
        headers: &[BatchHeader],
        batches: &[BatchToAppend<'_>],
        origin: AppendOrigin,
        transaction: &TransactionContext,
    ) -> Result<ProducerVerdict, SequenceError> {
        let mut outcome = ProducerOutcome::default();
        for (header, batch) in headers.iter().zip(batches) {
            if !header.has_producer_id() {
                continue;
            }
            let known = self.producers.entry(header.producer_id);
            if origin == AppendOrigin::Client
                && let Some(duplicate) = known.and_then(|entry| entry.find_duplicate(header))
            {
                return Ok(ProducerVerdict::Duplicate(duplicate));
            }
            if matches!(origin, AppendOrigin::Client | AppendOrigin::Coordinator) {
                self.producers.check_verified(header, transaction.verification_guard)?;
            }
            let append = outcome.append_of(header.producer_id, || self.producers.prepare(header.producer_id, origin));
            let completed = if header.is_control() {
                match transaction_marker(header, batch.records) {
                    Some(marker) => append.append_marker(header, &marker, transaction.transaction_version)?,
                    None => None,
                }
            } else {
                append.append_data(header)?;
                None
            };
            outcome.completed.extend(completed);
        }
        Ok(ProducerVerdict::Append(outcome))
    }

    /// Takes over what was checked, after the batches were written.
    pub(super) fn apply_producers(&mut self, headers: &[BatchHeader], outcome: ProducerOutcome) -> io::Result<()> {
        for header in headers {
            self.producers.end_verification(header);
        }
        for append in &outcome.appends {
            self.producers.update(append);
        }
        let active = self.segments.len() - 1;
        for completed in &outcome.completed {
            self.complete_transaction(active, completed)?;
        }
        self.producers.set_end_offset(self.log_end_offset);
        if self.producers.first_unstable_offset() != self.first_unstable_offset {
            self.update_first_unstable_offset();
        }
        Ok(())
    }

    fn complete_transaction(&mut self, segment: usize, completed: &CompletedTransaction) -> io::Result<()> {
        if completed.is_aborted {
            let aborted = AbortedTransaction {
                producer_id: completed.producer_id,
                first_offset: completed.first_offset,
                last_offset: completed.last_offset,
                last_stable_offset: self.producers.last_stable_offset_after(completed),
            };
            self.segments[segment].append_aborted(self.disk.as_ref(), &self.dir, &aborted)?;
        }
        self.producers.complete_transaction(completed);
        Ok(())
    }

    /// Brings the producers in line with the log: the newest snapshot is loaded and the batches behind it are replayed
    /// (`UnifiedLog.rebuildProducerState`).
    pub(super) fn rebuild_producers(&mut self, now_ms: i64) -> io::Result<()> {
        let (log_start_offset, log_end_offset) = (self.log_start_offset, self.log_end_offset);
        self.producers.truncate_and_reload(snapshot_source(&self.disk, &self.dir), log_start_offset, log_end_offset, now_ms)?;
        let first = self.floor_segment(self.producers.end_offset()).unwrap_or(0);
        for index in first..self.segments.len() {
            if self.producers.end_offset() >= log_end_offset {
                break;
            }
            self.replay_segment(index)?;
        }
        self.producers.set_end_offset(log_end_offset);
        self.producers.take_snapshot(snapshot_source(&self.disk, &self.dir), false)
    }

    /// Replays the batches of a segment from where the producers' state ends.
    fn replay_segment(&mut self, index: usize) -> io::Result<()> {
        let segment: &LogSegment = &self.segments[index];
        let from = self.producers.end_offset().max(self.log_start_offset);
        let position = if from <= segment.base_offset() { Some(0) } else { segment.locate(from)?.map(|located| located.position) };
        let Some(position) = position else { return Ok(()) };
        let is_near_the_end = index + 2 >= self.segments.len();
        if is_near_the_end && from <= segment.base_offset() {
            self.producers.set_end_offset(segment.base_offset());
            self.producers.take_snapshot(snapshot_source(&self.disk, &self.dir), false)?;
        }
        let mut reader = BatchReader::new(self.segments[index].file(), position, self.segments[index].size(), READ_AHEAD_LOOKUP);
        while let Some(batch) = reader.next()? {
            if batch.header.has_producer_id() {
                let bytes: &[u8] = if batch.header.is_control() { reader.bytes_of(&batch)? } else { &[] };
                self.replay_batch(index, &batch.header, bytes)?;
            }
            self.producers.set_end_offset(batch.header.next_offset());
        }
        Ok(())
    }

    fn replay_batch(&mut self, index: usize, header: &BatchHeader, control_bytes: &[u8]) -> io::Result<()> {
        let mut append = self.producers.prepare(header.producer_id, AppendOrigin::Replication);
        let replayed = if header.is_control() {
            match control_bytes.get(BATCH_OVERHEAD..).and_then(|records| transaction_marker(header, records)) {
                Some(marker) => append.append_marker(header, &marker, 0),
                None => return Ok(()),
            }
        } else {
            append.append_data(header).map(|()| None)
        };
        let completed = match replayed {
            Ok(completed) => completed,
            Err(error) => {
                // What is in the log was accepted once; a broker must not refuse to start over it.
                tracing::warn!(partition = %self.topic_partition, %error, "a batch in the log contradicts its producer's state");
                return Ok(());
            }
        };
        self.producers.update(&append);
        match completed {
            Some(completed) => self.complete_transaction(index, &completed),
            None => Ok(()),
        }
    }
}

impl ProducerOutcome {
    fn append_of(&mut self, producer_id: i64, prepare: impl FnOnce() -> ProducerAppend) -> &mut ProducerAppend {
        let index = self.appends.iter().position(|append| append.producer_id == producer_id).unwrap_or_else(|| {
            self.appends.push(prepare());
            self.appends.len() - 1
        });
        &mut self.appends[index]
    }
}
