//! The transaction coordinator: one [`TransactionCoordinatorShard`] for each partition of `__transaction_state` that this broker leads.
//!
//! A shard's life: [`TransactionCoordinatorShard::new`], one [`TransactionCoordinatorShard::replay`] per record,
//! [`TransactionCoordinatorShard::on_loaded`], then requests and ticks until [`TransactionCoordinatorShard::on_unloaded`]. Each call
//! returns a [`TransactionOutcome`]: replies to send, records to append (`on_write_committed` or `on_write_failed` tell what became of
//! them), and markers to write into the partitions of a transaction whose end is recorded (`on_markers_written`).
//!
//! A step makes a transaction *pending*; its metadata changes when the step's record is committed. Meanwhile requests about it are
//! answered CONCURRENT_TRANSACTIONS.

mod add_partitions;
mod config;
mod describe;
mod end_transaction;
mod init_producer_id;
mod metadata;
mod outcome;
mod record;
mod shard;
mod state;
mod timers;

pub use config::TransactionCoordinatorConfig;
pub use describe::TransactionFilter;
pub use init_producer_id::validate_init_producer_id;
pub use outcome::{
    ProducerIdAndEpoch, TransactionContext, TransactionMarkers, TransactionOutcome, TransactionReply, TransactionRequest, TransactionWrite,
};
pub use record::TransactionRecordError;
pub use shard::TransactionCoordinatorShard;
pub use state::TransactionState;

/// Which partition of `__transaction_state` a transactional id lives in, by the rule of groups.
pub fn partition_for_transactional_id(transactional_id: &str, partition_count: i32) -> i32 {
    crate::group::partition_for_group(transactional_id, partition_count)
}

#[cfg(test)]
mod tests;
