//! The state of the cluster as of one point of the metadata log (`MetadataImage`).
//!
//! An image is a value: cloning it shares everything, and replaying a record on one clone leaves the others as they are. Decisions
//! (which records to write) are made elsewhere.

mod client_quotas;
mod cluster;
mod configs;
mod features;
mod security;
mod topics;

use std::sync::Arc;

use ottla_model::{BrokerId, Uuid};
use ottla_protocol::messages::producer_ids_record::ProducerIdsRecord;

pub use client_quotas::{ClientQuotaEntity, ClientQuotasImage, client_quota_record};
pub use cluster::{BrokerRegistration, ClusterImage, ControllerRegistration, Endpoint};
pub use configs::{ConfigResource, ConfigResourceType, ConfigurationImage, ConfigurationsImage};
pub use features::FeaturesImage;
pub use security::{ScramCredentialKey, SecurityImage};
pub use topics::{TopicImage, TopicsImage};

use crate::metadata_version::{MetadataVersion, UnknownMetadataVersion};
use crate::partition::{InvalidPartition, PartitionRecordOptions, PartitionRegistration};
use crate::record::MetadataRecord;

/// Up to which record an image reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataProvenance {
    /// The offset of the last record; -1 before the first.
    pub last_contained_offset: i64,
    /// The leader epoch of that record; -1 before the first.
    pub last_contained_epoch: i32,
    /// The append time of that record in ms; -1 before the first.
    pub last_contained_log_time_ms: i64,
}

impl Default for MetadataProvenance {
    fn default() -> Self {
        MetadataProvenance { last_contained_offset: -1, last_contained_epoch: -1, last_contained_log_time_ms: -1 }
    }
}

/// The state of the cluster. The default is the state before any record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataImage {
    /// Up to which record.
    pub provenance: MetadataProvenance,
    /// Finalized features.
    pub features: Arc<FeaturesImage>,
    /// Brokers and controllers.
    pub cluster: Arc<ClusterImage>,
    /// Topics and partitions.
    pub topics: TopicsImage,
    /// Dynamic configuration.
    pub configs: ConfigurationsImage,
    /// Client quotas.
    pub client_quotas: ClientQuotasImage,
    /// The first producer id that no block has been given out with; `None` before the first block.
    pub next_producer_id: Option<i64>,
    /// Access control entries, credentials and tokens.
    pub security: Arc<SecurityImage>,
}

/// Why a record does not fit the state: the log is damaged or was written by something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Two topics of one name.
    #[error("Found duplicate TopicRecord for {name} with topic ID {new}. Previous ID was {existing}.")]
    DuplicateTopic {
        /// The name.
        name: String,
        /// The id of the topic that exists.
        existing: Uuid,
        /// The id in the record.
        new: Uuid,
    },
    /// No topic with the id.
    #[error("Tried to {action} topic {id}, but no topic with that ID was found.")]
    UnknownTopicId {
        /// The id.
        id: Uuid,
        /// What the record does.
        action: &'static str,
    },
    /// No topic with the name.
    #[error("Unable to find a topic named {0} in order to clear its ELRs.")]
    UnknownTopicName(String),
    /// No such partition.
    #[error("Tried to change partition {topic_id}:{partition}, but no partition with that id was found.")]
    UnknownPartition {
        /// The topic's id.
        topic_id: Uuid,
        /// The partition's number.
        partition: i32,
    },
    /// A partition cannot be like this.
    #[error("partition {topic_id}:{partition}: {error}")]
    Partition {
        /// The topic's id.
        topic_id: Uuid,
        /// The partition's number.
        partition: i32,
        /// What is wrong.
        error: InvalidPartition,
    },
    /// No broker with the id.
    #[error("Tried to {action} broker {id}, but that broker was not registered.")]
    BrokerNotRegistered {
        /// The broker.
        id: BrokerId,
        /// What the record does.
        action: &'static str,
    },
    /// The record is of another registration of the broker.
    #[error("Tried to {action} broker {id}, but the given epoch, {epoch}, did not match the current broker epoch, {current}")]
    BrokerEpoch {
        /// The broker.
        id: BrokerId,
        /// What the record does.
        action: &'static str,
        /// The epoch in the record.
        epoch: i64,
        /// The registration's epoch.
        current: i64,
    },
    /// No controller with the id.
    #[error("Tried to unregister controller {0}, but that controller was not registered.")]
    ControllerNotRegistered(BrokerId),
    /// A number without a meaning in a BrokerRegistrationChangeRecord.
    #[error("Unable to replay a registration change of broker {id}: unknown value for {field} field: {value}")]
    RegistrationChange {
        /// The broker.
        id: BrokerId,
        /// The field.
        field: &'static str,
        /// The number.
        value: i8,
    },
    /// A metadata.version of another release.
    #[error(
        "Unsupported metadata version - if you are currently upgrading your cluster, please ensure the metadata version is set to \
         3.3-IV3 (or higher) before updating the software version: {0}"
    )]
    MetadataVersion(#[from] UnknownMetadataVersion),
    /// No such access control entry.
    #[error("Failed to find existing ACL with ID {0}")]
    UnknownAcl(Uuid),
    /// Transaction records out of order.
    #[error("Found {record} while {state} was in progress")]
    Transaction {
        /// The record's name.
        record: &'static str,
        /// `a transaction` or `no transaction`.
        state: &'static str,
    },
}

