//! The group coordinator: one [`GroupCoordinatorShard`] for each partition of `__consumer_offsets` that this broker leads.
//!
//! A shard's life: [`GroupCoordinatorShard::new`], one [`GroupCoordinatorShard::replay`] per record of the partition,
//! [`GroupCoordinatorShard::on_loaded`], then requests and [`GroupCoordinatorShard::tick`]s until
//! [`GroupCoordinatorShard::on_unloaded`] gives back every request that still waits. Each call returns an [`Outcome`]; its runtime
//! sends the replies at once and appends the writes, in order, before the next call:
//!
//! ```text
//! request ──> shard ──> Outcome { replies, writes, events }
//!                                   │        └─ append ─> on_write_appended(id, base offset) | on_write_failed(id, error)
//!                                   └─ send                    └─ high watermark passes ─> on_high_watermark ─> Outcome
//! ```
//!
//! What must wait for its records waits inside of the shard. State that the log holds changes only in `replay` and
//! `on_write_appended`; the membership of a classic group is soft state that the log follows, as in Kafka.

mod classic;
mod config;
mod delete_groups;
mod effects;
mod events;
mod group_map;
mod handle;
mod list_groups;
mod offsets;
mod outcome;
mod partition;
mod record;
mod record_type;
mod replay;
mod request;
mod shard;
mod timers;
mod write_effects;
mod write_errors;
mod writes;

pub use config::GroupCoordinatorConfig;
pub use events::GroupEvent;
pub use offsets::{DeletedTopic, TransactionResult, offset_fetch_error, offset_fetch_groups, offset_fetch_response};
pub use outcome::{CoordinatorRecord, Outcome, Reply, RequestContext, RequestToken, Response, TransactionalProducer, Write, WriteId};
pub use partition::partition_for_group;
pub use record_type::{GroupType, RecordType};
pub use replay::{RecordOrigin, ReplayError, Replayed};
pub use request::GroupRequest;
pub use shard::GroupCoordinatorShard;
pub use write_errors::append_error_to_response_error;

#[cfg(test)]
mod tests;
