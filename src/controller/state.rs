//! The controller's view of the cluster: the image with all records that were appended, and what is derived from it. `replay` is the only
//! way to change it. Decisions are made in the files of the operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ottla_config::TopicLayers;
use ottla_metadata::{
    BrokerRegistration, Change, ConfigResource, ConfigurationImage, MetadataImage, MetadataRecord, MetadataVersion, ReplayError,
    TopicImage, directory_id,
};
use ottla_model::{BrokerId, ErrorCode, Uuid};

use crate::api_error::ApiError;
use crate::config_schema::ConfigSchema;
use crate::partition_index::PartitionIndex;

/// A metadata transaction that has begun and not ended.
#[derive(Debug)]
struct OpenTransaction {
    /// The offset of its BeginTransactionRecord.
    start_offset: i64,
    before: MetadataImage,
}

/// The hard state of the controller.
pub(crate) struct ControllerState {
    pub image: MetadataImage,
    pub partitions: PartitionIndex,
    pub schema: Arc<dyn ConfigSchema>,
    /// This node: its dynamic configuration is one of the layers that apply to topics.
    node: ConfigResource,
    /// Names with a dot or an underscore by the name with all dots turned into underscores.
    colliding_names: BTreeMap<String, BTreeSet<Arc<str>>>,
    /// At which offset each broker was registered last.
    register_broker_offsets: BTreeMap<BrokerId, i64>,
    transaction: Option<OpenTransaction>,
    no_configs: ConfigurationImage,
}

/// Metrics replace dots by underscores, so two names that differ only there are not both allowed (`Topic.unifyCollisionChars`).
fn unified_name(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}

impl ControllerState {
    /// The state that an image amounts to.
    pub fn new(node_id: BrokerId, schema: Arc<dyn ConfigSchema>, image: MetadataImage) -> ControllerState {
        let mut state = ControllerState {
            image,
            partitions: PartitionIndex::default(),
            schema,
            node: ConfigResource::broker(node_id.to_string()),
            colliding_names: BTreeMap::new(),
            register_broker_offsets: BTreeMap::new(),
            transaction: None,
            no_configs: ConfigurationImage::new(),
        };
        state.derive();
        state
    }

    /// Computes from the image all that is derived from it. A broker's epoch is the offset at which it registered.
    fn derive(&mut self) {
        self.partitions = PartitionIndex::new(&self.image);
        self.register_broker_offsets = self.image.cluster.brokers().map(|broker| (broker.id, broker.epoch)).collect();
        self.colliding_names.clear();
        for topic in self.image.topics.iter() {
            note_name(&mut self.colliding_names, topic);
        }
    }

    /// Replays the record at `offset`.
    pub fn replay(&mut self, offset: i64, record: &MetadataRecord) -> Result<(), ReplayError> {
        match record {
            MetadataRecord::BeginTransaction(_) => {
                if self.transaction.is_some() {
                    return Err(ReplayError::Transaction { record: "BeginTransactionRecord", state: "a transaction" });
                }
                self.transaction = Some(OpenTransaction { start_offset: offset, before: self.image.clone() });
                Ok(())
            }
            MetadataRecord::EndTransaction(_) => {
                self.end_transaction("EndTransactionRecord")?;
                Ok(())
            }
            MetadataRecord::AbortTransaction(_) => {
                self.image = self.end_transaction("AbortTransactionRecord")?;
                self.derive();
                Ok(())
            }
            other => {
                let change = self.image.replay(other)?;
                self.follow(&change);
                if let MetadataRecord::RegisterBroker(record) = other {
                    self.register_broker_offsets.insert(BrokerId(record.broker_id), offset);
                }
                Ok(())
            }
        }
    }

    fn end_transaction(&mut self, record: &'static str) -> Result<MetadataImage, ReplayError> {
        let transaction = self.transaction.take().ok_or(ReplayError::Transaction { record, state: "no transaction" })?;
        Ok(transaction.before)
    }

    fn follow(&mut self, change: &Change) {
        self.partitions.apply(change, &self.image);
        match change {
            Change::TopicCreated(id) => {
                if let Some(topic) = self.image.topics.by_id(*id) {
                    note_name(&mut self.colliding_names, topic);
                }
            }
            Change::TopicDeleted(topic) => forget_name(&mut self.colliding_names, topic),
            Change::Broker(id) if self.image.cluster.broker(*id).is_none() => {
                self.register_broker_offsets.remove(id);
            }
            Change::None
            | Change::Broker(_)
            | Change::Feature(_)
            | Change::Controller(_)
            | Change::Partition { .. }
            | Change::ElrsCleared(_)
            | Change::Config(_)
            | Change::ClientQuota(_)
            | Change::ProducerIds
            | Change::Security => {}
        }
    }

