//! One transaction coordinator: the transactional ids of one partition of `__transaction_state`, and the life of their writes and markers.
//! What each request decides is in the modules beside.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_model::{ErrorCode, TopicPartition};

use super::config::TransactionCoordinatorConfig;
use super::metadata::{NO_PRODUCER_EPOCH, TransactionMetadata};
use super::outcome::{TransactionContext, TransactionMarkers, TransactionOutcome, TransactionReply, TransactionRequest, TransactionWrite};
use super::record::{self, TransactionRecordError};
use super::state::TransactionState;
use crate::group::{CoordinatorRecord, RequestToken, TransactionResult, WriteId};

/// How long to wait before markers or records that could not be written are tried again, in milliseconds.
const RETRY_BACKOFF_MS: i64 = 100;

/// A transactional id as it is held in memory.
#[derive(Clone, Debug)]
pub(super) struct Transaction {
    /// What the log says.
    pub metadata: TransactionMetadata,
    /// The state that a step on its way leads to. Until it is there, requests are told to come again.
    pub pending: Option<TransactionState>,
    /// The epoch was raised to fence a producer, but that could not be written. It was never handed out, so the next fence uses it.
    pub has_failed_epoch_fence: bool,
}

/// A write on its way.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub change: PendingChange,
    /// What is answered once it is there.
    pub reply: Option<TransactionReply>,
}

/// What a write changes.
#[derive(Debug)]
pub(super) enum PendingChange {
    /// A transactional id gets new metadata.
    Transition { transactional_id: Arc<str>, to: TransactionMetadata, is_fence: bool },
    /// Transactional ids are forgotten.
    Removal(Vec<Arc<str>>),
}

/// A decided transaction whose markers are not all written, or whose end is not.
#[derive(Debug)]
pub(super) struct Completion {
    /// When to try again; `None` while a try is under way.
    retry_at_ms: Option<i64>,
}

/// The coordinator of the transactional ids of one partition.
#[derive(Debug)]
pub struct TransactionCoordinatorShard {
    pub(super) config: TransactionCoordinatorConfig,
    pub(super) coordinator_epoch: i32,
    pub(super) transactions: BTreeMap<Arc<str>, Transaction>,
    pub(super) spare_producer_id: Option<i64>,
    writes: BTreeMap<WriteId, PendingWrite>,
    completions: BTreeMap<Arc<str>, Completion>,
    next_write_id: u64,
    pub(super) next_abort_check_ms: i64,
    pub(super) next_expiry_check_ms: i64,
}

impl TransactionCoordinatorShard {
    /// A coordinator that knows nothing yet. `coordinator_epoch` is the leader epoch of its partition, which its markers carry.
    pub fn new(config: TransactionCoordinatorConfig, coordinator_epoch: i32) -> TransactionCoordinatorShard {
        TransactionCoordinatorShard {
            config,
            coordinator_epoch,
            transactions: BTreeMap::new(),
            spare_producer_id: None,
            writes: BTreeMap::new(),
            completions: BTreeMap::new(),
            next_write_id: 0,
            next_abort_check_ms: 0,
            next_expiry_check_ms: 0,
        }
    }

    /// How many transactional ids there are.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Applies a record of the log.
    pub fn replay(&mut self, key: Bytes, value: Option<Bytes>) -> Result<(), TransactionRecordError> {
        let record = record::decode(key, value)?;
        let transactional_id: Arc<str> = record.transactional_id.into();
        match record.metadata {
            Some(metadata) => {
                let transaction = Transaction { metadata, pending: None, has_failed_epoch_fence: false };
                self.transactions.insert(transactional_id, transaction);
            }
            None => {
                self.transactions.remove(&transactional_id);
            }
        }
        Ok(())
    }

    /// The whole partition was replayed: what was decided and not completed goes on.
    pub fn on_loaded(&mut self, context: &TransactionContext) -> TransactionOutcome {
        self.next_abort_check_ms = context.now_ms + i64::from(self.config.abort_timed_out_interval_ms);
        self.next_expiry_check_ms = context.now_ms + i64::from(self.config.remove_expired_interval_ms);
        let prepared: Vec<Arc<str>> =
            self.transactions.iter().filter(|(_, each)| each.metadata.state.is_prepared()).map(|(id, _)| id.clone()).collect();
        let mut outcome = TransactionOutcome::default();
        for transactional_id in prepared {
            self.complete(context, &transactional_id, &mut outcome);
        }
        outcome
    }

