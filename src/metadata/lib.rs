//! The metadata log's records and the state that they add up to.
//!
//! [`MetadataRecord`] is one record and its bytes, [`MetadataImage`] the state as of one offset, [`MetadataDelta`] the way from one image
//! to the next. Which records are written is decided by the controller; how they get into a log is the quorum's business. Nothing here
//! knows the time, files or the network.

pub mod directory_id;
pub mod feature;

mod bootstrap;
mod delta;
mod image;
mod local_changes;
mod metadata_version;
mod partition;
mod record;
mod shared_map;

#[cfg(test)]
mod tests;

pub use bootstrap::{BootstrapError, BootstrapMetadata};
pub use delta::{MetadataChanges, MetadataDelta};
pub use image::{
    BrokerRegistration, Change, ClientQuotaEntity, ClientQuotasImage, ClusterImage, ConfigResource, ConfigResourceType, ConfigurationImage,
    ConfigurationsImage, ControllerRegistration, Endpoint, FeaturesImage, MetadataImage, MetadataProvenance, ReplayError,
    ScramCredentialKey, SecurityImage, TopicImage, TopicsImage, client_quota_record,
};
pub use local_changes::{LocalReplica, LocalReplicaChanges, RemovedReplica};
pub use metadata_version::{MetadataVersion, UnknownMetadataVersion};
pub use partition::{
    InvalidPartition, LeaderRecoveryState, NO_LEADER_CHANGE, PartitionRecordOptions, PartitionRegistration, broker_numbers,
};
pub use record::{MetadataParseError, MetadataRecord};
pub use shared_map::SharedMap;
