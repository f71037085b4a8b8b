//! The end of a transaction: by EndTxn, by a new instance of its producer, or by its timeout (`TransactionCoordinator.endTransaction`).
//!
//! What EndTxn gets where there is no open transaction, `retry` being the epoch before the present one:
//!
//! | state | version 0: abort, commit | version 2: abort retry, abort, commit retry, commit |
//! |---|---|---|
//! | `Empty` | INVALID_TXN_STATE both | PRODUCER_FENCED, bump, PRODUCER_FENCED, INVALID_TXN_STATE |
//! | `CompleteAbort` | none, INVALID_TXN_STATE | none, bump, INVALID_TXN_STATE both |
//! | `CompleteCommit` | INVALID_TXN_STATE, none | INVALID_TXN_STATE, bump, none, INVALID_TXN_STATE |

use std::sync::Arc;

use ottla_model::ErrorCode;

use super::init_producer_id::refused;
use super::metadata::{Ending, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TransactionMetadata, supports_epoch_bump};
use super::outcome::{ProducerIdAndEpoch, TransactionContext, TransactionOutcome, TransactionReply};
use super::shard::{PendingChange, Transaction, TransactionCoordinatorShard};
use super::state::TransactionState;
use crate::group::{RequestToken, TransactionResult};

/// What EndTxn comes to.
enum Verdict {
    /// The transaction ends. Without partitions there was none, and the epoch is bumped all the same.
    End { is_without_partitions: bool },
    /// It has ended already, and the answer is given again.
    AlreadyEnded,
}

impl TransactionCoordinatorShard {
    pub(super) fn end_transaction(
        &mut self,
        context: &TransactionContext,
        token: RequestToken,
        (transactional_id, producer): (&str, ProducerIdAndEpoch),
        result: TransactionResult,
        client_transaction_version: i16,
    ) -> TransactionOutcome {
        if transactional_id.is_empty() {
            return refused(token, ErrorCode::InvalidRequest);
        }
        let Some((transactional_id, transaction)) = self.transactions.get_key_value(transactional_id) else {
            return refused(token, ErrorCode::InvalidProducerIdMapping);
        };
        let transactional_id = transactional_id.clone();
        let bumps = supports_epoch_bump(client_transaction_version);
        let judged = if bumps { judge_with_bump(transaction, producer, result) } else { judge(transaction, producer, result) };
        let is_without_partitions = match judged {
            Err(error) => return refused(token, error),
            Ok(Verdict::AlreadyEnded) => {
                let told = if bumps { transaction.metadata.producer() } else { ProducerIdAndEpoch::NONE };
                let reply = TransactionReply { token, result: Ok(told) };
                return TransactionOutcome { replies: vec![reply], ..TransactionOutcome::default() };
            }
            Ok(Verdict::End { is_without_partitions }) => is_without_partitions,
        };
        let client_transaction_version = if bumps { client_transaction_version } else { 0 };
        let Some(next_producer_id) = self.next_producer_id(&transactional_id, bumps) else {
            return TransactionOutcome { needs_producer_id: true, ..TransactionOutcome::default() };
        };
        let ending = Ending { result, client_transaction_version, next_producer_id, now_ms: context.now_ms, is_without_partitions };
        let prepared = self.transactions[&transactional_id].metadata.prepared(&ending);
        let told = if bumps { prepared.completed(context.now_ms).producer() } else { ProducerIdAndEpoch::NONE };
        let mut outcome = TransactionOutcome::default();
        let change = PendingChange::Transition { transactional_id, to: prepared, is_fence: false };
        self.write_transition(context, change, Some(TransactionReply { token, result: Ok(told) }), &mut outcome);
        outcome
    }

