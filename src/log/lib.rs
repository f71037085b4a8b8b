//! Kafka's logs on disk: segments and their indexes, recovery, retention, producer state, leader epochs, checkpoints, and the log
//! directories that hold them. Files are byte for byte those of Kafka 4.4.
//!
//! **Invariant:** files are reached through `ottla_io` only, and time comes in as an argument. Nothing here knows of requests,
//! replication or who leads a partition.

mod append;
mod batch_reader;
mod checkpoint;
mod cleaner;
mod config;
mod control;
mod directory_files;
mod dirty_logs;
mod errors;
mod index;
mod leader_epoch_cache;
mod log;
mod manager;
mod paths;
mod producer;
mod segment;
#[cfg(test)]
mod test_batches;

pub use append::{AppendError, AppendInfo, AppendOrigin, AppendRequest, BatchToAppend, TransactionContext, VerificationGuard};
pub use checkpoint::{
    CLEANER_OFFSET_CHECKPOINT, CheckpointError, CleanShutdownFile, EpochEntry, LOG_START_OFFSET_CHECKPOINT, META_PROPERTIES,
    MetaProperties, MetaPropertiesError, OffsetCheckpoint, RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT,
};
pub use cleaner::{CleanerConfig, Pace};
pub use config::{CleanupPolicy, LogConfig};
pub use dirty_logs::DirtyLogs;
pub use errors::{LogDirFailure, StorageError};
pub use index::AbortedTransaction;
pub use log::{
    DeleteRecordsError, EpochEndOffset, FetchedRecords, FileSlice, FlushTask, Log, LogOpen, ReadError, ReadRequest, SharedLog,
    TimestampedOffset, flush_to, special_timestamp,
};
pub use manager::{CleanOutcome, CreateLogError, LogDirInfo, LogManager, LogManagerConfig, OpenError, PartitionSize, TopicConfigs};
pub use producer::{ProducerState, ProducerStateConfig, SequenceError, TransactionStart};
