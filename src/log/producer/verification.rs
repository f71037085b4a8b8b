//! Transactions that are being verified with their coordinator before they may begin in this partition (KIP-890): only records that
//! follow a verification open a transaction, so that a late one cannot open it again after its end.

use std::collections::HashMap;

use crate::append::VerificationGuard;

/// A producer whose transaction is being verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verification {
    guard: VerificationGuard,
    started_ms: i64,
    producer_epoch: i16,
    /// The lowest sequence of those that wait for the verification: the first one to be appended.
    pub(crate) lowest_sequence: i32,
    /// Whether the producer raises its epoch with each transaction (transactions of version 2).
    pub(crate) supports_epoch_bump: bool,
}

/// What a producer says when it begins a transaction in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionStart {
    /// The producer.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The first sequence of the batch that waits.
    pub base_sequence: i32,
    /// Whether it raises its epoch with each transaction.
    pub supports_epoch_bump: bool,
}

/// The verifications under way, by producer.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    by_producer: HashMap<i64, Verification>,
    last_guard: u64,
}

impl Verifications {
    pub(super) fn get(&self, producer_id: i64) -> Option<&Verification> {
        self.by_producer.get(&producer_id)
    }

    /// Begins a verification, or joins the one that is under way.
    pub(super) fn start(&mut self, start: &TransactionStart, now_ms: i64) -> VerificationGuard {
        let last_guard = &mut self.last_guard;
        let verification = self.by_producer.entry(start.producer_id).or_insert_with(|| {
            *last_guard += 1;
            Verification {
                guard: VerificationGuard(*last_guard),
                started_ms: now_ms,
                producer_epoch: start.producer_epoch,
                lowest_sequence: start.base_sequence,
                supports_epoch_bump: start.supports_epoch_bump,
            }
        });
        if start.producer_epoch == verification.producer_epoch {
            verification.lowest_sequence = verification.lowest_sequence.min(start.base_sequence);
        } else if start.producer_epoch > verification.producer_epoch {
            verification.producer_epoch = start.producer_epoch;
            verification.lowest_sequence = start.base_sequence;
        }
        verification.guard
    }

    /// Whether a guard is of the verification that is under way.
    pub(super) fn accepts(&self, producer_id: i64, guard: Option<VerificationGuard>) -> bool {
        guard.is_some() && self.get(producer_id).map(|verification| verification.guard) == guard
    }

    /// Ends a verification once the transaction has begun, or ended. The marker of a transaction may come after the verification of the
    /// next one, which it must leave alone.
    pub(super) fn end(&mut self, producer_id: i64, producer_epoch: i16, is_marker: bool) {
        let is_of_the_next = self
            .get(producer_id)
            .is_some_and(|verification| verification.supports_epoch_bump && is_marker && verification.producer_epoch == producer_epoch);
        if !is_of_the_next {
            self.by_producer.remove(&producer_id);
        }
    }

    pub(super) fn remove_expired(&mut self, expiration_ms: i64, now_ms: i64) {
        self.by_producer.retain(|_, verification| now_ms - verification.started_ms < expiration_ms);
    }
}
