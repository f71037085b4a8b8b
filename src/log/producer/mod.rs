//! What a log remembers of its idempotent and transactional producers: it tells duplicates, gaps and fenced producers, and which
//! transactions are open.

mod append;
mod entry;
mod snapshot;
mod state;
mod verification;

pub use append::SequenceError;
pub(crate) use append::{CompletedTransaction, ProducerAppend, TransactionMarker};
pub(crate) use entry::{BatchMetadata, ProducerEntry};
pub use state::{ProducerState, ProducerStateConfig};
pub(crate) use state::{ProducerStateManager, SnapshotSource};
pub use verification::TransactionStart;
pub(crate) use verification::Verification;
