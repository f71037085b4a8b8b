//! Which partitions a broker or a directory matters to (`BrokersToIsrs`, `BrokersToElrs` and the sets beside them). Derived from the
//! topics: kept up to date record by record, so that fencing a broker costs its own partitions and not all of them.

use std::collections::{BTreeMap, BTreeSet};

use ottla_metadata::{Change, MetadataImage, PartitionRegistration, TopicImage};
use ottla_model::{BrokerId, Uuid};

/// A partition of a topic that is known by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TopicIdPartition {
    pub topic_id: Uuid,
    pub partition: i32,
}

/// Partitions by what they depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PartitionIndex {
    by_isr_member: BTreeMap<BrokerId, BTreeSet<TopicIdPartition>>,
    by_elr_member: BTreeMap<BrokerId, BTreeSet<TopicIdPartition>>,
    by_directory: BTreeMap<Uuid, BTreeSet<TopicIdPartition>>,
    leaderless: BTreeSet<TopicIdPartition>,
    imbalanced: BTreeSet<TopicIdPartition>,
    reassigning: BTreeSet<TopicIdPartition>,
}

fn add<K: Ord>(index: &mut BTreeMap<K, BTreeSet<TopicIdPartition>>, key: K, partition: TopicIdPartition) {
    index.entry(key).or_default().insert(partition);
}

fn remove<K: Ord>(index: &mut BTreeMap<K, BTreeSet<TopicIdPartition>>, key: K, partition: TopicIdPartition) {
    if let Some(partitions) = index.get_mut(&key) {
        partitions.remove(&partition);
        if partitions.is_empty() {
            index.remove(&key);
        }
    }
}

fn list<K: Ord>(index: &BTreeMap<K, BTreeSet<TopicIdPartition>>, key: K) -> Vec<TopicIdPartition> {
    index.get(&key).map(|partitions| partitions.iter().copied().collect()).unwrap_or_default()
}

impl PartitionIndex {
    /// The index of all partitions of an image.
    pub fn new(image: &MetadataImage) -> PartitionIndex {
        let mut index = PartitionIndex::default();
        for topic in image.topics.iter_by_id() {
            for (&partition, registration) in &topic.partitions {
                index.insert(TopicIdPartition { topic_id: topic.id, partition }, registration);
            }
        }
        index
    }

    /// Follows a change; `image` is the state after it.
    pub fn apply(&mut self, change: &Change, image: &MetadataImage) {
        match change {
            Change::Partition { topic_id, partition, previous } => {
                let key = TopicIdPartition { topic_id: *topic_id, partition: *partition };
                if let Some(previous) = previous {
                    self.remove(key, previous);
                }
                if let Some(registration) = image.topics.partition(*topic_id, *partition) {
                    self.insert(key, registration);
                }
            }
            Change::TopicDeleted(topic) => self.remove_topic(topic),
            Change::ElrsCleared(partitions) => {
                for &(topic_id, partition) in partitions {
                    let key = TopicIdPartition { topic_id, partition };
                    self.by_elr_member.retain(|_, partitions| {
                        partitions.remove(&key);
                        !partitions.is_empty()
                    });
                }
            }
            Change::None
            | Change::Feature(_)
            | Change::Broker(_)
            | Change::Controller(_)
            | Change::TopicCreated(_)
            | Change::Config(_)
            | Change::ClientQuota(_)
            | Change::ProducerIds
            | Change::Security => {}
        }
    }

    fn remove_topic(&mut self, topic: &TopicImage) {
        for (&partition, registration) in &topic.partitions {
            self.remove(TopicIdPartition { topic_id: topic.id, partition }, registration);
        }
    }

    fn insert(&mut self, key: TopicIdPartition, registration: &PartitionRegistration) {
        for &member in &registration.isr {
            add(&mut self.by_isr_member, member, key);
        }
        for &member in &registration.elr {
            add(&mut self.by_elr_member, member, key);
        }
        for &directory in registration.directories.iter().filter(|directory| !directory.is_reserved()) {
            add(&mut self.by_directory, directory, key);
        }
        if !registration.has_leader() {
            self.leaderless.insert(key);
        }
        if !registration.has_preferred_leader() {
            self.imbalanced.insert(key);
        }
        if registration.is_reassigning() {
            self.reassigning.insert(key);
        }
    }

    fn remove(&mut self, key: TopicIdPartition, registration: &PartitionRegistration) {
        for &member in &registration.isr {
            remove(&mut self.by_isr_member, member, key);
        }
        for &member in &registration.elr {
            remove(&mut self.by_elr_member, member, key);
        }
        for &directory in registration.directories.iter().filter(|directory| !directory.is_reserved()) {
            remove(&mut self.by_directory, directory, key);
        }
        self.leaderless.remove(&key);
        self.imbalanced.remove(&key);
        self.reassigning.remove(&key);
    }

    /// Partitions whose ISR has the broker.
    pub fn with_isr_member(&self, broker: BrokerId) -> Vec<TopicIdPartition> {
        list(&self.by_isr_member, broker)
    }

    /// Partitions whose eligible leader replicas have the broker.
    pub fn with_elr_member(&self, broker: BrokerId) -> Vec<TopicIdPartition> {
        list(&self.by_elr_member, broker)
    }

    /// Partitions with a replica in the directory.
    pub fn in_directory(&self, directory: Uuid) -> Vec<TopicIdPartition> {
        list(&self.by_directory, directory)
    }

    /// Partitions that nobody leads.
    pub fn leaderless(&self) -> Vec<TopicIdPartition> {
        self.leaderless.iter().copied().collect()
    }

    /// Partitions that another than the preferred replica leads.
    pub fn imbalanced(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.imbalanced.iter().copied()
    }

    /// Partitions whose replicas are being changed.
    pub fn reassigning(&self) -> impl Iterator<Item = TopicIdPartition> {
        self.reassigning.iter().copied()
    }

    /// Whether the broker leads a partition. A leader is in the ISR.
    pub fn has_leaderships(&self, broker: BrokerId, image: &MetadataImage) -> bool {
        let leads = |key: &TopicIdPartition| {
            image.topics.partition(key.topic_id, key.partition).is_some_and(|partition| partition.leader == broker)
        };
        self.by_isr_member.get(&broker).is_some_and(|partitions| partitions.iter().any(leads))
    }
}
