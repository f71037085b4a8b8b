//! What is known of one transactional id, and how each step changes it (`TransactionMetadata`, `TxnTransitMetadata`). A step makes new
//! metadata; it becomes the state once its record is written.

use std::collections::BTreeSet;

use ottla_model::{ErrorCode, TopicPartition};

use super::outcome::ProducerIdAndEpoch;
use super::state::TransactionState;
use crate::group::TransactionResult;

/// No producer id.
pub const NO_PRODUCER_ID: i64 = -1;
/// No epoch: a new producer, or nothing to go back to.
pub const NO_PRODUCER_EPOCH: i16 = -1;

/// The level of `transaction.version` from which on the epoch is bumped with every transaction (KIP-890).
const FIRST_VERSION_WITH_EPOCH_BUMP: i16 = 2;

/// The metadata of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionMetadata {
    /// The producer's id.
    pub producer_id: i64,
    /// Its id before the last change of this metadata.
    pub previous_producer_id: i64,
    /// The id that it gets when the transaction that ends is complete, since the epochs of the present one are used up; else -1.
    pub next_producer_id: i64,
    /// The producer's epoch; -1 until its first InitProducerId is written.
    pub producer_epoch: i16,
    /// The epoch before, to recognise a request that is made again; -1 if there is none. Not in the log.
    pub last_producer_epoch: i16,
    /// How long a transaction may stay open, in milliseconds; `i32::MAX` is for ever (two-phase commit).
    pub timeout_ms: i32,
    /// How far the transaction is.
    pub state: TransactionState,
    /// The partitions that take part and have no marker yet.
    pub partitions: BTreeSet<TopicPartition>,
    /// When the transaction began, in milliseconds since 1970; -1 before the first.
    pub start_timestamp_ms: i64,
    /// When anything changed last, in milliseconds since 1970.
    pub last_update_timestamp_ms: i64,
    /// The transactions that the client spoke of in the last step.
    pub client_transaction_version: i16,
}

/// Whether transactions of this version bump the epoch when they end.
pub const fn supports_epoch_bump(transaction_version: i16) -> bool {
    transaction_version >= FIRST_VERSION_WITH_EPOCH_BUMP
}

/// Whether no epoch may be handed out after this one: the last is kept for fencing.
pub const fn is_epoch_exhausted(epoch: i16) -> bool {
    epoch >= i16::MAX - 1
}

/// How a transaction is to end.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Commit or abort.
    pub result: TransactionResult,
    /// The transactions that the client speaks of.
    pub client_transaction_version: i16,
    /// The id that follows if the epochs are used up, else -1.
    pub next_producer_id: i64,
    /// The time.
    pub now_ms: i64,
    /// Whether no transaction was begun: an abort of version 2 by a client that does not know.
    pub is_without_partitions: bool,
}

impl TransactionMetadata {
    /// A transactional id that nobody has used yet.
    pub fn new(producer_id: i64, timeout_ms: i32, now_ms: i64) -> TransactionMetadata {
        TransactionMetadata {
            producer_id,
            previous_producer_id: NO_PRODUCER_ID,
            next_producer_id: NO_PRODUCER_ID,
            producer_epoch: NO_PRODUCER_EPOCH,
            last_producer_epoch: NO_PRODUCER_EPOCH,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: BTreeSet::new(),
            start_timestamp_ms: -1,
            last_update_timestamp_ms: now_ms,
            client_transaction_version: 0,
        }
    }

