//! OffsetFetch (`fetchOffsets` and `fetchAllOffsets` of `OffsetMetadataManager`). One group at a time: the groups of a request may
//! live in several shards.

use std::collections::BTreeMap;

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::messages::offset_fetch_response::{OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics};

use super::offset::OffsetAndMetadata;
use crate::group::shard::GroupCoordinatorShard;

/// No offset.
const INVALID_OFFSET: i64 = -1;

impl GroupCoordinatorShard {
    /// The offsets of a group. With `require_stable`, partitions that an open transaction has an offset for are refused.
    pub(in crate::group) fn fetch(&self, request: &OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup {
        // A group that does not exist has no offsets; that is no error.
        let exists = self.groups.get(&request.group_id).is_some();
        let topics = match &request.topics {
            Some(topics) => topics.iter().map(|topic| self.fetch_topic(&request.group_id, topic, exists, require_stable)).collect(),
            None if exists => self.fetch_all_topics(&request.group_id, require_stable),
            None => Vec::new(),
        };
        OffsetFetchResponseGroup { group_id: request.group_id.clone(), topics, ..OffsetFetchResponseGroup::default() }
    }

    fn fetch_topic(
        &self,
        group_id: &str,
        topic: &OffsetFetchRequestTopics,
        exists: bool,
        require_stable: bool,
    ) -> OffsetFetchResponseTopics {
        let committed = if exists { self.offsets.of_group(group_id).and_then(|topics| topics.get(topic.name.as_str())) } else { None };
        let partitions = topic.partition_indexes.iter().map(|&partition| {
            if require_stable && self.offsets.is_pending(group_id, &topic.name, partition) {
                return unstable(partition);
            }
            let offset = committed.and_then(|partitions: &BTreeMap<i32, OffsetAndMetadata>| partitions.get(&partition));
            // An offset of a topic that was deleted, and created again under another id, is not one of this topic.
            match offset.filter(|offset| is_of_topic(offset, topic.topic_id)) {
                Some(offset) => stable(partition, offset),
                None => no_offset(partition, ErrorCode::None),
            }
        });
        OffsetFetchResponseTopics {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partitions: partitions.collect(),
            ..OffsetFetchResponseTopics::default()
        }
    }

    fn fetch_all_topics(&self, group_id: &str, require_stable: bool) -> Vec<OffsetFetchResponseTopics> {
        let topics = self.offsets.of_group(group_id).into_iter().flatten().map(|(topic, partitions)| {
            let partitions = partitions.iter().map(|(&partition, offset)| {
                if require_stable && self.offsets.is_pending(group_id, topic, partition) {
                    unstable(partition)
                } else {
                    stable(partition, offset)
                }
            });
            // The topic's id is filled in by who knows the cluster's topics.
            OffsetFetchResponseTopics {
                name: topic.to_string(),
                topic_id: Uuid::ZERO,
                partitions: partitions.collect(),
                ..OffsetFetchResponseTopics::default()
            }
        });
        topics.collect()
    }
}

fn is_of_topic(offset: &OffsetAndMetadata, topic_id: Uuid) -> bool {
    offset.topic_id.is_zero() || topic_id.is_zero() || offset.topic_id == topic_id
}

fn stable(partition: i32, offset: &OffsetAndMetadata) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: partition,
        committed_offset: offset.committed_offset,
        committed_leader_epoch: offset.leader_epoch.unwrap_or(-1),
        metadata: Some(offset.metadata.clone()),
        ..OffsetFetchResponsePartitions::default()
    }
}

fn unstable(partition: i32) -> OffsetFetchResponsePartitions {
    no_offset(partition, ErrorCode::UnstableOffsetCommit)
}

/// The answer for a partition of which there is no offset to tell.
pub(super) fn no_offset(partition: i32, error: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: partition,
        committed_offset: INVALID_OFFSET,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code: error as i16,
        ..OffsetFetchResponsePartitions::default()
    }
}
