//! Reads a partition of `__transaction_state` into its coordinator.

use bytes::Bytes;
use ottla_coordinator::transaction::{TransactionCoordinatorShard, TransactionRecordError};
use ottla_log::{ReadError, ReadRequest};
use ottla_record::{Batch, Batches, BatchesError, DecompressionBuffers, RecordReader, RecordsError};

use crate::partition::Partition;

/// How much is read at once (`transaction.state.log.load.buffer.size`).
const LOAD_BUFFER_BYTES: usize = 5 * 1024 * 1024;

/// Why a partition's transactions cannot be served. `offset` is where reading stopped.
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
    Replay(#[from] TransactionRecordError),
}

/// Replays everything up to the end of the log.
pub fn load(shard: &mut TransactionCoordinatorShard, partition: &Partition) -> Result<(), LoadError> {
    let (mut offset, end_offset) = {
        let log = partition.log().lock();
        (log.log_start_offset(), log.log_end_offset())
    };
    while offset < end_offset {
        offset = load_some(shard, partition, offset, end_offset).map_err(|cause| LoadError { offset, cause })?;
    }
    Ok(())
}

/// Replays one read's worth of batches and returns the offset after them.
fn load_some(shard: &mut TransactionCoordinatorShard, partition: &Partition, offset: i64, end_offset: i64) -> Result<i64, LoadFailure> {
    let request = ReadRequest { offset, max_bytes: LOAD_BUFFER_BYTES, end_offset, at_least_one_batch: true, include_aborted: false };
    let read = partition.log().lock().read(request)?;
    let Some(slice) = read.records else { return Ok(end_offset) };
    let bytes = slice.read()?;
    let mut next_offset = offset;
    for batch in Batches::new(&bytes) {
        let batch = batch?;
        if !batch.header.is_control() {
            replay(shard, partition, &batch)?;
        }
        next_offset = batch.header.next_offset();
    }
    Ok(next_offset)
}

fn replay(shard: &mut TransactionCoordinatorShard, partition: &Partition, batch: &Batch<'_>) -> Result<(), LoadFailure> {
    let topic_partition = partition.topic_partition();
    let mut buffers = DecompressionBuffers::default();
    let mut records = RecordReader::new(batch, &mut buffers)?;
    while let Some(record) = records.next_record()? {
        let Some(key) = record.key else {
            tracing::warn!(%topic_partition, offset = record.offset, "a record without a key was skipped");
            continue;
        };
        match shard.replay(Bytes::copy_from_slice(key), record.value.map(Bytes::copy_from_slice)) {
            Ok(()) => {}
            Err(error @ (TransactionRecordError::UnknownType(_) | TransactionRecordError::UnknownVersion(_))) => {
                tracing::warn!(%topic_partition, offset = record.offset, %error, "a record was skipped");
            }
            Err(error @ (TransactionRecordError::Decode(_) | TransactionRecordError::UnknownState(_))) => return Err(error.into()),
        }
    }
    Ok(())
}
