//! InitProducerId of a transactional producer: who it is from now on, and the end of what an earlier instance left open.

use std::sync::Arc;

use ottla_model::ErrorCode;

use super::config::TransactionCoordinatorConfig;
use super::metadata::TransactionMetadata;
use super::outcome::{ProducerIdAndEpoch, TransactionContext, TransactionOutcome, TransactionReply};
use super::shard::{PendingChange, Transaction, TransactionCoordinatorShard};
use super::state::TransactionState;
use crate::group::RequestToken;

/// What Kafka checks before it looks for the coordinator.
pub fn validate_init_producer_id(
    config: &TransactionCoordinatorConfig,
    transactional_id: &str,
    transaction_timeout_ms: i32,
) -> Result<(), ErrorCode> {
    if transactional_id.is_empty() {
        return Err(ErrorCode::InvalidRequest);
    }
    if !(1..=config.transaction_max_timeout_ms).contains(&transaction_timeout_ms) {
        return Err(ErrorCode::InvalidTransactionTimeout);
    }
    Ok(())
}

impl TransactionCoordinatorShard {
    pub(super) fn init_producer_id(
        &mut self,
        context: &TransactionContext,
        token: RequestToken,
        transactional_id: &str,
        timeout_ms: i32,
        expected: Option<ProducerIdAndEpoch>,
    ) -> TransactionOutcome {
        let transactional_id: Arc<str> = transactional_id.into();
        if !self.transactions.contains_key(&transactional_id) {
            let Some(producer_id) = self.spare_producer_id.take() else {
                return TransactionOutcome { needs_producer_id: true, ..TransactionOutcome::default() };
            };
            let metadata = TransactionMetadata::new(producer_id, timeout_ms, context.now_ms);
            self.transactions.insert(transactional_id.clone(), Transaction { metadata, pending: None, has_failed_epoch_fence: false });
        }
        let transaction = &self.transactions[&transactional_id];
        if transaction.metadata.state == TransactionState::Ongoing
            && transaction.pending.is_none()
            && expected.is_none_or(|expected| transaction.metadata.accepts_producer(expected))
        {
            // What an earlier instance left open is aborted first. The client asks again, and gets the epoch after the one that fences.
            let reply = TransactionReply { token, result: Err(ErrorCode::ConcurrentTransactions) };
            return self.abort_by_fence(context, &transactional_id, Some(reply));
        }
        let metadata = match self.begin_again(context, &transactional_id, timeout_ms, expected) {
            Ok(Some(metadata)) => metadata,
            Ok(None) => return TransactionOutcome { needs_producer_id: true, ..TransactionOutcome::default() },
            Err(error) => return refused(token, error),
        };
        let mut outcome = TransactionOutcome::default();
        let reply = TransactionReply { token, result: Ok(metadata.producer()) };
        let change = PendingChange::Transition { transactional_id, to: metadata, is_fence: false };
        self.write_transition(context, change, Some(reply), &mut outcome);
        outcome
    }

    /// The producer's next metadata; `None` if its epochs are used up and an id is needed first.
    fn begin_again(
        &mut self,
        context: &TransactionContext,
        transactional_id: &str,
        timeout_ms: i32,
        expected: Option<ProducerIdAndEpoch>,
    ) -> Result<Option<TransactionMetadata>, ErrorCode> {
        let transaction = &self.transactions[transactional_id];
        let metadata = &transaction.metadata;
        if transaction.pending.is_some() {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        if expected.is_some_and(|expected| !metadata.accepts_producer(expected)) {
            return Err(ErrorCode::ProducerFenced);
        }
        if metadata.state.is_prepared() {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        let rotates = metadata.is_epoch_exhausted() && expected.is_none_or(|expected| expected.producer_epoch == metadata.producer_epoch);
        if !rotates {
            if metadata.is_epoch_exhausted() {
                // No epoch is left, and the one that the producer names is not the present one. Kafka has no better word for it.
                return Err(ErrorCode::UnknownServerError);
            }
            return metadata.with_next_epoch(timeout_ms, expected.map(|expected| expected.producer_epoch), context.now_ms).map(Some);
        }
        let Some(producer_id) = self.spare_producer_id.take() else { return Ok(None) };
        Ok(Some(metadata.with_new_producer_id(producer_id, timeout_ms, expected.is_some(), context.now_ms)))
    }
}

/// An outcome that is only an error.
pub(super) fn refused(token: RequestToken, error: ErrorCode) -> TransactionOutcome {
    TransactionOutcome { replies: vec![TransactionReply { token, result: Err(error) }], ..TransactionOutcome::default() }
}
