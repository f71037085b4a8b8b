//! A batch on its way from a produce request into a partition: checked before the log's lock is taken, then appended.

use std::cell::RefCell;
use std::sync::Arc;

use ottla_log::{AppendOrigin, TransactionContext, VerificationGuard};
use ottla_model::ErrorCode;
use ottla_record::{AppendContext, Batch, DECOMPRESSED_SIZE_MAX, DecompressionBuffers, ProducedBatchError, ValidationError, validate};

use crate::broker::Broker;
use crate::partition::Partition;
use crate::verification::{Joining, SupportedErrors, join_transaction};

thread_local! {
    /// Empty until the first compressed batch of a thread.
    static BUFFERS: RefCell<DecompressionBuffers> = const { RefCell::new(DecompressionBuffers::new(DECOMPRESSED_SIZE_MAX)) };
}

/// From this version on a client can abort a transaction that was not verified, instead of failing (KIP-890).
const FIRST_VERSION_WITH_ABORTABLE: i16 = 11;

/// From this version on a client leaves it to the broker to add partitions to its transaction (KIP-890).
const FIRST_VERSION_THAT_ADDS: i16 = 12;

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

/// What a produce request says of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct ProduceOrigin<'a> {
    /// The request's transactional id; a request with a transactional batch has one.
    pub transactional_id: Option<&'a str>,
    /// The request's version.
    pub api_version: i16,
    /// When it came, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Checks a producer's batch by the rules of the partition's topic and of its transaction, and appends it.
pub fn append_produced(
    broker: &Arc<Broker>,
    partition: &Partition,
    batch: &Batch<'_>,
    origin: ProduceOrigin<'_>,
) -> Result<Appended, AppendError> {
    let verification_guard = verify(broker, partition, batch, origin)?;
    let transaction = TransactionContext { verification_guard, ..TransactionContext::default() };
    let config = partition.validation();
    let context = AppendContext { origin: ottla_record::AppendOrigin::Client, now_ms: origin.now_ms };
    BUFFERS.with_borrow_mut(|buffers| {
        let validated = validate(batch, &config, context, buffers).map_err(|error| AppendError::from(error).at(partition))?;
        let as_client = (AppendOrigin::Client, transaction);
        partition
            .append_in_transaction(broker, *validated.header(), validated.records(), as_client, origin.now_ms)
            .map_err(|error| AppendError::from(error).at(partition))
    })
}

/// Lets a transactional batch into its transaction (`ReplicaManager.handleProduceAppend`).
fn verify(
    broker: &Arc<Broker>,
    partition: &Partition,
    batch: &Batch<'_>,
    origin: ProduceOrigin<'_>,
) -> Result<Option<VerificationGuard>, AppendError> {
    let Some(transactional_id) = origin.transactional_id.filter(|_| batch.header.is_transactional()) else { return Ok(None) };
    let errors = match origin.api_version {
        FIRST_VERSION_THAT_ADDS.. => SupportedErrors::AddsPartition,
        FIRST_VERSION_WITH_ABORTABLE => SupportedErrors::Abortable,
        _ => SupportedErrors::Old,
    };
    let joining = Joining {
        transactional_id,
        producer_id: batch.header.producer_id,
        producer_epoch: batch.header.producer_epoch,
        base_sequence: batch.header.base_sequence,
        errors,
    };
    join_transaction(broker, partition, &joining, origin.now_ms).map_err(|error| unverified(error, errors))
}

/// The coordinator's errors in words that producers retry by: older ones know none but NOT_ENOUGH_REPLICAS that does not make them look
/// for another leader.
fn unverified(error: ErrorCode, errors: SupportedErrors) -> AppendError {
    let retriable = match error {
        ErrorCode::InvalidTxnState => {
            return AppendError { message: Some("Partition was not added to the transaction".into()), ..AppendError::of(error) };
        }
        ErrorCode::CoordinatorLoadInProgress | ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => true,
        ErrorCode::ConcurrentTransactions => errors != SupportedErrors::AddsPartition,
        _ => false,
    };
    if !retriable {
        return AppendError::of(error);
    }
    let message = format!("Unable to verify the partition has been added to the transaction. Underlying error: {}", error.name());
    AppendError { message: Some(message), ..AppendError::of(ErrorCode::NotEnoughReplicas) }
}
