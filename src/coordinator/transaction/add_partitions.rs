//! AddPartitionsToTxn and AddOffsetsToTxn, and the question of partition leaders whether a partition takes part (KIP-890).

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition};

use super::init_producer_id::refused;
use super::metadata::TransactionMetadata;
use super::outcome::{ProducerIdAndEpoch, TransactionContext, TransactionOutcome, TransactionReply};
use super::shard::{PendingChange, TransactionCoordinatorShard};
use super::state::TransactionState;
use crate::group::RequestToken;

impl TransactionCoordinatorShard {
    pub(super) fn add_partitions(
        &mut self,
        context: &TransactionContext,
        token: RequestToken,
        (transactional_id, producer): (&str, ProducerIdAndEpoch),
        partitions: &BTreeSet<TopicPartition>,
        client_transaction_version: i16,
    ) -> TransactionOutcome {
        if transactional_id.is_empty() {
            return refused(token, ErrorCode::InvalidRequest);
        }
        let Some(transaction) = self.transactions.get(transactional_id) else {
            return refused(token, ErrorCode::InvalidProducerIdMapping);
        };
        if transaction.pending.is_some() {
            return refused(token, ErrorCode::ConcurrentTransactions);
        }
        let metadata = &transaction.metadata;
        if let Err(error) = check_producer(metadata, producer) {
            return refused(token, error);
        }
        let reply = TransactionReply { token, result: Ok(producer) };
        let mut outcome = TransactionOutcome::default();
        if metadata.state == TransactionState::Ongoing && metadata.partitions.is_superset(partitions) {
            outcome.replies.push(reply);
            return outcome;
        }
        let to = metadata.with_partitions(partitions, client_transaction_version, context.now_ms);
        let change = PendingChange::Transition { transactional_id: Arc::from(transactional_id), to, is_fence: false };
        self.write_transition(context, change, Some(reply), &mut outcome);
        outcome
    }

    /// Whether each of the partitions takes part in the producer's open transaction, or why nothing can be said.
    pub fn verify_partitions(
        &self,
        transactional_id: &str,
        producer: ProducerIdAndEpoch,
        partitions: &BTreeSet<TopicPartition>,
    ) -> Result<Vec<(TopicPartition, ErrorCode)>, ErrorCode> {
        if transactional_id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        // A step on its way does not matter: the log of the partition has the last word.
        let metadata = &self.transactions.get(transactional_id).ok_or(ErrorCode::InvalidProducerIdMapping)?.metadata;
        check_producer(metadata, producer)?;
        let verify = |partition: &TopicPartition| {
            let takes_part = metadata.partitions.contains(partition);
            (partition.clone(), if takes_part { ErrorCode::None } else { ErrorCode::TransactionAbortable })
        };
        Ok(partitions.iter().map(verify).collect())
    }
}

fn check_producer(metadata: &TransactionMetadata, producer: ProducerIdAndEpoch) -> Result<(), ErrorCode> {
    if metadata.producer_id != producer.producer_id {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if metadata.producer_epoch != producer.producer_epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    if metadata.state.is_prepared() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    Ok(())
}
