//! The partitions that have a replica here, kept in step with the metadata.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, Uuid};
use parking_lot::RwLock;

use crate::partition::Partition;

/// All partitions of this broker.
#[derive(Debug)]
pub struct Partitions {
    online: RwLock<HashMap<TopicPartition, Arc<Partition>>>,
    image: Arc<ArcSwap<MetadataImage>>,
}

impl Partitions {
    /// No partitions; `image` is consulted for those that are elsewhere.
    pub fn new(image: Arc<ArcSwap<MetadataImage>>) -> Partitions {
        Partitions { online: RwLock::new(HashMap::new()), image }
    }

    /// The partition, if it has a replica here.
    pub fn get(&self, topic_partition: &TopicPartition) -> Option<Arc<Partition>> {
        self.online.read().get(topic_partition).cloned()
    }

    /// Adds a partition, replacing one of a topic that had the same name.
    pub fn insert(&self, partition: Arc<Partition>) -> Option<Arc<Partition>> {
        self.online.write().insert(partition.topic_partition().clone(), partition)
    }

    /// Takes a partition out.
    pub fn remove(&self, topic_partition: &TopicPartition) -> Option<Arc<Partition>> {
        self.online.write().remove(topic_partition)
    }

    /// All partitions, in no particular order.
    pub fn all(&self) -> Vec<Arc<Partition>> {
        self.online.read().values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.online.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The partition, or the error that tells a client to look elsewhere (`ReplicaManager.getPartitionOrException`).
    pub fn get_or_error(&self, topic_partition: &TopicPartition) -> Result<Arc<Partition>, ErrorCode> {
        if let Some(partition) = self.get(topic_partition) {
            return Ok(partition);
        }
        let image = self.image.load();
        let exists =
            image.topics.by_name(&topic_partition.topic).is_some_and(|topic| topic.partitions.contains_key(&topic_partition.partition));
        // Not hosted though it should be: its directory is offline, or it moved.
        Err(if exists { ErrorCode::NotLeaderOrFollower } else { ErrorCode::UnknownTopicOrPartition })
    }

    /// The partition for a produce; `topic_id` is zero where the client named the topic.
    pub fn leader(&self, topic_partition: &TopicPartition, topic_id: Uuid) -> Result<Arc<Partition>, ErrorCode> {
        let partition = self.get_or_error(topic_partition)?;
        if !topic_id.is_zero() && partition.topic_id() != topic_id {
            return Err(ErrorCode::UnknownTopicId);
        }
        partition.check_leader()?;
        Ok(partition)
    }

    /// The partition for a fetch; a topic that was re-created under its name is told from the one that the session means.
    pub fn fetch_target(&self, topic_partition: &TopicPartition, topic_id: Uuid) -> Result<Arc<Partition>, ErrorCode> {
        let partition = self.get_or_error(topic_partition)?;
        if !topic_id.is_zero() && partition.topic_id() != topic_id {
            return Err(ErrorCode::InconsistentTopicId);
        }
        Ok(partition)
    }

    /// The partition for a question that only its leader may answer.
    pub fn listing_target(&self, topic_partition: &TopicPartition) -> Result<Arc<Partition>, ErrorCode> {
        let partition = self.get_or_error(topic_partition)?;
        partition.check_leader()?;
        Ok(partition)
    }
}
