//! What a change of metadata means for one broker's replicas (`TopicsDelta.localChanges`, `LocalReplicaChanges`). Pure: what the broker
//! does about it is its own business.

use std::sync::Arc;

use ottla_model::{BrokerId, TopicPartition, Uuid};

use crate::delta::MetadataChanges;
use crate::image::MetadataImage;
use crate::partition::PartitionRegistration;

/// A local replica and the partition it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalReplica {
    /// The partition's name.
    pub topic_partition: TopicPartition,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition as it is now.
    pub partition: Arc<PartitionRegistration>,
    /// Whether the leader epoch is another than before: a leader then begins a new epoch.
    pub new_leader_epoch: bool,
}

/// A replica that this broker is to give up.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedReplica {
    /// The partition's name.
    pub topic_partition: TopicPartition,
    /// The topic's id.
    pub topic_id: Uuid,
}

/// The replicas that a broker has to change, each kind in the order of topic ids and partitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalReplicaChanges {
    /// Replicas of deleted topics, and those moved elsewhere.
    pub deletes: Vec<RemovedReplica>,
    /// Replicas that lead, where anything about the partition changed.
    pub leaders: Vec<LocalReplica>,
    /// Replicas that follow, where anything about the partition changed.
    pub followers: Vec<LocalReplica>,
}

impl LocalReplicaChanges {
    /// What `broker` has to do to get from the image `base` to `image`, which differs by `changes`.
    pub fn new(broker: BrokerId, base: &MetadataImage, image: &MetadataImage, changes: &MetadataChanges) -> LocalReplicaChanges {
        let mut local = LocalReplicaChanges::default();
        for topic in changes.deleted_topics.values() {
            let ours = topic.partitions.iter().filter(|(_, partition)| partition.replicas.contains(&broker));
            local.deletes.extend(ours.map(|(&number, _)| RemovedReplica {
                topic_partition: TopicPartition::new(topic.name.clone(), number),
                topic_id: topic.id,
            }));
        }
        for &(topic_id, number) in &changes.partitions {
            let before = base.topics.partition(topic_id, number);
            if let Some(topic) = image.topics.by_id(topic_id)
                && let Some(partition) = topic.partitions.get(&number)
            {
                local.note(broker, (TopicPartition::new(topic.name.clone(), number), topic_id), partition, before);
            }
        }
        local
    }

    fn note(
        &mut self,
        broker: BrokerId,
        (topic_partition, topic_id): (TopicPartition, Uuid),
        partition: &Arc<PartitionRegistration>,
        before: Option<&Arc<PartitionRegistration>>,
    ) {
        if !partition.replicas.contains(&broker) {
            if before.is_some_and(|before| before.replicas.contains(&broker)) {
                self.deletes.push(RemovedReplica { topic_partition, topic_id });
            }
            return;
        }
        if before.is_some_and(|before| before.partition_epoch == partition.partition_epoch) {
            return;
        }
        let new_leader_epoch = before.is_none_or(|before| before.leader_epoch != partition.leader_epoch);
        let replica = LocalReplica { topic_partition, topic_id, partition: partition.clone(), new_leader_epoch };
        if partition.leader == broker { self.leaders.push(replica) } else { self.followers.push(replica) }
    }
}
