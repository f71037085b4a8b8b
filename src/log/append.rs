//! What an append is asked and what it answers.

use ottla_model::ErrorCode;
use ottla_record::BatchHeader;

use crate::errors::StorageError;
use crate::producer::SequenceError;

/// Who appends (`AppendOrigin`). Only clients are held to sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A producer.
    Client,
    /// A group or transaction coordinator.
    Coordinator,
    /// The leader of the metadata quorum: offsets and epochs are in the batches already.
    RaftLeader,
    /// A follower that copies its leader.
    Replication,
}

/// A batch that was validated and is to get its offsets now.
#[derive(Clone, Copy, Debug)]
pub struct BatchToAppend<'a> {
    /// The header as validation left it: length, CRC, attributes and timestamps are final. Base offset and leader epoch are set by the
    /// log; they lie outside of the CRC.
    pub header: BatchHeader,
    /// The bytes behind the header.
    pub records: &'a [u8],
}

/// What a transactional append brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TransactionContext {
    /// What the verification of the transaction with its coordinator gave; `None` when there was none to do.
    pub verification_guard: Option<VerificationGuard>,
    /// The `transaction.version` that a marker was written with; markers of version 2 must raise the epoch.
    pub transaction_version: i16,
}

/// Says that a transaction was verified since it was last known to be over (`VerificationGuard`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationGuard(pub(crate) u64);

/// One append by the leader.
#[derive(Clone, Copy, Debug)]
pub struct AppendRequest<'a> {
    /// The batches in order; exactly one from a client.
    pub batches: &'a [BatchToAppend<'a>],
    /// Who appends: a client or a coordinator.
    pub origin: AppendOrigin,
    /// The leader's epoch, which the batches get.
    pub leader_epoch: i32,
    /// The time, in milliseconds.
    pub now_ms: i64,
    /// What is needed for transactional batches and markers.
    pub transaction: TransactionContext,
}

/// Where an append went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendInfo {
    /// The first record's offset.
    pub first_offset: i64,
    /// The last record's offset.
    pub last_offset: i64,
    /// With LogAppendTime the time of the append, and for a duplicate its batch's max timestamp; otherwise -1.
    pub log_append_time_ms: i64,
    /// The log start offset.
    pub log_start_offset: i64,
    /// Nothing was appended: the batch had been appended before, with these offsets.
    pub duplicate: bool,
    /// `flush.messages` asks for the log to be made durable before this append is acknowledged.
    pub flush_due: bool,
}

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The disk failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The producer may not append this now.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// A batch exceeds `max.message.bytes`.
    #[error("a record batch of {size} bytes exceeds the maximum of {max}")]
    RecordTooLarge {
        /// The batch's size.
        size: usize,
        /// `max.message.bytes`.
        max: u32,
    },
    /// The batches exceed `segment.bytes`.
    #[error("record batches of {size} bytes exceed the segment size of {max}")]
    RecordListTooLarge {
        /// The batches' size.
        size: usize,
        /// `segment.bytes`.
        max: u32,
    },
    /// Batches that bring their offsets do not continue the log.
    #[error("the first offset {first_offset} is below the next offset {log_end_offset} of the log")]
    UnexpectedOffset {
        /// The first batch's base offset.
        first_offset: i64,
        /// The log end offset.
        log_end_offset: i64,
    },
    /// Batches that bring their offsets are not in order among themselves, or not of the leader's epoch.
    #[error("offset {offset} {reason}")]
    InvalidBatch {
        /// The batch's base offset.
        offset: i64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The bytes are not whole and sound batches.
    #[error("corrupt record batch: {reason}")]
    Corrupt {
        /// What is wrong with them.
        reason: String,
    },
}

impl AppendError {
    /// The code that clients get.
    pub fn code(&self) -> ErrorCode {
        match self {
            AppendError::Storage(error) => error.code(),
            AppendError::Sequence(error) => error.code(),
            AppendError::RecordTooLarge { .. } => ErrorCode::MessageTooLarge,
            AppendError::RecordListTooLarge { .. } => ErrorCode::RecordListTooLarge,
            AppendError::UnexpectedOffset { .. } => ErrorCode::UnknownServerError,
            AppendError::InvalidBatch { .. } => ErrorCode::InvalidRecord,
            AppendError::Corrupt { .. } => ErrorCode::CorruptMessage,
        }
    }
}
