//! All offsets of a shard: the committed ones, and those of transactions that are still open. Changes only in replay.

use std::collections::{BTreeMap, BTreeSet};

use super::offset::OffsetAndMetadata;
use super::partition_map::{GroupPartitions, PartitionMap};

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionResult {
    /// What it did counts.
    Commit,
    /// It never was.
    Abort,
}

/// The offsets of all groups of a shard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::group) struct OffsetStore {
    committed: PartitionMap<OffsetAndMetadata>,
    /// By producer id.
    pending: BTreeMap<i64, PartitionMap<OffsetAndMetadata>>,
    /// The producers with a pending offset of a partition; never an empty set.
    open_transactions: PartitionMap<BTreeSet<i64>>,
}

impl OffsetStore {
    /// A plain commit.
    pub fn commit(&mut self, group_id: &str, topic: &str, partition: i32, offset: OffsetAndMetadata) {
        self.committed.insert(group_id, topic, partition, offset);
    }

    /// A commit that counts once the producer's transaction is committed.
    pub fn commit_pending(&mut self, producer_id: i64, group_id: &str, topic: &str, partition: i32, offset: OffsetAndMetadata) {
        self.pending.entry(producer_id).or_default().insert(group_id, topic, partition, offset);
        self.open_transactions.get_or_insert_with(group_id, topic, partition, BTreeSet::new).insert(producer_id);
    }

    /// A deletion, which takes pending commits of the partition with it.
    pub fn remove(&mut self, group_id: &str, topic: &str, partition: i32) {
        self.committed.remove(group_id, topic, partition);
        for producer_id in self.open_transactions.remove(group_id, topic, partition).unwrap_or_default() {
            if let Some(pending) = self.pending.get_mut(&producer_id) {
                pending.remove(group_id, topic, partition);
            }
        }
    }

    /// The end of a producer's transaction. Of a pending and a plain commit, the one whose record is later counts: compaction may have
    /// removed the other's traces.
    pub fn end_transaction(&mut self, producer_id: i64, result: TransactionResult) {
        let Some(pending) = self.pending.remove(&producer_id) else { return };
        for (group_id, topic, partition, offset) in pending.iter() {
            if let Some(producers) = self.open_producers_mut(group_id, topic, partition) {
                producers.remove(&producer_id);
                if producers.is_empty() {
                    self.open_transactions.remove(group_id, topic, partition);
                }
            }
            let existing = self.committed.get(group_id, topic, partition);
            let is_later = existing.is_none_or(|existing| offset.record_offset > existing.record_offset);
            if result == TransactionResult::Commit && is_later {
                self.committed.insert(group_id, topic, partition, offset.clone());
            }
        }
    }

    fn open_producers_mut(&mut self, group_id: &str, topic: &str, partition: i32) -> Option<&mut BTreeSet<i64>> {
        self.open_transactions.get(group_id, topic, partition)?;
        Some(self.open_transactions.get_or_insert_with(group_id, topic, partition, BTreeSet::new))
    }

    /// The committed offset of a partition.
    pub fn get(&self, group_id: &str, topic: &str, partition: i32) -> Option<&OffsetAndMetadata> {
        self.committed.get(group_id, topic, partition)
    }

    /// The committed offsets of a group; `None` when there are none.
    pub fn of_group(&self, group_id: &str) -> Option<&GroupPartitions<OffsetAndMetadata>> {
        self.committed.group(group_id)
    }

    /// Whether an open transaction has an offset for the partition.
    pub fn is_pending(&self, group_id: &str, topic: &str, partition: i32) -> bool {
        self.open_transactions.get(group_id, topic, partition).is_some()
    }

    /// Whether an open transaction has an offset for the group.
    pub fn has_open_transactions(&self, group_id: &str) -> bool {
        self.open_transactions.group(group_id).is_some()
    }

    /// The partitions for which open transactions have offsets of the group.
    pub fn pending_partitions(&self, group_id: &str) -> impl Iterator<Item = (&str, i32)> {
        let topics = self.open_transactions.group(group_id).into_iter().flatten();
        topics.flat_map(|(topic, partitions)| partitions.keys().map(move |partition| (&**topic, *partition)))
    }

    /// Every offset of a topic, pending ones included, with its group and partition.
    pub fn of_topic<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = (&'a str, i32, &'a OffsetAndMetadata)> {
        let stores = std::iter::once(&self.committed).chain(self.pending.values());
        stores.flat_map(move |store| {
            store
                .groups()
                .filter_map(move |(group_id, topics)| Some((group_id, topics.get(topic)?)))
                .flat_map(|(group_id, partitions)| partitions.iter().map(move |(partition, offset)| (&**group_id, *partition, offset)))
        })
    }
}
