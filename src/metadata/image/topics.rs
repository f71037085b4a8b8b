//! The topics and their partitions.

use std::ops::Bound;
use std::sync::Arc;

use ottla_model::Uuid;
use ottla_protocol::messages::partition_change_record::PartitionChangeRecord;
use ottla_protocol::messages::partition_record::PartitionRecord;
use ottla_protocol::messages::topic_record::TopicRecord;

use super::{Change, ReplayError};
use crate::partition::{PartitionRecordOptions, PartitionRegistration};
use crate::record::MetadataRecord;
use crate::shared_map::SharedMap;

/// A topic (`TopicImage`).
#[derive(Clone, Debug, PartialEq)]
pub struct TopicImage {
    /// The name.
    pub name: Arc<str>,
    /// The id, which a topic re-created under the same name does not share.
    pub id: Uuid,
    /// The partitions by number.
    pub partitions: SharedMap<i32, Arc<PartitionRegistration>>,
}

/// All topics (`TopicsImage`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicsImage {
    by_id: SharedMap<Uuid, Arc<TopicImage>>,
    ids_by_name: SharedMap<Arc<str>, Uuid>,
}

impl TopicsImage {
    /// The topic with this id.
    pub fn by_id(&self, id: Uuid) -> Option<&Arc<TopicImage>> {
        self.by_id.get(&id)
    }

    /// The topic with this name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<TopicImage>> {
        self.by_id.get(self.ids_by_name.get(name)?)
    }

    /// The id of the topic with this name.
    pub fn id_of(&self, name: &str) -> Option<Uuid> {
        self.ids_by_name.get(name).copied()
    }

    /// A partition of the topic with this id.
    pub fn partition(&self, topic_id: Uuid, partition: i32) -> Option<&Arc<PartitionRegistration>> {
        self.by_id(topic_id)?.partitions.get(&partition)
    }

    /// The number of topics.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is no topic.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The topics in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.iter_from(Bound::Unbounded)
    }

    /// The topics from the name `start` on, in the order of their names.
    pub fn iter_from(&self, start: Bound<&str>) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.ids_by_name.iter_from(start).filter_map(|(_, id)| self.by_id.get(id))
    }

    /// The topics in the order of their ids.
    pub fn iter_by_id(&self) -> impl Iterator<Item = &Arc<TopicImage>> {
        self.by_id.values()
    }

    pub(super) fn create(&mut self, record: &TopicRecord) -> Result<Change, ReplayError> {
        if let Some(existing) = self.ids_by_name.get(record.name.as_str()) {
            return Err(ReplayError::DuplicateTopic { name: record.name.clone(), existing: *existing, new: record.topic_id });
        }
        let name: Arc<str> = record.name.as_str().into();
        let topic = TopicImage { name: name.clone(), id: record.topic_id, partitions: SharedMap::default() };
        self.by_id.insert(record.topic_id, Arc::new(topic));
        self.ids_by_name.insert(name, record.topic_id);
        Ok(Change::TopicCreated(record.topic_id))
    }

    pub(super) fn remove(&mut self, id: Uuid) -> Result<Arc<TopicImage>, ReplayError> {
        let topic = self.by_id.remove(&id).ok_or(ReplayError::UnknownTopicId { id, action: "remove" })?;
        self.ids_by_name.remove(&*topic.name);
        Ok(topic)
    }

    fn topic_mut(&mut self, id: Uuid, action: &'static str) -> Result<&mut TopicImage, ReplayError> {
        self.by_id.get_mut(&id).map(Arc::make_mut).ok_or(ReplayError::UnknownTopicId { id, action })
    }

    pub(super) fn put_partition(&mut self, record: &PartitionRecord) -> Result<Change, ReplayError> {
        let (topic_id, partition) = (record.topic_id, record.partition_id);
        let registration = PartitionRegistration::from_record(record);
        let registration = registration.map_err(|error| ReplayError::Partition { topic_id, partition, error })?;
        let topic = self.topic_mut(topic_id, "create a partition of")?;
        let previous = topic.partitions.insert(partition, Arc::new(registration));
        Ok(Change::Partition { topic_id, partition, previous })
    }

    pub(super) fn change_partition(&mut self, record: &PartitionChangeRecord) -> Result<Change, ReplayError> {
        let (topic_id, partition) = (record.topic_id, record.partition_id);
        let topic = self.topic_mut(topic_id, "change a partition of")?;
        let current = topic.partitions.get_mut(&partition).ok_or(ReplayError::UnknownPartition { topic_id, partition })?;
        let merged = current.merge(record).map_err(|error| ReplayError::Partition { topic_id, partition, error })?;
        let previous = Some(std::mem::replace(current, Arc::new(merged)));
        Ok(Change::Partition { topic_id, partition, previous })
    }

    /// The empty name stands for all topics.
    pub(super) fn clear_elrs(&mut self, topic_name: &str) -> Result<Change, ReplayError> {
        let ids: Vec<Uuid> = if topic_name.is_empty() {
            self.by_id.keys().copied().collect()
        } else {
            vec![self.id_of(topic_name).ok_or_else(|| ReplayError::UnknownTopicName(topic_name.to_owned()))?]
        };
        let mut cleared = Vec::new();
        for id in ids {
            cleared.extend(self.clear_topic_elrs(id)?.into_iter().map(|partition| (id, partition)));
        }
        Ok(Change::ElrsCleared(cleared))
    }

    /// Empties the eligible leader replicas of a topic; returns the partitions that had some.
    fn clear_topic_elrs(&mut self, id: Uuid) -> Result<Vec<i32>, ReplayError> {
        let topic = self.by_id(id).ok_or(ReplayError::UnknownTopicId { id, action: "clear the ELRs of" })?;
        let has_elr = |partition: &PartitionRegistration| !partition.elr.is_empty() || !partition.last_known_elr.is_empty();
        let cleared: Vec<i32> = topic.partitions.iter().filter(|(_, partition)| has_elr(partition)).map(|(&number, _)| number).collect();
        for &partition in &cleared {
            let none = Some(Vec::new());
            let change = PartitionChangeRecord {
                partition_id: partition,
                topic_id: id,
                eligible_leader_replicas: none.clone(),
                last_known_elr: none,
                ..Default::default()
            };
            self.change_partition(&change)?;
        }
        Ok(cleared)
    }

    pub(super) fn write(&self, options: PartitionRecordOptions, records: &mut Vec<MetadataRecord>) {
        for topic in self.iter_by_id() {
            records.push(TopicRecord { name: topic.name.to_string(), topic_id: topic.id, ..Default::default() }.into());
            let partitions = topic.partitions.iter();
            records.extend(partitions.map(|(&number, partition)| partition.to_record(topic.id, number, options)));
        }
    }
}
