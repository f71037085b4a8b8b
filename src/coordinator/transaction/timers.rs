//! What happens by itself: transactions that are open for too long are aborted, idle transactional ids forgotten, and markers tried again.

use std::sync::Arc;

use super::outcome::{TransactionContext, TransactionOutcome};
use super::record;
use super::shard::{PendingChange, PendingWrite, TransactionCoordinatorShard};
use super::state::TransactionState;

/// How many bytes of transactional ids are forgotten in one batch.
const TOMBSTONES_BYTES_MAX: usize = 16 * 1024;

impl TransactionCoordinatorShard {
    /// When [`TransactionCoordinatorShard::tick`] has something to do next, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let has_open = self.transactions.values().any(|transaction| transaction.metadata.state == TransactionState::Ongoing);
        let abort_check = has_open.then_some(self.next_abort_check_ms);
        let expiry_check = (!self.transactions.is_empty()).then_some(self.next_expiry_check_ms);
        [abort_check, expiry_check, self.next_retry_ms()].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn tick(&mut self, context: &TransactionContext) -> TransactionOutcome {
        let mut outcome = TransactionOutcome::default();
        self.retry_completions(context, &mut outcome);
        if context.now_ms >= self.next_abort_check_ms {
            self.abort_timed_out(context, &mut outcome);
            if !outcome.needs_producer_id {
                self.next_abort_check_ms = context.now_ms + i64::from(self.config.abort_timed_out_interval_ms);
            }
        }
        if context.now_ms >= self.next_expiry_check_ms {
            self.remove_expired(context, &mut outcome);
            self.next_expiry_check_ms = context.now_ms + i64::from(self.config.remove_expired_interval_ms);
        }
        outcome
    }

    fn abort_timed_out(&mut self, context: &TransactionContext, outcome: &mut TransactionOutcome) {
        let timed_out = self
            .transactions
            .iter()
            .filter(|(_, transaction)| transaction.pending.is_none() && transaction.metadata.is_timed_out(context.now_ms));
        let timed_out: Vec<Arc<str>> = timed_out.map(|(id, _)| id.clone()).collect();
        for transactional_id in timed_out {
            outcome.append(self.abort_by_fence(context, &transactional_id, None));
        }
    }

    fn remove_expired(&mut self, context: &TransactionContext, outcome: &mut TransactionOutcome) {
        let expired_before_ms = context.now_ms - i64::from(self.config.transactional_id_expiration_ms);
        let mut records = Vec::new();
        let mut removed = Vec::new();
        let mut bytes = 0;
        let expired = self.transactions.iter().filter(|(_, transaction)| {
            transaction.pending.is_none()
                && transaction.metadata.state.is_over()
                && transaction.metadata.last_update_timestamp_ms <= expired_before_ms
        });
        let expired: Vec<Arc<str>> = expired.map(|(id, _)| id.clone()).collect();
        for transactional_id in expired {
            let tombstone = record::tombstone(&transactional_id).expect("the transactional id was written before");
            bytes += tombstone.key.len();
            records.push(tombstone);
            if let Some(transaction) = self.transactions.get_mut(&transactional_id) {
                transaction.pending = Some(TransactionState::Dead);
            }
            removed.push(transactional_id);
            if bytes >= TOMBSTONES_BYTES_MAX {
                bytes = 0;
                let change = PendingChange::Removal(std::mem::take(&mut removed));
                self.write(std::mem::take(&mut records), PendingWrite { change, reply: None }, outcome);
            }
        }
        if !records.is_empty() {
            self.write(records, PendingWrite { change: PendingChange::Removal(removed), reply: None }, outcome);
        }
    }
}
