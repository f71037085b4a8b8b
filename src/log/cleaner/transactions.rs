//! Which transactional batches and markers may go (`CleanedTransactionMetadata`). Pure; is told of batches in the order of the log.

use std::collections::{HashMap, HashSet, VecDeque};

use ottla_record::BatchHeader;

use crate::index::AbortedTransaction;

#[derive(Debug)]
struct OngoingAborted {
    transaction: AbortedTransaction,
    has_batches: bool,
}

/// The transactions that are open where the walk stands.
#[derive(Debug)]
pub(super) struct Transactions {
    committed: HashSet<i64>,
    aborted: HashMap<i64, OngoingAborted>,
    /// By first offset.
    ahead: VecDeque<AbortedTransaction>,
}

/// What becomes of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// It is needed.
    Keep,
    /// It is needed, and so is the entry in the transaction index.
    KeepAborted(AbortedTransaction),
    /// None of its transaction's records is left.
    Discardable,
}

impl Transactions {
    /// Given all aborted transactions that reach into the range that is walked.
    pub(super) fn new(mut aborted: Vec<AbortedTransaction>) -> Transactions {
        aborted.sort_unstable_by_key(|transaction| transaction.first_offset);
        Transactions { committed: HashSet::new(), aborted: HashMap::new(), ahead: aborted.into() }
    }

    fn advance(&mut self, offset: i64) {
        while let Some(transaction) = self.ahead.pop_front_if(|next| next.first_offset <= offset) {
            self.aborted.entry(transaction.producer_id).or_insert(OngoingAborted { transaction, has_batches: false });
        }
    }

    /// Whether a data batch belongs to an aborted transaction.
    pub(super) fn on_data(&mut self, header: &BatchHeader) -> bool {
        self.advance(header.last_offset());
        if !header.is_transactional() {
            return false;
        }
        match self.aborted.get_mut(&header.producer_id) {
            Some(ongoing) => {
                ongoing.has_batches = true;
                true
            }
            None => {
                self.committed.insert(header.producer_id);
                false
            }
        }
    }

    /// What becomes of a control batch, given whether its marker aborts; `None` when it holds another kind of record.
    pub(super) fn on_marker(&mut self, header: &BatchHeader, is_abort: Option<bool>) -> Marker {
        self.advance(header.last_offset());
        if header.records_count == 0 {
            return Marker::Discardable;
        }
        match is_abort {
            Some(true) => match self.aborted.remove(&header.producer_id) {
                Some(ongoing) if ongoing.has_batches => Marker::KeepAborted(ongoing.transaction),
                Some(_) | None => Marker::Discardable,
            },
            Some(false) if self.committed.remove(&header.producer_id) => Marker::Keep,
            Some(false) => Marker::Discardable,
            None => Marker::Keep,
        }
    }
}
