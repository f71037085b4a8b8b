//! Writes the markers that end a transaction into the partitions that are led here. A partition of `__consumer_offsets` gets its marker
//! through its group coordinator, whose pending offsets it decides on.

use std::sync::Arc;

use ottla_coordinator::group::TransactionResult;
use ottla_coordinator::transaction::ProducerIdAndEpoch;
use ottla_log::{AppendOrigin, TransactionContext};
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_record::{BATCH_OVERHEAD, BatchHeader, EndTransactionMarker};

use crate::broker::Broker;
use crate::partition::Partition;

/// The end of a transaction, as all of its partitions get it.
#[derive(Clone, Copy, Debug)]
pub struct Marker {
    /// The producer.
    pub producer: ProducerIdAndEpoch,
    /// The epoch of the coordinator that decided.
    pub coordinator_epoch: i32,
    /// Commit or abort.
    pub result: TransactionResult,
    /// The transactions that the producer speaks of; a marker of version 2 must raise the epoch.
    pub transaction_version: i16,
}

/// Writes a marker into a partition.
pub fn write_marker(broker: &Arc<Broker>, topic_partition: &TopicPartition, marker: &Marker, now_ms: i64) -> Result<(), ErrorCode> {
    if &*topic_partition.topic == internal_topic::CONSUMER_OFFSETS {
        return broker.groups().write_marker(broker, topic_partition, marker, now_ms);
    }
    let partition = broker.partitions().get_or_error(topic_partition)?;
    append_marker(broker, &partition, marker, now_ms)
}

/// Appends a marker and wakes the fetches that wait for committed records.
pub fn append_marker(broker: &Arc<Broker>, partition: &Partition, marker: &Marker, now_ms: i64) -> Result<(), ErrorCode> {
    partition.check_leader()?;
    let end = EndTransactionMarker {
        result: match marker.result {
            TransactionResult::Commit => ottla_record::TransactionResult::Commit,
            TransactionResult::Abort => ottla_record::TransactionResult::Abort,
        },
        coordinator_epoch: marker.coordinator_epoch,
    };
    let batch =
        end.to_batch(now_ms, marker.producer.producer_id, marker.producer.producer_epoch).map_err(|_| ErrorCode::UnknownServerError)?;
    let header = BatchHeader::parse(&batch).expect("the builder writes whole batches");
    let transaction = TransactionContext { verification_guard: None, transaction_version: marker.transaction_version };
    let appended = partition
        .append_in_transaction(broker, header, &batch[BATCH_OVERHEAD..], (AppendOrigin::Coordinator, transaction), now_ms)
        .map_err(|error| error.code())?;
    if appended.flush_due {
        partition.flush(broker, appended.end_offset, now_ms)?;
    }
    // All that the transaction held back can be read now, however little the marker itself is.
    partition.wake_fetches(broker, i64::MAX);
    Ok(())
}
