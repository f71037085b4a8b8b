//! The checks that one append makes of one producer, and what the append changes (`ProducerAppendInfo`). Nothing is changed here: the
//! result is handed to the state once the bytes are in the log.

use ottla_model::ErrorCode;
use ottla_record::{BatchHeader, NO_PRODUCER_EPOCH, NO_SEQUENCE};

use super::{BatchMetadata, ProducerEntry, Verification};
use crate::append::AppendOrigin;

/// Why a producer may not append. The texts are Kafka's in substance; clients act on the codes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// Batches are missing before this one, or it belongs neither here nor to the last five.
    #[error("out of order sequence number of producer {producer_id} at offset {offset}: {sequence}, expected to follow {last_sequence}")]
    OutOfOrderSequence {
        /// The producer.
        producer_id: i64,
        /// Where the batch would have been appended.
        offset: i64,
        /// The batch's first sequence.
        sequence: i32,
        /// The last one known; -1 for none.
        last_sequence: i32,
    },
    /// A newer instance of the producer has written already.
    #[error("epoch {producer_epoch} of producer {producer_id} at offset {offset} is older than the last seen epoch {current_epoch}")]
    InvalidProducerEpoch {
        /// The producer.
        producer_id: i64,
        /// Where the batch would have been appended.
        offset: i64,
        /// The batch's epoch.
        producer_epoch: i16,
        /// The last one seen.
        current_epoch: i16,
    },
    /// A plain batch within a transaction, or a transactional one outside of any.
    #[error("producer {producer_id} at offset {offset}: {reason}")]
    InvalidTransactionState {
        /// The producer.
        producer_id: i64,
        /// Where the batch would have been appended.
        offset: i64,
        /// What does not fit.
        reason: &'static str,
    },
    /// A marker of a transaction coordinator that has been replaced.
    #[error("coordinator epoch {coordinator_epoch} for producer {producer_id} at offset {offset} is older than {current_epoch}")]
    CoordinatorFenced {
        /// The producer.
        producer_id: i64,
        /// Where the marker would have been appended.
        offset: i64,
        /// The marker's coordinator epoch.
        coordinator_epoch: i32,
        /// The last one seen.
        current_epoch: i32,
    },
}

impl SequenceError {
    /// The code that clients get.
    pub fn code(&self) -> ErrorCode {
        match self {
            SequenceError::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
            SequenceError::InvalidProducerEpoch { .. } => ErrorCode::InvalidProducerEpoch,
            SequenceError::InvalidTransactionState { .. } => ErrorCode::InvalidTxnState,
            SequenceError::CoordinatorFenced { .. } => ErrorCode::TransactionCoordinatorFenced,
        }
    }
}

/// The end of a transaction, as its marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionMarker {
    pub(crate) coordinator_epoch: i32,
    pub(crate) is_abort: bool,
    pub(crate) timestamp: i64,
}

/// A transaction that a marker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompletedTransaction {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// The marker's offset.
    pub(crate) last_offset: i64,
    pub(crate) is_aborted: bool,
}

/// What one append makes of one producer.
#[derive(Clone, Debug)]
pub(crate) struct ProducerAppend {
    pub(crate) producer_id: i64,
    origin: AppendOrigin,
    current: ProducerEntry,
    verification: Option<Verification>,
    pub(crate) updated: ProducerEntry,
    /// The first offsets of transactions that this append begins.
    pub(crate) started_transactions: Vec<i64>,
}

impl ProducerAppend {
    pub(crate) fn new(
        producer_id: i64,
        current: ProducerEntry,
        verification: Option<Verification>,
        origin: AppendOrigin,
    ) -> ProducerAppend {
        let updated = current.without_batches();
        ProducerAppend { producer_id, origin, current, verification, updated, started_transactions: Vec::new() }
    }

