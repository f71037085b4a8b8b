//! Offsets that go: by OffsetDelete, with their group, or with their topic.

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::offset_delete_request::OffsetDeleteRequest;
use ottla_protocol::messages::offset_delete_response::{OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};

use crate::group::effects::Effects;
use crate::group::events::GroupEvent;
use crate::group::group_map::Group;
use crate::group::outcome::Outcome;
use crate::group::record::GroupRecord;
use crate::group::shard::GroupCoordinatorShard;

/// A topic that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedTopic {
    /// Its name, which a new topic may have by now.
    pub name: String,
    /// Its id.
    pub topic_id: Uuid,
}

impl GroupCoordinatorShard {
    /// Handles OffsetDelete; partitions exist (`deleteOffsets` of `OffsetMetadataManager`).
    pub(in crate::group) fn delete_offsets(
        &self,
        request: &OffsetDeleteRequest,
        effects: &mut Effects,
    ) -> Result<OffsetDeleteResponse, ErrorCode> {
        let group = match self.groups.get(&request.group_id) {
            None => return Err(ErrorCode::GroupIdNotFound),
            Some(Group::NotServed(_)) => return Err(ErrorCode::NonEmptyGroup),
            Some(Group::Classic(group)) => group,
        };
        group.validate_offset_delete()?;
        let mut records = Vec::new();
        let topics = request.topics.iter().map(|topic| {
            let is_subscribed = group.is_subscribed_to(&topic.name);
            let error = if is_subscribed { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None };
            let partitions = topic.partitions.iter().map(|partition| {
                let partition = partition.partition_index;
                if !is_subscribed && self.has_offset(&request.group_id, &topic.name, partition) {
                    records.push(GroupRecord::offset_tombstone(&request.group_id, &topic.name, partition));
                }
                OffsetDeleteResponsePartition { partition_index: partition, error_code: error as i16, ..Default::default() }
            });
            let partitions = partitions.collect();
            OffsetDeleteResponseTopic { name: topic.name.clone(), partitions, ..OffsetDeleteResponseTopic::default() }
        });
        let response = OffsetDeleteResponse { topics: topics.collect(), ..OffsetDeleteResponse::default() };
        effects.write_state(records, true);
        Ok(response)
    }

    fn has_offset(&self, group_id: &str, topic: &str, partition: i32) -> bool {
        self.offsets.get(group_id, topic, partition).is_some() || self.offsets.is_pending(group_id, topic, partition)
    }

    /// The tombstones of all offsets of a group, one for each partition, pending ones included.
    pub(in crate::group) fn tombstones_of_group(&self, group_id: &str, records: &mut Vec<GroupRecord>) {
        for (topic, partitions) in self.offsets.of_group(group_id).into_iter().flatten() {
            records.extend(partitions.keys().map(|&partition| GroupRecord::offset_tombstone(group_id, topic, partition)));
        }
        for (topic, partition) in self.offsets.pending_partitions(group_id) {
            if self.offsets.get(group_id, topic, partition).is_none() {
                records.push(GroupRecord::offset_tombstone(group_id, topic, partition));
            }
        }
    }

    /// Topics are gone, and with them their offsets: those of this topic id, and those of before there were ids.
    pub fn on_topics_deleted(&mut self, now_ms: i64, topics: &[DeletedTopic]) -> Outcome {
        let mut records = Vec::new();
        for topic in topics {
            let offsets = self.offsets.of_topic(&topic.name);
            let gone = offsets.filter(|(_, _, offset)| offset.topic_id.is_zero() || offset.topic_id == topic.topic_id);
            records.extend(gone.map(|(group_id, partition, _)| GroupRecord::offset_tombstone(group_id, &topic.name, partition)));
        }
        let mut effects = Effects::default();
        if !records.is_empty() {
            effects.events.push(GroupEvent::TombstonesWritten { count: records.len() });
        }
        effects.write_state(records, false);
        self.finish(now_ms, effects, None)
    }
}
