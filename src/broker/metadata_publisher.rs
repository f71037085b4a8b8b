//! Keeps the broker in step with the metadata: what the controller commits becomes the image, partitions appear and disappear, configurations
//! change. The controller's lock is held meanwhile, so that changes arrive in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ottla_controller::{ApiError, Controller, ControllerResult, RequestContext};
use ottla_log::LogConfig;
use ottla_metadata::{MetadataImage, PartitionRegistration, TopicImage};
use ottla_model::{TopicPartition, Uuid};

use crate::broker::Broker;
use crate::controller_host::Publication;
use crate::partition::{Leadership, Partition};
use crate::topic_configs::log_config;

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
        let before = self.image.swap(Arc::new(image));
        let image = self.image.load_full();
        for &(topic_id, _) in &changes.deleted_topics {
            if let Some(topic) = before.topics.by_id(topic_id) {
                self.remove_topic(topic, now_ms);
            }
        }
        for &(topic_id, partition) in &changes.changed_partitions {
            if let Some(topic) = image.topics.by_id(topic_id)
                && let Some(registration) = topic.partitions.get(&partition)
            {
                self.update_partition(&image, topic, partition, registration, now_ms);
            }
        }
        for resource in &changes.changed_configs {
            self.update_configs(&image, resource);
        }
    }

    fn remove_topic(self: &Arc<Self>, topic: &TopicImage, now_ms: i64) {
        for &partition in topic.partitions.keys() {
            let topic_partition = TopicPartition { topic: topic.name.clone(), partition };
            self.groups.unload(&topic_partition);
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
        let leadership = Leadership { leader: registration.leader, leader_epoch: registration.leader_epoch };
        if let Some(existing) = self.partitions.get(&topic_partition).filter(|existing| existing.topic_id() == topic.id) {
            return existing.set_leadership(self, leadership);
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
        let config = Arc::new(self.log_config_of(image, &topic_partition.topic));
        match self.logs.get_or_create(&topic_partition, topic_id, config, now_ms) {
            Ok(log) => {
                let partition = Arc::new(Partition::new(topic_partition, topic_id, self.node_id(), log, leadership));
                self.partitions.insert(partition.clone());
                if leadership.leader == self.node_id() {
                    self.groups.load(self, &partition, now_ms);
                }
            }
            Err(error) => tracing::error!(%topic_partition, %error, "the log could not be opened"),
        }
    }

    /// Opens every partition of the image that has a replica here.
    pub(crate) fn open_all_partitions(self: &Arc<Self>, image: &MetadataImage, now_ms: i64) {
        for topic in image.topics.iter() {
            for (&partition, registration) in topic.partitions.iter() {
                self.update_partition(image, topic, partition, registration, now_ms);
            }
        }
    }

    /// The configuration of a topic's logs: its own keys over the broker's.
    pub(crate) fn log_config_of(&self, image: &MetadataImage, topic: &str) -> LogConfig {
        log_config(&self.topic_config_of(image, topic))
    }
}
