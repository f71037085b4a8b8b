//! Reads a partition of `__consumer_offsets` into its shard.

use bytes::Bytes;
use ottla_coordinator::group::{GroupCoordinatorShard, RecordOrigin, ReplayError, TransactionResult};
use ottla_log::{ReadError, ReadRequest};
use ottla_model::TopicPartition;
use ottla_record::{
    Batch, Batches, BatchesError, ControlRecordError, DecompressionBuffers, EndTransactionMarker, NO_PRODUCER_ID, RecordReader,
    RecordsError,
};

use crate::partition::Partition;

/// How much is read at once (`offsets.load.buffer.size`).
const LOAD_BUFFER_BYTES: usize = 5 * 1024 * 1024;

/// Why a partition's groups cannot be served. `offset` is where reading stopped.
#[derive(Debug, thiserror::Error)]
#[error("at offset {offset}: {cause}")]
pub struct LoadError {
    offset: i64,
    cause: LoadFailure,
}

#[derive(Debug, thiserror::Error)]
enum LoadFailure {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Batches(#[from] BatchesError),
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Control(#[from] ControlRecordError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Replays everything up to the high watermark.
pub fn load(shard: &mut GroupCoordinatorShard, partition: &Partition) -> Result<(), LoadError> {
    let (mut offset, end_offset) = {
        let log = partition.log().lock();
        (log.log_start_offset(), log.high_watermark())
    };
    while offset < end_offset {
        offset = load_some(shard, partition, offset, end_offset).map_err(|cause| LoadError { offset, cause })?;
    }
    Ok(())
}

/// Replays one read's worth of batches and returns the offset after them.
fn load_some(shard: &mut GroupCoordinatorShard, partition: &Partition, offset: i64, end_offset: i64) -> Result<i64, LoadFailure> {
    let request = ReadRequest { offset, max_bytes: LOAD_BUFFER_BYTES, end_offset, at_least_one_batch: true, include_aborted: false };
    let read = partition.log().lock().read(request)?;
    let Some(slice) = read.records else { return Ok(end_offset) };
    let bytes = slice.read()?;
    let mut next_offset = offset;
    for batch in Batches::new(&bytes) {
        let batch = batch?;
        replay(shard, partition.topic_partition(), &batch)?;
        next_offset = batch.header.next_offset();
    }
    Ok(next_offset)
}

fn replay(shard: &mut GroupCoordinatorShard, topic_partition: &TopicPartition, batch: &Batch<'_>) -> Result<(), LoadFailure> {
    let producer_id = if batch.header.is_transactional() { batch.header.producer_id } else { NO_PRODUCER_ID };
    let mut buffers = DecompressionBuffers::default();
    let mut records = RecordReader::new(batch, &mut buffers)?;
    while let Some(record) = records.next_record()? {
        if batch.header.is_control() {
            if let Some(marker) = EndTransactionMarker::parse(record.key, record.value)? {
                shard.replay_end_transaction_marker(batch.header.producer_id, transaction_result(marker.result));
            }
            continue;
        }
        let Some(key) = record.key else {
            tracing::warn!(%topic_partition, offset = record.offset, "a record without a key was skipped");
            continue;
        };
        let origin = RecordOrigin { offset: record.offset, producer_id };
        match shard.replay(origin, Bytes::copy_from_slice(key), record.value.map(Bytes::copy_from_slice)) {
            Ok(_) => {}
            Err(ReplayError::UnknownType(kind)) => {
                tracing::warn!(%topic_partition, offset = record.offset, kind, "a record of an unknown type was skipped");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn transaction_result(result: ottla_record::TransactionResult) -> TransactionResult {
    match result {
        ottla_record::TransactionResult::Commit => TransactionResult::Commit,
        ottla_record::TransactionResult::Abort => TransactionResult::Abort,
    }
}