    /// The partition is led elsewhere from now on: whoever waits is sent there.
    pub fn on_unloaded(self) -> Vec<TransactionReply> {
        let waiting = self.writes.into_values().filter_map(|write| write.reply);
        waiting.map(|reply| TransactionReply { result: Err(ErrorCode::NotCoordinator), ..reply }).collect()
    }

    /// Gives the coordinator an id that it asked for (`needs_producer_id`).
    pub fn supply_producer_id(&mut self, producer_id: i64) {
        self.spare_producer_id = Some(producer_id);
    }

    /// Decides on a request, which gets one reply, now or when its record is written.
    pub fn handle(&mut self, context: &TransactionContext, token: RequestToken, request: &TransactionRequest) -> TransactionOutcome {
        match request {
            TransactionRequest::InitProducerId { transactional_id, transaction_timeout_ms, expected } => {
                self.init_producer_id(context, token, transactional_id, *transaction_timeout_ms, *expected)
            }
            TransactionRequest::AddPartitions { transactional_id, producer, partitions, client_transaction_version } => {
                self.add_partitions(context, token, (transactional_id, *producer), partitions, *client_transaction_version)
            }
            TransactionRequest::End { transactional_id, producer, result, client_transaction_version } => {
                self.end_transaction(context, token, (transactional_id, *producer), *result, *client_transaction_version)
            }
        }
    }

    /// The write is committed: what it says is the state.
    pub fn on_write_committed(&mut self, context: &TransactionContext, id: WriteId) -> TransactionOutcome {
        let mut outcome = TransactionOutcome::default();
        let Some(write) = self.writes.remove(&id) else { return outcome };
        outcome.replies.extend(write.reply);
        match write.change {
            PendingChange::Transition { transactional_id, to, .. } => {
                let is_prepared = to.state.is_prepared();
                let transaction = self.transactions.get_mut(&transactional_id).expect("a transaction with a pending step is not removed");
                transaction.metadata = to;
                transaction.pending = None;
                if is_prepared {
                    self.complete(context, &transactional_id, &mut outcome);
                } else {
                    self.completions.remove(&transactional_id);
                }
            }
            PendingChange::Removal(transactional_ids) => {
                for transactional_id in transactional_ids {
                    self.transactions.remove(&transactional_id);
                }
            }
        }
        outcome
    }

    /// The write could not be appended; `error` is the log's.
    pub fn on_write_failed(&mut self, context: &TransactionContext, id: WriteId, error: ErrorCode) -> TransactionOutcome {
        let mut outcome = TransactionOutcome::default();
        let Some(write) = self.writes.remove(&id) else { return outcome };
        match write.change {
            PendingChange::Transition { transactional_id, is_fence, .. } => {
                if let Some(completion) = self.completions.get_mut(&transactional_id) {
                    // All markers are written: the end must follow, whatever it takes.
                    completion.retry_at_ms = Some(context.now_ms + RETRY_BACKOFF_MS);
                } else if let Some(transaction) = self.transactions.get_mut(&transactional_id) {
                    transaction.pending = None;
                    transaction.has_failed_epoch_fence |= is_fence;
                }
            }
            PendingChange::Removal(transactional_ids) => {
                for transactional_id in transactional_ids {
                    if let Some(transaction) = self.transactions.get_mut(&transactional_id) {
                        transaction.pending = None;
                    }
                }
            }
        }
        let result = Err(append_error_to_response_error(error));
        outcome.replies.extend(write.reply.map(|reply| TransactionReply { result, ..reply }));
        outcome
    }

