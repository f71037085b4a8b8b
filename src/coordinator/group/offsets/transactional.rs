//! The end of transactions that committed offsets.

use super::store::TransactionResult;
use crate::group::shard::GroupCoordinatorShard;

impl GroupCoordinatorShard {
    /// Applies the marker that ends the producer's transaction, be it while loading or once it is written.
    pub fn replay_end_transaction_marker(&mut self, producer_id: i64, result: TransactionResult) {
        self.offsets.end_transaction(producer_id, result);
    }
}
