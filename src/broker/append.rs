//! A batch on its way from a produce request into a partition: checked before the log's lock is taken, then appended.

use std::cell::RefCell;
use std::sync::Arc;

use ottla_log::AppendOrigin;
use ottla_model::ErrorCode;
use ottla_record::{AppendContext, Batch, DECOMPRESSED_SIZE_MAX, DecompressionBuffers, ProducedBatchError, ValidationError, validate};

use crate::broker::Broker;
use crate::partition::Partition;

thread_local! {
    /// Empty until the first compressed batch of a thread.
    static BUFFERS: RefCell<DecompressionBuffers> = const { RefCell::new(DecompressionBuffers::new(DECOMPRESSED_SIZE_MAX)) };
}

/// From this version on a client can abort a transaction that was not verified, instead of failing (KIP-890).
const FIRST_VERSION_WITH_ABORTABLE: i16 = 11;

/// Where a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record; of a recognised duplicate, the one it got the first time.
    pub first_offset: i64,
    /// The offset after its last record.
    pub end_offset: i64,
    /// When it was appended, if the topic's timestamps are of that kind, else -1.
    pub log_append_time_ms: i64,
    /// The first offset of the log.
    pub log_start_offset: i64,
    /// Whether `flush.messages` asks for a flush before anyone is told.
    pub flush_due: bool,
}

/// One bad record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// The record's index within its batch.
    pub batch_index: i32,
    /// What is wrong with it.
    pub message: String,
}

/// Why nothing was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendError {
    /// What the client is told.
    pub code: ErrorCode,
    /// In words, where Kafka says more than its code does.
    pub message: Option<String>,
    /// The records at fault.
    pub bad_records: Vec<BadRecord>,
    /// The first offset of the log, where Kafka tells it; else -1.
    pub log_start_offset: i64,
}

impl AppendError {
    /// An error that its code says all of.
    pub fn of(code: ErrorCode) -> AppendError {
        AppendError { code, message: None, bad_records: Vec::new(), log_start_offset: -1 }
    }

    /// Kafka tells the log's start along with all errors but those that it expects (`ReplicaManager.appendToLocalLog`).
    fn at(mut self, partition: &Partition) -> AppendError {
        let is_expected = matches!(
            self.code,
            ErrorCode::UnknownTopicOrPartition
                | ErrorCode::NotLeaderOrFollower
                | ErrorCode::MessageTooLarge
                | ErrorCode::RecordListTooLarge
                | ErrorCode::CorruptMessage
                | ErrorCode::KafkaStorageError
                | ErrorCode::UnknownTopicId
        );
        if !is_expected {
            self.log_start_offset = partition.log().lock().log_start_offset();
        }
        self
    }
}

impl From<ErrorCode> for AppendError {
    fn from(code: ErrorCode) -> AppendError {
        AppendError::of(code)
    }
}

impl From<ProducedBatchError> for AppendError {
    fn from(error: ProducedBatchError) -> AppendError {
        AppendError::of(error.code())
    }
}

impl From<ValidationError> for AppendError {
    fn from(error: ValidationError) -> AppendError {
        let bad_records = error
            .rejections()
            .iter()
            .map(|rejection| BadRecord { batch_index: rejection.batch_index, message: rejection.reason.to_string() });
        AppendError { code: error.code(), message: error.client_message(), bad_records: bad_records.collect(), log_start_offset: -1 }
    }
}

impl From<ottla_log::AppendError> for AppendError {
    fn from(error: ottla_log::AppendError) -> AppendError {
        AppendError::of(error.code())
    }
}

/// Checks a producer's batch by the rules of the partition's topic and appends it.
pub fn append_produced(
    broker: &Arc<Broker>,
    partition: &Partition,
    batch: &Batch<'_>,
    api_version: i16,
    now_ms: i64,
) -> Result<Appended, AppendError> {
    if batch.header.is_transactional() {
        // No transaction was verified, for there is no transaction coordinator yet.
        let abortable = api_version >= FIRST_VERSION_WITH_ABORTABLE;
        let code = if abortable { ErrorCode::TransactionAbortable } else { ErrorCode::InvalidTxnState };
        return Err(AppendError::of(code).at(partition));
    }
    let config = partition.validation();
    let context = AppendContext { origin: ottla_record::AppendOrigin::Client, now_ms };
    BUFFERS.with_borrow_mut(|buffers| {
        let validated = validate(batch, &config, context, buffers).map_err(|error| AppendError::from(error).at(partition))?;
        partition
            .append(broker, *validated.header(), validated.records(), AppendOrigin::Client, now_ms)
            .map_err(|error| AppendError::from(error).at(partition))
    })
}