    /// Aborts an open transaction so that its producer can write no more. The cluster's transactions decide how, since no client asks.
    pub(super) fn abort_by_fence(
        &mut self,
        context: &TransactionContext,
        transactional_id: &Arc<str>,
        reply: Option<TransactionReply>,
    ) -> TransactionOutcome {
        let bumps = supports_epoch_bump(context.transaction_version);
        let Some(next_producer_id) = self.next_producer_id(transactional_id, bumps) else {
            return TransactionOutcome { needs_producer_id: true, ..TransactionOutcome::default() };
        };
        let transaction = self.transactions.get_mut(transactional_id).expect("an open transaction is known");
        if !bumps {
            // The bump of version 2 is the fence; before, the epoch is raised for it. One that was raised in vain was never handed out.
            if !transaction.has_failed_epoch_fence {
                transaction.metadata.producer_epoch = transaction.metadata.producer_epoch.saturating_add(1);
            }
            transaction.metadata.last_producer_epoch = NO_PRODUCER_EPOCH;
        }
        let ending = Ending {
            result: TransactionResult::Abort,
            client_transaction_version: if bumps { context.transaction_version } else { 0 },
            next_producer_id,
            now_ms: context.now_ms,
            is_without_partitions: false,
        };
        let prepared = transaction.metadata.prepared(&ending);
        let mut outcome = TransactionOutcome::default();
        let change = PendingChange::Transition { transactional_id: transactional_id.clone(), to: prepared, is_fence: !bumps };
        self.write_transition(context, change, reply, &mut outcome);
        outcome
    }

    /// The id that follows a transaction whose bump uses up the epochs, -1 where none is needed; `None` if it must be supplied first.
    fn next_producer_id(&mut self, transactional_id: &str, bumps: bool) -> Option<i64> {
        if bumps && self.transactions[transactional_id].metadata.is_epoch_exhausted() {
            self.spare_producer_id.take()
        } else {
            Some(NO_PRODUCER_ID)
        }
    }
}

fn judge(transaction: &Transaction, producer: ProducerIdAndEpoch, result: TransactionResult) -> Result<Verdict, ErrorCode> {
    let metadata = &transaction.metadata;
    if metadata.producer_id != producer.producer_id {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if metadata.producer_epoch != producer.producer_epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    if transaction.pending.is_some() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    match (metadata.state, result) {
        (TransactionState::Ongoing, _) => Ok(Verdict::End { is_without_partitions: false }),
        (TransactionState::CompleteCommit, TransactionResult::Commit) | (TransactionState::CompleteAbort, TransactionResult::Abort) => {
            Ok(Verdict::AlreadyEnded)
        }
        (state, result) => Err(refusal(state, result)),
    }
}

fn judge_with_bump(transaction: &Transaction, producer: ProducerIdAndEpoch, result: TransactionResult) -> Result<Verdict, ErrorCode> {
    let metadata = &transaction.metadata;
    if transaction.pending.is_some() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    let is_retry_of_rotation = is_retry_of_rotation(metadata, producer);
    let is_retry = i32::from(metadata.producer_epoch) == i32::from(producer.producer_epoch) + 1 || is_retry_of_rotation;
    if metadata.producer_id != producer.producer_id && !is_retry_of_rotation {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    let is_current = metadata.producer_epoch == producer.producer_epoch;
    let is_valid_epoch = match metadata.state {
        TransactionState::PrepareCommit | TransactionState::PrepareAbort => is_retry && !is_retry_of_rotation,
        TransactionState::CompleteCommit | TransactionState::CompleteAbort => is_retry || is_current,
        TransactionState::Empty | TransactionState::Ongoing | TransactionState::Dead | TransactionState::PrepareEpochFence => is_current,
    };
    if !is_valid_epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    match (metadata.state, result) {
        (TransactionState::Ongoing, _) => Ok(Verdict::End { is_without_partitions: false }),
        (TransactionState::CompleteCommit, TransactionResult::Commit) | (TransactionState::CompleteAbort, TransactionResult::Abort)
            if is_retry =>
        {
            Ok(Verdict::AlreadyEnded)
        }
        (TransactionState::CompleteCommit | TransactionState::CompleteAbort, TransactionResult::Abort) if !is_retry => {
            Ok(Verdict::End { is_without_partitions: true })
        }
        (TransactionState::Empty, TransactionResult::Abort) => Ok(Verdict::End { is_without_partitions: true }),
        (state, result) => Err(refusal(state, result)),
    }
}

/// Whether a producer that did not hear of its new id asks again.
fn is_retry_of_rotation(metadata: &TransactionMetadata, producer: ProducerIdAndEpoch) -> bool {
    metadata.previous_producer_id == producer.producer_id && producer.producer_epoch == i16::MAX - 1 && metadata.producer_epoch == 0
}

fn refusal(state: TransactionState, result: TransactionResult) -> ErrorCode {
    match (state, result) {
        (TransactionState::PrepareCommit, TransactionResult::Commit) | (TransactionState::PrepareAbort, TransactionResult::Abort) => {
            ErrorCode::ConcurrentTransactions
        }
        _ => ErrorCode::InvalidTxnState,
    }
}
