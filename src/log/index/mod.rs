//! The three indexes beside a segment, in Kafka's formats: from offsets to positions, from timestamps to offsets, and the aborted
//! transactions. Nothing is mapped into memory: the newest entries are held until they are written, older ones are read when needed.

mod entry_file;
mod offset_index;
mod time_index;
mod transaction_index;

pub(crate) use offset_index::{OffsetIndex, OffsetPosition};
pub(crate) use time_index::{TimeIndex, TimestampOffset};
pub use transaction_index::AbortedTransaction;
pub(crate) use transaction_index::TransactionIndex;