    /// The offset at which the open transaction began.
    pub fn transaction_start_offset(&self) -> Option<i64> {
        self.transaction.as_ref().map(|transaction| transaction.start_offset)
    }

    /// The image without the records of the open transaction.
    pub fn image_before_transaction(&self) -> &MetadataImage {
        self.transaction.as_ref().map_or(&self.image, |transaction| &transaction.before)
    }

    /// The offset of a broker's last registration.
    pub fn register_broker_offset(&self, broker: BrokerId) -> Option<i64> {
        self.register_broker_offsets.get(&broker).copied()
    }

    /// A topic that `name` collides with. A name without a dot or underscore collides with none.
    pub fn colliding_topic(&self, name: &str) -> Option<&str> {
        self.colliding_names.get(&unified_name(name)?)?.first().map(|name| &**name)
    }

    /// The topic with this name.
    pub fn topic(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.image.topics.by_name(name)
    }

    /// The finalized metadata.version.
    pub fn metadata_version(&self) -> MetadataVersion {
        self.image.metadata_version()
    }

    /// A broker's registration.
    pub fn broker(&self, broker: BrokerId) -> Option<&BrokerRegistration> {
        self.image.cluster.broker(broker).map(|broker| &**broker)
    }

    /// Whether the broker can lead: neither fenced nor shutting down.
    pub fn is_active(&self, broker: BrokerId) -> bool {
        self.broker(broker).is_some_and(|broker| !broker.fenced && !broker.in_controlled_shutdown)
    }

    /// The directory of a new replica on `broker`: its only one, or one that it will choose.
    pub fn default_directory(&self, broker: BrokerId) -> Uuid {
        if !self.metadata_version().is_directory_assignment_supported() {
            return directory_id::MIGRATING;
        }
        match self.broker(broker).map(|broker| &*broker.directories) {
            None => directory_id::UNASSIGNED,
            Some([]) => directory_id::MIGRATING,
            Some(&[directory]) => directory,
            Some(_) => directory_id::UNASSIGNED,
        }
    }

    /// Fails unless `broker` is registered at `epoch`.
    pub fn check_broker_epoch(&self, broker: BrokerId, epoch: i64) -> Result<(), ApiError> {
        let stale = |message| ApiError::new(ErrorCode::StaleBrokerEpoch, message);
        match self.broker(broker) {
            None => Err(stale(format!("No broker registration found for broker id {broker}"))),
            Some(registration) if registration.epoch != epoch => {
                Err(stale(format!("Expected broker epoch {}, but got broker epoch {epoch}", registration.epoch)))
            }
            Some(_) => Ok(()),
        }
    }

    /// The values set on a resource.
    pub fn configs(&self, resource: &ConfigResource) -> &ConfigurationImage {
        self.image.configs.resource(resource).map_or(&self.no_configs, |configs| configs)
    }

    /// The layers that apply to a topic whose own values are `topic`.
    pub fn topic_layers<'a>(&'a self, topic: &'a ConfigurationImage) -> TopicLayers<'a> {
        TopicLayers { topic, node: self.configs(&self.node), cluster: self.configs(&ConfigResource::broker("")) }
    }

    fn effective_topic_config(&self, topic: &TopicImage, key: &str) -> Option<String> {
        let configs = self.configs(&ConfigResource::topic(&*topic.name));
        self.schema.effective_topic_config(key, self.topic_layers(configs))?.value
    }

    /// `min.insync.replicas` of a topic, but never more than it has replicas.
    pub fn effective_min_isr(&self, topic: &TopicImage) -> usize {
        let replicas = topic.partitions.get(&0).map_or(0, |partition| partition.replicas.len());
        let configured = self.effective_topic_config(topic, "min.insync.replicas").and_then(|value| value.parse().ok());
        configured.unwrap_or(1).min(replicas)
    }

    /// `unclean.leader.election.enable` of a topic.
    pub fn unclean_leader_election_enabled(&self, topic: &TopicImage) -> bool {
        self.effective_topic_config(topic, "unclean.leader.election.enable").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

fn note_name(names: &mut BTreeMap<String, BTreeSet<Arc<str>>>, topic: &TopicImage) {
    if let Some(unified) = unified_name(&topic.name) {
        names.entry(unified).or_default().insert(topic.name.clone());
    }
}

fn forget_name(names: &mut BTreeMap<String, BTreeSet<Arc<str>>>, topic: &TopicImage) {
    if let Some(unified) = unified_name(&topic.name)
        && let Some(same) = names.get_mut(&unified)
    {
        same.remove(&topic.name);
        if same.is_empty() {
            names.remove(&unified);
        }
    }
}
