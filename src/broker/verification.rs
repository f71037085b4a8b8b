//! What has to be known of a transaction before its first batch goes into a partition: that the partition takes part in it (KIP-890). The
//! transaction's coordinator is asked, or with newer clients told to add the partition (`AddPartitionsToTxnManager`).

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_coordinator::transaction::{ProducerIdAndEpoch, TransactionRequest};
use ottla_log::{TransactionStart, VerificationGuard};
use ottla_model::ErrorCode;

use crate::broker::Broker;
use crate::partition::Partition;

/// What a client can make of a transaction that is not what it believes, by the version of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportedErrors {
    /// It has to fail: INVALID_TXN_STATE.
    Old,
    /// It can abort: TRANSACTION_ABORTABLE.
    Abortable,
    /// It can abort, and leaves it to the broker to add partitions.
    AddsPartition,
}

/// A batch that wants into a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// The producer's name.
    pub transactional_id: &'a str,
    /// Its id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The batch's first sequence.
    pub base_sequence: i32,
    /// By the version of the request.
    pub errors: SupportedErrors,
}

/// Makes sure that the partition takes part in the transaction; what is returned goes along with the append. No lock may be held.
pub fn join_transaction(
    broker: &Arc<Broker>,
    partition: &Partition,
    joining: &Joining<'_>,
    now_ms: i64,
) -> Result<Option<VerificationGuard>, ErrorCode> {
    let adds_partition = joining.errors == SupportedErrors::AddsPartition;
    if !adds_partition && !broker.config().transaction_partition_verification_enable {
        return Ok(None);
    }
    let start = TransactionStart {
        producer_id: joining.producer_id,
        producer_epoch: joining.producer_epoch,
        base_sequence: joining.base_sequence,
        supports_epoch_bump: adds_partition,
    };
    let started = partition.log().lock().start_transaction_verification(&start, now_ms);
    let Some(guard) = started.map_err(|error| error.code())? else { return Ok(None) };
    let asked = if adds_partition { add(broker, partition, joining, now_ms) } else { verify(broker, partition, joining) };
    match asked {
        Ok(()) => Ok(Some(guard)),
        Err(ErrorCode::ProducerFenced) => Err(ErrorCode::InvalidProducerEpoch),
        Err(ErrorCode::TransactionAbortable) if joining.errors == SupportedErrors::Old => Err(ErrorCode::InvalidTxnState),
        Err(error) => Err(error),
    }
}

fn producer(joining: &Joining<'_>) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { producer_id: joining.producer_id, producer_epoch: joining.producer_epoch }
}

fn add(broker: &Arc<Broker>, partition: &Partition, joining: &Joining<'_>, now_ms: i64) -> Result<(), ErrorCode> {
    let request = TransactionRequest::AddPartitions {
        transactional_id: joining.transactional_id.to_owned(),
        producer: producer(joining),
        partitions: BTreeSet::from([partition.topic_partition().clone()]),
        client_transaction_version: 2,
    };
    broker.transactions().add_partitions(broker, &request, now_ms)
}

fn verify(broker: &Arc<Broker>, partition: &Partition, joining: &Joining<'_>) -> Result<(), ErrorCode> {
    let partitions = BTreeSet::from([partition.topic_partition().clone()]);
    let verified = broker.transactions().verify_partitions(broker, (joining.transactional_id, producer(joining)), &partitions)?;
    match verified.into_iter().map(|(_, error)| error).find(|error| *error != ErrorCode::None) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