    /// Who the producer is.
    pub fn producer(&self) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch { producer_id: self.producer_id, producer_epoch: self.producer_epoch }
    }

    /// Whether the producer's epochs are used up.
    pub fn is_epoch_exhausted(&self) -> bool {
        is_epoch_exhausted(self.producer_epoch)
    }

    /// Whether a producer that names itself may go on as this one: it is this one, its metadata was lost, or it did not hear that it got
    /// a new id.
    pub fn accepts_producer(&self, expected: ProducerIdAndEpoch) -> bool {
        self.producer_epoch == NO_PRODUCER_EPOCH
            || expected.producer_id == self.producer_id
            || (expected.producer_id == self.previous_producer_id && is_epoch_exhausted(expected.producer_epoch))
    }

    /// The producer begins again, with the next epoch (`prepareIncrementProducerEpoch`).
    pub fn with_next_epoch(&self, timeout_ms: i32, expected_epoch: Option<i16>, now_ms: i64) -> Result<TransactionMetadata, ErrorCode> {
        let bumped = self.producer_epoch + 1;
        let (producer_epoch, last_producer_epoch) = match expected_epoch {
            None => (bumped, NO_PRODUCER_EPOCH),
            Some(epoch) if self.producer_epoch == NO_PRODUCER_EPOCH || epoch == self.producer_epoch => (bumped, self.producer_epoch),
            // Made again: the answer to the first was lost.
            Some(epoch) if epoch == self.last_producer_epoch => (self.producer_epoch, self.last_producer_epoch),
            Some(_) => return Err(ErrorCode::ProducerFenced),
        };
        Ok(TransactionMetadata { producer_epoch, last_producer_epoch, ..self.begun_again(timeout_ms, now_ms) })
    }

    /// The producer begins again, with a new id (`prepareProducerIdRotation`).
    pub fn with_new_producer_id(&self, producer_id: i64, timeout_ms: i32, keeps_last_epoch: bool, now_ms: i64) -> TransactionMetadata {
        let last_producer_epoch = if keeps_last_epoch { self.producer_epoch } else { NO_PRODUCER_EPOCH };
        TransactionMetadata { producer_id, producer_epoch: 0, last_producer_epoch, ..self.begun_again(timeout_ms, now_ms) }
    }

    fn begun_again(&self, timeout_ms: i32, now_ms: i64) -> TransactionMetadata {
        TransactionMetadata {
            previous_producer_id: self.producer_id,
            timeout_ms,
            state: TransactionState::Empty,
            partitions: BTreeSet::new(),
            start_timestamp_ms: -1,
            last_update_timestamp_ms: now_ms,
            ..self.clone()
        }
    }

    /// Partitions take part; the first begin the transaction (`prepareAddPartitions`).
    pub fn with_partitions(&self, added: &BTreeSet<TopicPartition>, client_transaction_version: i16, now_ms: i64) -> TransactionMetadata {
        TransactionMetadata {
            previous_producer_id: self.producer_id,
            state: TransactionState::Ongoing,
            partitions: self.partitions.union(added).cloned().collect(),
            start_timestamp_ms: if self.state.is_over() { now_ms } else { self.start_timestamp_ms },
            last_update_timestamp_ms: now_ms,
            client_transaction_version,
            ..self.clone()
        }
    }

    /// The end is decided (`prepareAbortOrCommit`).
    pub fn prepared(&self, ending: &Ending) -> TransactionMetadata {
        let (producer_epoch, last_producer_epoch) = if supports_epoch_bump(ending.client_transaction_version) {
            // At the very last epoch only an abort comes here, and it must be possible.
            (self.producer_epoch.saturating_add(1), self.producer_epoch)
        } else {
            (self.producer_epoch, self.last_producer_epoch)
        };
        TransactionMetadata {
            previous_producer_id: self.producer_id,
            next_producer_id: ending.next_producer_id,
            producer_epoch,
            last_producer_epoch,
            state: match ending.result {
                TransactionResult::Commit => TransactionState::PrepareCommit,
                TransactionResult::Abort => TransactionState::PrepareAbort,
            },
            start_timestamp_ms: if ending.is_without_partitions { ending.now_ms } else { self.start_timestamp_ms },
            last_update_timestamp_ms: ending.now_ms,
            client_transaction_version: ending.client_transaction_version,
            ..self.clone()
        }
    }

    /// All markers are written (`prepareComplete`). If the epochs were used up, the producer goes on under its next id.
    pub fn completed(&self, now_ms: i64) -> TransactionMetadata {
        let rotates = supports_epoch_bump(self.client_transaction_version) && self.next_producer_id != NO_PRODUCER_ID;
        let (producer_id, producer_epoch) = if rotates { (self.next_producer_id, 0) } else { (self.producer_id, self.producer_epoch) };
        TransactionMetadata {
            producer_id,
            previous_producer_id: self.producer_id,
            next_producer_id: NO_PRODUCER_ID,
            producer_epoch,
            state: if self.state == TransactionState::PrepareCommit {
                TransactionState::CompleteCommit
            } else {
                TransactionState::CompleteAbort
            },
            partitions: BTreeSet::new(),
            last_update_timestamp_ms: now_ms,
            ..self.clone()
        }
    }

    /// Whether the transaction has been open for longer than it may.
    pub fn is_timed_out(&self, now_ms: i64) -> bool {
        self.state == TransactionState::Ongoing
            && self.timeout_ms != i32::MAX
            && self.start_timestamp_ms + i64::from(self.timeout_ms) < now_ms
    }
}
