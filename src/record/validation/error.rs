//! Why a leader refuses a batch, and which error code that is.

use std::fmt;

use ottla_model::ErrorCode;

use crate::attributes::UnknownCompressionType;
use crate::builder::BuildError;
use crate::compression::DecompressError;
use crate::reader::RecordsError;
use crate::stamp::CrcMismatch;

/// How many rejected records are named to the client. Kafka names all; a batch of the usual size holds fewer, and a compressed batch could
/// otherwise turn a few bytes into gigabytes of messages.
pub const RECORD_REJECTIONS_MAX: usize = 10_000;

/// A record that breaks a rule of its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRejection {
    /// The record's place in the batch, from 0.
    pub batch_index: i32,
    /// Which rule it breaks.
    pub reason: RejectionReason,
}

/// The rule that a record breaks. The text is meant for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// A compacted topic needs a key in every record.
    MissingKey,
    /// The timestamp is too far from now.
    TimestampOutOfRange {
        /// What the record has, in ms since the epoch.
        timestamp: i64,
        /// The first timestamp that would be taken.
        earliest: i64,
        /// The last timestamp that would be taken.
        latest: i64,
    },
    /// Only brokers may set the timestamp type LogAppendTime.
    LogAppendTimeSet,
}

impl fmt::Display for RejectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RejectionReason::MissingKey => f.write_str("The topic is compacted and takes no record without a key."),
            RejectionReason::TimestampOutOfRange { timestamp, earliest, latest } => {
                write!(f, "The timestamp {timestamp} is out of range: the topic takes timestamps from {earliest} to {latest}.")
            }
            RejectionReason::LogAppendTimeSet => f.write_str("A producer must not set the timestamp type LogAppendTime."),
        }
    }
}

/// Why a batch is refused.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// Producers count offsets from 0.
    #[error("the base offset is {0} instead of 0")]
    BaseOffset(i64),
    /// The batch exceeds `max.message.bytes`, as it came or after recompression.
    #[error("the batch has {size} bytes, the topic takes {max}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The batch has changed on its way.
    #[error(transparent)]
    Crc(#[from] CrcMismatch),
    /// The attribute bits name no codec.
    #[error(transparent)]
    UnknownCompressionType(#[from] UnknownCompressionType),
    /// The header spans no offset.
    #[error("the last offset delta is {0}")]
    LastOffsetDelta(i32),
    /// The header announces no record.
    #[error("the batch announces {0} records")]
    RecordsCount(i32),
    /// Offsets and records do not match.
    #[error("the last offset delta is {last_offset_delta}, but the batch announces {records_count} records")]
    CountMismatch {
        /// From the header.
        last_offset_delta: i32,
        /// From the header.
        records_count: i32,
    },
    /// Clients do not write control records.
    #[error("a client sent a control batch")]
    ControlBatch,
    /// Idempotent producers count sequence numbers from 0.
    #[error("the base sequence of producer {producer_id} is {base_sequence}")]
    NegativeSequence {
        /// The producer.
        producer_id: i64,
        /// What its batch says.
        base_sequence: i32,
    },
    /// The offset deltas of the records of a compressed batch are not 0, 1, 2 ... Kafka fails to write such a batch anew.
    #[error("the records' offset deltas are not consecutive")]
    IrregularOffsets,
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Records break rules of the topic.
    #[error("{} records were rejected, the first one, number {}, because: {}", .rejected_count, .rejections[0].batch_index, .rejections[0].reason)]
    Rejected {
        /// The first of them, at least one and at most [`RECORD_REJECTIONS_MAX`].
        rejections: Vec<RecordRejection>,
        /// How many there are.
        rejected_count: usize,
    },
    /// The records cannot be written anew.
    #[error("the records cannot be rewritten: {0}")]
    Rewrite(#[from] BuildError),
}

impl ValidationError {
    /// The code in the produce response.
    pub fn code(&self) -> ErrorCode {
        match self {
            ValidationError::BaseOffset(_)
            | ValidationError::LastOffsetDelta(_)
            | ValidationError::RecordsCount(_)
            | ValidationError::CountMismatch { .. }
            | ValidationError::ControlBatch
            | ValidationError::NegativeSequence { .. } => ErrorCode::InvalidRecord,
            ValidationError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            ValidationError::Crc(_) => ErrorCode::CorruptMessage,
            ValidationError::UnknownCompressionType(_) | ValidationError::IrregularOffsets | ValidationError::Rewrite(_) => {
                ErrorCode::UnknownServerError
            }
            ValidationError::Records(error) => records_code(error),
            ValidationError::Rejected { rejections, .. } => rejections_code(rejections),
        }
    }

    /// The rejected records that the produce response names, from version 8 on.
    pub fn rejections(&self) -> &[RecordRejection] {
        let ValidationError::Rejected { rejections, .. } = self else { return &[] };
        rejections
    }

    /// The message in the produce response, from version 8 on. Kafka sends one only along with rejected records.
    pub fn client_message(&self) -> Option<String> {
        let ValidationError::Rejected { rejected_count, .. } = self else { return None };
        Some(match self.code() {
            ErrorCode::InvalidTimestamp => "The batch was rejected because of invalid timestamps in its records.".to_owned(),
            _ => format!("The batch was rejected because {rejected_count} of its records are invalid."),
        })
    }
}

fn records_code(error: &RecordsError) -> ErrorCode {
    match error {
        RecordsError::NegativeCount(_) | RecordsError::Record(_) | RecordsError::SurplusBytes => ErrorCode::InvalidRecord,
        // Kafka has no code for data that does not decompress.
        RecordsError::UnknownCompressionType(_) | RecordsError::Decompress(DecompressError::Malformed { .. }) => {
            ErrorCode::UnknownServerError
        }
        RecordsError::Decompress(DecompressError::TooLarge { .. }) => ErrorCode::MessageTooLarge,
    }
}

/// One wrong timestamp decides for the whole batch (`LogValidator.processRecordErrors`).
fn rejections_code(rejections: &[RecordRejection]) -> ErrorCode {
    let is_about_time = |rejection: &RecordRejection| match rejection.reason {
        RejectionReason::MissingKey => false,
        RejectionReason::TimestampOutOfRange { .. } | RejectionReason::LogAppendTimeSet => true,
    };
    if rejections.iter().any(is_about_time) { ErrorCode::InvalidTimestamp } else { ErrorCode::InvalidRecord }
}
