//! The small text files beside the logs, in Kafka's formats.

mod clean_shutdown;
mod leader_epoch;
mod meta_properties;
mod offset;
mod partition_metadata;
mod text;

pub use clean_shutdown::CleanShutdownFile;
pub use leader_epoch::EpochEntry;
pub(crate) use leader_epoch::{LEADER_EPOCH_CHECKPOINT, format_leader_epochs, read_leader_epochs};
pub use meta_properties::{META_PROPERTIES, MetaProperties, MetaPropertiesError};
pub use offset::{
    CLEANER_OFFSET_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, OffsetCheckpoint, RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT,
};
pub(crate) use partition_metadata::{PARTITION_METADATA, format_partition_metadata, parse_partition_metadata};
pub use text::CheckpointError;
