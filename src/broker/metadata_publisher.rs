//! Keeps the broker in step with the metadata: what the controller commits becomes the image, partitions appear and disappear, configurations
//! change. The controller's lock is held meanwhile, so that changes arrive in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_controller::{ApiError, Controller, ControllerResult, RequestContext};
use ottla_coordinator::group::DeletedTopic;
use ottla_metadata::{ConfigResource, ConfigResourceType, MetadataImage, PartitionRegistration, TopicImage};
use ottla_model::{TopicPartition, Uuid};

use crate::broker::Broker;
use crate::controller_host::Publication;
use crate::partition::{Leadership, LeadershipChange, Partition};
use crate::topic_configs::topic_settings;

impl Broker {
    /// Lets the controller decide and returns its response once its records are durable and this broker acts by them. Waits for the disk.
    pub fn submit<R>(
        self: &Arc<Self>,
        decide: impl FnOnce(&mut Controller, &mut RequestContext<'_>) -> Result<ControllerResult<R>, ApiError>,
    ) -> Result<R, ApiError> {
        let now_ms = self.environment.clock.now_ms();
        let mut host = self.controller.lock();
        let response = host.submit(&self.environment, now_ms, decide);
        let publications = host.take_publications();
        for publication in publications {
            self.publish(publication, now_ms);
        }
        response
    }

    /// The epoch of this broker's registration.
    pub fn broker_epoch(&self) -> i64 {
        self.broker_epoch.load(Ordering::Relaxed)
    }

    /// Makes an image current and acts by what changed.
    pub(crate) fn publish(self: &Arc<Self>, publication: Publication, now_ms: i64) {
        let Publication { image, changes } = publication;
        let image = Arc::new(image);
        self.image.store(image.clone());
        for topic in changes.deleted_topics.values() {
            self.remove_topic(topic, now_ms);
        }
        if !changes.deleted_topics.is_empty() {
            let deleted: Vec<_> =
                changes.deleted_topics.values().map(|topic| DeletedTopic { name: topic.name.to_string(), topic_id: topic.id }).collect();
            self.groups.topics_deleted(self, &deleted, now_ms);
        }
        for &(topic_id, partition) in &changes.partitions {
            if let Some(topic) = image.topics.by_id(topic_id)
                && let Some(registration) = topic.partitions.get(&partition)
            {
                self.update_partition(&image, topic, partition, registration, now_ms);
            }
        }
        for resource in &changes.configs {
            self.update_configs(&image, resource);
        }
    }

    fn remove_topic(self: &Arc<Self>, topic: &TopicImage, now_ms: i64) {
        for (&partition, _) in topic.partitions.iter() {
            let topic_partition = TopicPartition { topic: topic.name.clone(), partition };
            self.unload_coordinators(&topic_partition);
            let Some(removed) = self.partitions.remove(&topic_partition) else { continue };
            if let Err(error) = self.logs.delete(&topic_partition, now_ms) {
                tracing::error!(%topic_partition, %error, "the log could not be deleted");
            }
            removed.wake_fetches(self, i64::MAX);
        }
        tracing::info!(topic = %topic.name, id = %topic.id, partitions = topic.partitions.len(), "topic deleted");
    }

    fn update_partition(
        self: &Arc<Self>,
        image: &MetadataImage,
        topic: &TopicImage,
        partition: i32,
        registration: &PartitionRegistration,
        now_ms: i64,
    ) {
        let topic_partition = TopicPartition { topic: topic.name.clone(), partition };
        let leadership = Leadership { leader: registration.leader, leader_epoch: registration.leader_epoch.0 };
        if let Some(existing) = self.partitions.get(&topic_partition).filter(|existing| existing.topic_id() == topic.id) {
            match existing.set_leadership(self, leadership) {
                LeadershipChange::Gained => self.load_coordinators(&existing, now_ms),
                LeadershipChange::Lost => self.unload_coordinators(existing.topic_partition()),
                LeadershipChange::None => {}
            }
            return;
        }
        if registration.replicas.contains(&self.node_id()) {
            self.open_partition(image, topic_partition, topic.id, leadership, now_ms);
        }
    }

    /// Opens or creates the log of a partition that has a replica here. A failed directory leaves the partition offline.
    fn open_partition(
        self: &Arc<Self>,
        image: &MetadataImage,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        leadership: Leadership,
        now_ms: i64,
    ) {
        let settings = topic_settings(&self.config(), image, &topic_partition.topic);
        match self.logs.get_or_create(&topic_partition, topic_id, &settings.log, now_ms) {
            Ok(log) => {
                let partition = Partition::new(topic_partition, topic_id, self.node_id(), log, leadership, settings.validation);
                let partition = Arc::new(partition);
                self.partitions.insert(partition.clone());
                if leadership.leader == self.node_id() {
                    self.load_coordinators(&partition, now_ms);
                }
            }
            Err(error) => tracing::error!(%topic_partition, %error, "the log could not be opened"),
        }
    }

    /// Takes over the coordinators that live in a partition, if any do.
    fn load_coordinators(self: &Arc<Self>, partition: &Arc<Partition>, now_ms: i64) {
        self.groups.load(self, partition, now_ms);
        self.transactions.load(self, partition, now_ms);
    }

    fn unload_coordinators(&self, topic_partition: &TopicPartition) {
        self.groups.unload(topic_partition);
        self.transactions.unload(topic_partition);
    }

    /// Opens every partition of the image that has a replica here.
    pub(crate) fn open_all_partitions(self: &Arc<Self>, image: &MetadataImage, now_ms: i64) {
        for topic in image.topics.iter() {
            for (&partition, registration) in topic.partitions.iter() {
                self.update_partition(image, topic, partition, registration, now_ms);
            }
        }
    }

    /// Takes over a changed configuration.
    fn update_configs(&self, image: &MetadataImage, resource: &ConfigResource) {
        match resource.resource_type {
            ConfigResourceType::Topic => self.update_topic_config(image, &resource.name),
            ConfigResourceType::Broker => {
                self.update_broker_config(image);
                for topic in image.topics.iter() {
                    self.update_topic_config(image, &topic.name);
                }
            }
            ConfigResourceType::Group
            | ConfigResourceType::ClientMetrics
            | ConfigResourceType::BrokerLogger
            | ConfigResourceType::Unknown => {}
        }
    }

    /// Takes over what the metadata sets for this broker and for all.
    pub(crate) fn update_broker_config(&self, image: &MetadataImage) {
        let values =
            |name: &str| image.configs.resource(&ConfigResource::broker(name)).map(|values| (**values).clone()).unwrap_or_default();
        let mut config = (*self.dynamic_config()).clone();
        for problem in config.update(&values(""), &values(&self.node_id().to_string())) {
            tracing::warn!("{problem}");
        }
        self.config.store(Arc::new(config));
    }

    fn update_topic_config(&self, image: &MetadataImage, name: &str) {
        let Some(topic) = image.topics.by_name(name) else { return };
        let settings = topic_settings(&self.config(), image, name);
        self.logs.update_config(name, &settings.log);
        for (&partition, _) in topic.partitions.iter() {
            if let Some(partition) = self.partitions.get(&TopicPartition { topic: topic.name.clone(), partition }) {
                partition.set_validation(settings.validation);
            }
        }
    }
}
