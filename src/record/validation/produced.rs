//! What a produce request may contain for one partition: exactly one batch of format v2 (`ProduceRequest.validateRecords`).

use ottla_model::ErrorCode;

use crate::attributes::{CompressionType, UnknownCompressionType};
use crate::batches::{Batch, Batches, BatchesError};
use crate::header::{HeaderError, LEGACY_BATCH_LENGTH_MIN};

/// Produce versions before this one do not know zstd (KIP-110).
const ZSTD_VERSION_MIN: i16 = 7;

/// Why the records field of a partition is refused before its topic is even looked at. Kafka sends no message along with these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProducedBatchError {
    /// There is no whole batch.
    #[error("there is no whole batch")]
    NoBatch,
    /// There is a second whole batch.
    #[error("there is more than one batch")]
    MoreThanOneBatch,
    /// The message format is older than v2.
    #[error("the message format v{0} is not accepted")]
    LegacyMagic(i8),
    /// What is there is no batch.
    #[error(transparent)]
    Corrupt(HeaderError),
    /// zstd needs produce version 7.
    #[error("zstd was used with produce version {0}")]
    ZstdTooEarly(i16),
    /// The codec, which is looked at only before produce version 7, is none that exists. Kafka fails the whole request over it.
    #[error(transparent)]
    UnknownCompressionType(UnknownCompressionType),
}

impl ProducedBatchError {
    /// The code in the produce response.
    pub const fn code(&self) -> ErrorCode {
        match self {
            ProducedBatchError::NoBatch | ProducedBatchError::MoreThanOneBatch | ProducedBatchError::LegacyMagic(_) => {
                ErrorCode::InvalidRecord
            }
            ProducedBatchError::Corrupt(_) => ErrorCode::CorruptMessage,
            ProducedBatchError::ZstdTooEarly(_) => ErrorCode::UnsupportedCompressionType,
            ProducedBatchError::UnknownCompressionType(_) => ErrorCode::UnknownServerError,
        }
    }
}

/// Whether the first batch in the records field of a produce request is transactional, which Kafka asks before anything else
/// (`RequestUtils.hasTransactionalRecords`). What cannot even be stepped over is an error, and ends the whole request.
pub fn begins_transactional(records: &[u8]) -> Result<bool, HeaderError> {
    match Batches::new(records).next() {
        Some(Ok(batch)) => Ok(batch.header.is_transactional()),
        None | Some(Err(BatchesError::Partial { .. })) => Ok(false),
        Some(Err(BatchesError::Corrupt { cause, .. })) if stops_kafka(&cause) => Err(cause),
        Some(Err(BatchesError::Corrupt { .. })) => Ok(false),
    }
}

/// Whether Kafka's own walk over batches fails here (`ByteBufferLogInputStream`). What is long enough for some format it counts as a batch.
fn stops_kafka(cause: &HeaderError) -> bool {
    match cause {
        HeaderError::LengthTooSmall(length) => *length < LEGACY_BATCH_LENGTH_MIN,
        HeaderError::InvalidMagic(_) => true,
        HeaderError::LegacyMagic(_) | HeaderError::Truncated(_) => false,
    }
}

/// The one batch in the records field of a produce request of version `api_version`. The beginning of a further batch behind it is ignored.
pub fn produced_batch(records: &[u8], api_version: i16) -> Result<Batch<'_>, ProducedBatchError> {
    let mut batches = Batches::new(records);
    let batch = match batches.next() {
        Some(Ok(batch)) => batch,
        None | Some(Err(BatchesError::Partial { .. })) => return Err(ProducedBatchError::NoBatch),
        Some(Err(BatchesError::Corrupt { cause: HeaderError::LegacyMagic(magic), .. })) => {
            return Err(ProducedBatchError::LegacyMagic(magic));
        }
        Some(Err(BatchesError::Corrupt { cause, .. })) => return Err(ProducedBatchError::Corrupt(cause)),
    };
    if api_version < ZSTD_VERSION_MIN
        && batch.header.compression().map_err(ProducedBatchError::UnknownCompressionType)? == CompressionType::Zstd
    {
        return Err(ProducedBatchError::ZstdTooEarly(api_version));
    }
    match batches.next() {
        None | Some(Err(BatchesError::Partial { .. })) => Ok(batch),
        Some(Ok(_)) => Err(ProducedBatchError::MoreThanOneBatch),
        Some(Err(BatchesError::Corrupt { cause, .. })) if stops_kafka(&cause) => Err(ProducedBatchError::Corrupt(cause)),
        Some(Err(BatchesError::Corrupt { .. })) => Err(ProducedBatchError::MoreThanOneBatch),
    }
}