/// What one record changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing in an image.
    None,
    /// A feature's level.
    Feature(String),
    /// A broker's registration.
    Broker(BrokerId),
    /// A controller's registration.
    Controller(BrokerId),
    /// A topic is new; its partitions follow.
    TopicCreated(Uuid),
    /// A topic is gone, with its partitions and its configuration.
    TopicDeleted(Arc<TopicImage>),
    /// A partition is new or different.
    Partition {
        /// The topic's id.
        topic_id: Uuid,
        /// The partition's number.
        partition: i32,
        /// What it was before.
        previous: Option<Arc<PartitionRegistration>>,
    },
    /// Eligible leader replicas of these partitions are gone.
    ElrsCleared(Vec<(Uuid, i32)>),
    /// A resource's configuration.
    Config(ConfigResource),
    /// An entity's quotas.
    ClientQuota(ClientQuotaEntity),
    /// The next producer id.
    ProducerIds,
    /// An access control entry, a credential or a token.
    Security,
}

impl MetadataImage {
    /// Whether no record has been replayed.
    pub fn is_empty(&self) -> bool {
        *self == MetadataImage { provenance: self.provenance, ..Default::default() }
    }

    /// The finalized metadata.version; [`MetadataVersion::MINIMUM`] before the bootstrap records, which every version can read.
    pub fn metadata_version(&self) -> MetadataVersion {
        self.features.metadata_version().unwrap_or(MetadataVersion::MINIMUM)
    }

    /// How partitions are written at the finalized features.
    pub fn partition_record_options(&self) -> PartitionRecordOptions {
        PartitionRecordOptions { metadata_version: self.metadata_version(), elr_enabled: self.features.is_elr_enabled() }
    }

    /// Applies a record; transactions are the caller's business, their records change nothing here. After an error the image may have
    /// to be thrown away.
    pub fn replay(&mut self, record: &MetadataRecord) -> Result<Change, ReplayError> {
        match record {
            MetadataRecord::Topic(record) => self.topics.create(record),
            MetadataRecord::Partition(record) => self.topics.put_partition(record),
            MetadataRecord::PartitionChange(record) => self.topics.change_partition(record),
            MetadataRecord::RemoveTopic(record) => self.remove_topic(record.topic_id),
            MetadataRecord::ClearElr(record) => self.topics.clear_elrs(&record.topic_name),
            MetadataRecord::Config(record) => Ok(Change::Config(self.configs.replay(record))),
            MetadataRecord::ClientQuota(record) => Ok(Change::ClientQuota(self.client_quotas.replay(record))),
            MetadataRecord::FeatureLevel(record) => Arc::make_mut(&mut self.features).replay(record),
            MetadataRecord::ProducerIds(record) => {
                self.next_producer_id = Some(record.next_producer_id);
                Ok(Change::ProducerIds)
            }
            MetadataRecord::RegisterBroker(record) => Ok(self.cluster_mut().register_broker(record)),
            MetadataRecord::UnregisterBroker(record) => self.cluster_mut().unregister_broker(BrokerId(record.broker_id)),
            MetadataRecord::FenceBroker(record) => self.cluster_mut().set_fenced(record.id, record.epoch, true),
            MetadataRecord::UnfenceBroker(record) => self.cluster_mut().set_fenced(record.id, record.epoch, false),
            MetadataRecord::BrokerRegistrationChange(record) => self.cluster_mut().change_registration(record),
            MetadataRecord::RegisterController(record) => Ok(self.cluster_mut().register_controller(record)),
            MetadataRecord::UnregisterController(record) => self.cluster_mut().unregister_controller(BrokerId(record.controller_id)),
            MetadataRecord::AccessControlEntry(record) => Ok(self.security_mut().add_acl(record)),
            MetadataRecord::RemoveAccessControlEntry(record) => self.security_mut().remove_acl(record.id),
            MetadataRecord::UserScramCredential(record) => Ok(self.security_mut().put_credential(record)),
            MetadataRecord::RemoveUserScramCredential(record) => Ok(self.security_mut().remove_credential(record)),
            MetadataRecord::DelegationToken(record) => Ok(self.security_mut().put_token(record)),
            MetadataRecord::RemoveDelegationToken(record) => Ok(self.security_mut().remove_token(&record.token_id)),
            MetadataRecord::NoOp(_)
            | MetadataRecord::ZkMigrationState(_)
            | MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_) => Ok(Change::None),
        }
    }

    fn cluster_mut(&mut self) -> &mut ClusterImage {
        Arc::make_mut(&mut self.cluster)
    }

    fn security_mut(&mut self) -> &mut SecurityImage {
        Arc::make_mut(&mut self.security)
    }

    /// A topic's configuration goes with it.
    fn remove_topic(&mut self, id: Uuid) -> Result<Change, ReplayError> {
        let topic = self.topics.remove(id)?;
        self.configs.remove(&ConfigResource::topic(&*topic.name));
        Ok(Change::TopicDeleted(topic))
    }

    /// The records of a snapshot: replayed in this order on an empty image they give this one again, but for what the metadata.version
    /// cannot express. The order of the kinds is Kafka's (`MetadataImage.write`).
    pub fn to_records(&self) -> Vec<MetadataRecord> {
        let metadata_version = self.metadata_version();
        let mut records = Vec::new();
        self.features.write(&mut records);
        self.cluster.write(metadata_version, &mut records);
        self.topics.write(self.partition_record_options(), &mut records);
        self.configs.write(&mut records);
        self.client_quotas.write(&mut records);
        if let Some(next_producer_id) = self.next_producer_id {
            records.push(ProducerIdsRecord { broker_id: -1, broker_epoch: -1, next_producer_id, ..Default::default() }.into());
        }
        self.security.write(metadata_version, &mut records);
        records
    }
}