    /// Takes a batch of data; `header` with its final offsets.
    pub(crate) fn append_data(&mut self, header: &BatchHeader) -> Result<(), SequenceError> {
        let offset = header.base_offset;
        self.check_epoch(header.producer_epoch, offset)?;
        if self.origin == AppendOrigin::Client {
            self.check_sequence(header)?;
        }
        let batch = BatchMetadata {
            last_sequence: header.last_sequence(),
            last_offset: header.last_offset(),
            offset_delta: header.last_offset_delta,
            timestamp: header.max_timestamp,
        };
        self.updated.add_batch(header.producer_epoch, batch);
        match (self.updated.transaction_first_offset, header.is_transactional()) {
            (Some(_), false) => Err(SequenceError::InvalidTransactionState {
                producer_id: self.producer_id,
                offset,
                reason: "a transactional write was expected",
            }),
            (None, true) => {
                self.updated.transaction_first_offset = Some(offset);
                self.started_transactions.push(offset);
                Ok(())
            }
            (Some(_), true) | (None, false) => Ok(()),
        }
    }

    /// Takes a transaction marker, whose batch has this header.
    pub(crate) fn append_marker(
        &mut self,
        header: &BatchHeader,
        marker: &TransactionMarker,
        transaction_version: i16,
    ) -> Result<Option<CompletedTransaction>, SequenceError> {
        let offset = header.base_offset;
        self.check_marker_epoch(header.producer_epoch, offset, transaction_version)?;
        if self.updated.coordinator_epoch > marker.coordinator_epoch && self.origin != AppendOrigin::Replication {
            return Err(SequenceError::CoordinatorFenced {
                producer_id: self.producer_id,
                offset,
                coordinator_epoch: marker.coordinator_epoch,
                current_epoch: self.updated.coordinator_epoch,
            });
        }
        let completed = self.updated.transaction_first_offset.map(|first_offset| CompletedTransaction {
            producer_id: self.producer_id,
            first_offset,
            last_offset: offset,
            is_aborted: marker.is_abort,
        });
        self.updated.end_transaction(header.producer_epoch, marker.coordinator_epoch, marker.timestamp);
        Ok(completed)
    }

    fn check_epoch(&self, producer_epoch: i16, offset: i64) -> Result<(), SequenceError> {
        let current_epoch = self.updated.producer_epoch;
        if producer_epoch >= current_epoch || self.origin == AppendOrigin::Replication {
            return Ok(());
        }
        Err(SequenceError::InvalidProducerEpoch { producer_id: self.producer_id, offset, producer_epoch, current_epoch })
    }

    /// With transactions of version 2 each one raises the epoch, so that the marker's must be new, unless it repeats a marker that
    /// was written already (KIP-890).
    fn check_marker_epoch(&self, producer_epoch: i16, offset: i64, transaction_version: i16) -> Result<(), SequenceError> {
        let current_epoch = self.updated.producer_epoch;
        if transaction_version < 2 || producer_epoch != current_epoch || self.origin == AppendOrigin::Replication {
            return self.check_epoch(producer_epoch, offset);
        }
        if self.updated.transaction_first_offset.is_none() || producer_epoch == i16::MAX {
            return Ok(());
        }
        Err(SequenceError::InvalidProducerEpoch { producer_id: self.producer_id, offset, producer_epoch, current_epoch })
    }

    fn check_sequence(&self, header: &BatchHeader) -> Result<(), SequenceError> {
        let sequence = header.base_sequence;
        let error = |last_sequence| {
            Err(SequenceError::OutOfOrderSequence { producer_id: self.producer_id, offset: header.base_offset, sequence, last_sequence })
        };
        if let Some(verification) = &self.verification {
            // The first batch of those that waited for the verification must come first, and be the producer's first altogether when
            // each transaction has its own epoch.
            let not_the_first = verification.supports_epoch_bump && sequence != 0 && !self.current.has_batches();
            if not_the_first || sequence > verification.lowest_sequence {
                return error(verification.lowest_sequence - 1);
            }
        }
        if header.producer_epoch != self.updated.producer_epoch {
            let epoch_is_new = self.updated.producer_epoch != NO_PRODUCER_EPOCH;
            return if epoch_is_new && sequence != 0 { error(-1) } else { Ok(()) };
        }
        let last_sequence = if self.updated.has_batches() {
            self.updated.last_sequence()
        } else if header.producer_epoch == self.current.producer_epoch {
            self.current.last_sequence()
        } else {
            NO_SEQUENCE
        };
        let follows = i64::from(sequence) == i64::from(last_sequence) + 1 || (sequence == 0 && last_sequence == i32::MAX);
        if self.current.producer_epoch == NO_PRODUCER_EPOCH || follows { Ok(()) } else { error(last_sequence) }
    }
}
