//! Something for each of the partitions of each of the topics of each group, without empty levels.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What a group has, by topic and partition.
pub(super) type GroupPartitions<V> = BTreeMap<Arc<str>, BTreeMap<i32, V>>;

/// Values by group, topic and partition, in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionMap<V> {
    groups: BTreeMap<Arc<str>, GroupPartitions<V>>,
}

impl<V> Default for PartitionMap<V> {
    fn default() -> PartitionMap<V> {
        PartitionMap { groups: BTreeMap::new() }
    }
}

impl<V> PartitionMap<V> {
    /// What the group has; `None` when that is nothing.
    pub fn group(&self, group_id: &str) -> Option<&GroupPartitions<V>> {
        self.groups.get(group_id)
    }

    /// The value of a partition.
    pub fn get(&self, group_id: &str, topic: &str, partition: i32) -> Option<&V> {
        self.groups.get(group_id)?.get(topic)?.get(&partition)
    }

    /// Removes the value of a partition.
    pub fn remove(&mut self, group_id: &str, topic: &str, partition: i32) -> Option<V> {
        let topics = self.groups.get_mut(group_id)?;
        let partitions = topics.get_mut(topic)?;
        let removed = partitions.remove(&partition);
        if partitions.is_empty() {
            topics.remove(topic);
        }
        if topics.is_empty() {
            self.groups.remove(group_id);
        }
        removed
    }

    /// The value of a partition, made by `make` if there is none.
    pub fn get_or_insert_with(&mut self, group_id: &str, topic: &str, partition: i32, make: impl FnOnce() -> V) -> &mut V {
        // Names are looked up before they are copied: nearly always they are there.
        if !self.groups.contains_key(group_id) {
            self.groups.insert(group_id.into(), BTreeMap::new());
        }
        let topics = self.groups.get_mut(group_id).expect("it was made sure of");
        if !topics.contains_key(topic) {
            topics.insert(topic.into(), BTreeMap::new());
        }
        topics.get_mut(topic).expect("it was made sure of").entry(partition).or_insert_with(make)
    }

    /// Sets the value of a partition.
    pub fn insert(&mut self, group_id: &str, topic: &str, partition: i32, value: V) {
        let mut value = Some(value);
        let slot = self.get_or_insert_with(group_id, topic, partition, || value.take().expect("it is taken once"));
        if let Some(value) = value {
            *slot = value;
        }
    }

    /// All groups, with what they have.
    pub fn groups(&self) -> impl Iterator<Item = (&Arc<str>, &GroupPartitions<V>)> {
        self.groups.iter()
    }

    /// Every value with its group, topic and partition.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, i32, &V)> {
        self.groups.iter().flat_map(|(group_id, topics)| {
            topics
                .iter()
                .flat_map(move |(topic, partitions)| partitions.iter().map(move |(partition, value)| (group_id, topic, *partition, value)))
        })
    }
}