    /// Markers were written, but not into the partitions that `remain`.
    pub fn on_markers_written(
        &mut self,
        context: &TransactionContext,
        transactional_id: &str,
        remain: &[TopicPartition],
    ) -> TransactionOutcome {
        let mut outcome = TransactionOutcome::default();
        let Some((transactional_id, _)) = self.completions.get_key_value(transactional_id) else { return outcome };
        let transactional_id = transactional_id.clone();
        let Some(transaction) = self.transactions.get_mut(&transactional_id) else { return outcome };
        transaction.metadata.partitions.retain(|partition| remain.contains(partition));
        if transaction.metadata.partitions.is_empty() {
            self.complete(context, &transactional_id, &mut outcome);
        } else {
            let retry_at_ms = Some(context.now_ms + RETRY_BACKOFF_MS);
            self.completions.insert(transactional_id, Completion { retry_at_ms });
        }
        outcome
    }

    /// Takes the next step of a decided transaction: its markers, or with all of them written its end.
    fn complete(&mut self, context: &TransactionContext, transactional_id: &Arc<str>, outcome: &mut TransactionOutcome) {
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        let completed = transaction.metadata.completed(context.now_ms);
        transaction.has_failed_epoch_fence = false;
        transaction.pending = Some(completed.state);
        self.completions.insert(transactional_id.clone(), Completion { retry_at_ms: None });
        if transaction.metadata.partitions.is_empty() {
            let change = PendingChange::Transition { transactional_id: transactional_id.clone(), to: completed, is_fence: false };
            return self.write_transition(context, change, None, outcome);
        }
        let metadata = &transaction.metadata;
        outcome.markers.push(TransactionMarkers {
            transactional_id: transactional_id.clone(),
            producer: metadata.producer(),
            result: match metadata.state {
                TransactionState::PrepareCommit => TransactionResult::Commit,
                _ => TransactionResult::Abort,
            },
            coordinator_epoch: self.coordinator_epoch,
            transaction_version: metadata.client_transaction_version,
            partitions: metadata.partitions.clone(),
        });
    }

    /// Tries again what is due of the completions.
    pub(super) fn retry_completions(&mut self, context: &TransactionContext, outcome: &mut TransactionOutcome) {
        let due = self.completions.iter().filter(|(_, completion)| completion.retry_at_ms.is_some_and(|at_ms| at_ms <= context.now_ms));
        let due: Vec<Arc<str>> = due.map(|(id, _)| id.clone()).collect();
        for transactional_id in due {
            self.complete(context, &transactional_id, outcome);
        }
    }

    pub(super) fn next_retry_ms(&self) -> Option<i64> {
        self.completions.values().filter_map(|completion| completion.retry_at_ms).min()
    }

    /// Begins the write of a step; the transaction is pending until it is there.
    pub(super) fn write_transition(
        &mut self,
        context: &TransactionContext,
        change: PendingChange,
        reply: Option<TransactionReply>,
        outcome: &mut TransactionOutcome,
    ) {
        let PendingChange::Transition { transactional_id, to, .. } = &change else { return };
        debug_assert!(to.producer_epoch != NO_PRODUCER_EPOCH, "nothing is written before the first epoch");
        let Ok(record) = record::encode(transactional_id, to, context.transaction_version) else {
            // A name of the request does not fit a record.
            let result = Err(ErrorCode::UnknownServerError);
            outcome.replies.extend(reply.map(|reply| TransactionReply { result, ..reply }));
            return;
        };
        if let Some(transaction) = self.transactions.get_mut(transactional_id) {
            transaction.pending = Some(to.state);
        }
        self.write(vec![record], PendingWrite { change, reply }, outcome);
    }

    pub(super) fn write(&mut self, records: Vec<CoordinatorRecord>, pending: PendingWrite, outcome: &mut TransactionOutcome) {
        let id = WriteId(self.next_write_id);
        self.next_write_id += 1;
        self.writes.insert(id, pending);
        outcome.writes.push(TransactionWrite { id, records });
    }
}

/// The coordinator's word for an error of its partition (`TransactionStateManager.appendTransactionToLog`).
fn append_error_to_response_error(error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::UnknownTopicOrPartition
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::RequestTimedOut => ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotLeaderOrFollower | ErrorCode::KafkaStorageError => ErrorCode::NotCoordinator,
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => ErrorCode::UnknownServerError,
        error => error,
    }
}
