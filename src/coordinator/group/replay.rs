//! Records into state: the only way in which what the log holds comes into a shard, be it while loading or after a write.

use bytes::Bytes;
use ottla_protocol::messages::consumer_group_metadata_key::ConsumerGroupMetadataKey;
use ottla_protocol::messages::group_metadata_key::GroupMetadataKey;
use ottla_protocol::messages::group_metadata_value::GroupMetadataValue;
use ottla_protocol::messages::legacy_offset_commit_value::LegacyOffsetCommitValue;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::messages::share_group_metadata_key::ShareGroupMetadataKey;
use ottla_protocol::messages::streams_group_metadata_key::StreamsGroupMetadataKey;
use ottla_protocol::{DecodeError, Message, Reader};

use super::classic::ClassicGroup;
use super::offsets::OffsetAndMetadata;
use super::record::GroupRecord;
use super::record_type::{GroupType, RecordType};
use super::shard::GroupCoordinatorShard;

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOrigin {
    /// Its offset in the partition.
    pub offset: i64,
    /// The producer of its batch; -1 unless the batch is transactional.
    pub producer_id: i64,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// It is part of the state.
    Applied,
    /// It belongs to a group protocol that is not served; it was passed over.
    Skipped(RecordType),
}

/// Why a record is not part of the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Kafka 4.4 does not know the type. Kafka warns and goes on: it may be a left-over of an upgrade that was given up.
    #[error("unknown record type {0}")]
    UnknownType(i16),
    /// The key or the value is not what its version says.
    #[error("a record that cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
    /// A group with members names no protocol for them.
    #[error("group {group_id} has members and no protocol")]
    MembersWithoutProtocol {
        /// The group.
        group_id: String,
    },
}

impl GroupCoordinatorShard {
    /// Applies a record of the log. A known type is never an error unless its bytes are.
    pub fn replay(&mut self, origin: RecordOrigin, key: Bytes, value: Option<Bytes>) -> Result<Replayed, ReplayError> {
        let mut reader = Reader::new(key);
        let code = reader.i16()?;
        let record_type = RecordType::from_code(code).ok_or(ReplayError::UnknownType(code))?;
        match record_type {
            RecordType::LegacyOffsetCommit => {
                let key = OffsetCommitKey::decode(&mut reader, 0)?;
                let value = value.map(decode_value::<LegacyOffsetCommitValue>).transpose()?;
                self.replay_offset(origin, key, value.map(from_legacy));
            }
            RecordType::OffsetCommit => {
                let key = OffsetCommitKey::decode(&mut reader, 0)?;
                self.replay_offset(origin, key, value.map(decode_value).transpose()?);
            }
            RecordType::GroupMetadata => {
                let key = GroupMetadataKey::decode(&mut reader, 0)?;
                self.replay_group(key.group, value.map(decode_value).transpose()?)?;
            }
            RecordType::ConsumerGroupMetadata => {
                let key = ConsumerGroupMetadataKey::decode(&mut reader, 0)?;
                self.note_group_not_served(&key.group_id, GroupType::Consumer, value.is_some());
                return Ok(Replayed::Skipped(record_type));
            }
            RecordType::ShareGroupMetadata => {
                let key = ShareGroupMetadataKey::decode(&mut reader, 0)?;
                self.note_group_not_served(&key.group_id, GroupType::Share, value.is_some());
                return Ok(Replayed::Skipped(record_type));
            }
            RecordType::StreamsGroupMetadata => {
                let key = StreamsGroupMetadataKey::decode(&mut reader, 0)?;
                self.note_group_not_served(&key.group_id, GroupType::Streams, value.is_some());
                return Ok(Replayed::Skipped(record_type));
            }
            RecordType::ConsumerGroupPartitionMetadata
            | RecordType::ConsumerGroupMemberMetadata
            | RecordType::ConsumerGroupTargetAssignmentMetadata
            | RecordType::ConsumerGroupTargetAssignmentMember
            | RecordType::ConsumerGroupCurrentMemberAssignment
            | RecordType::ConsumerGroupRegularExpression
            | RecordType::ShareGroupMemberMetadata
            | RecordType::ShareGroupTargetAssignmentMetadata
            | RecordType::ShareGroupTargetAssignmentMember
            | RecordType::ShareGroupCurrentMemberAssignment
            | RecordType::ShareGroupStatePartitionMetadata
            | RecordType::StreamsGroupMemberMetadata
            | RecordType::StreamsGroupTargetAssignmentMetadata
            | RecordType::StreamsGroupTargetAssignmentMember
            | RecordType::StreamsGroupCurrentMemberAssignment
            | RecordType::StreamsGroupTopology => return Ok(Replayed::Skipped(record_type)),
        }
        Ok(Replayed::Applied)
    }

    /// Applies a record that this shard has written.
    pub(super) fn replay_written(&mut self, origin: RecordOrigin, record: GroupRecord) {
        match record {
            GroupRecord::OffsetCommit { key, value } => self.replay_offset(origin, key, value),
            GroupRecord::GroupMetadata { group_id, value } => {
                self.replay_group(group_id, value).expect("a group is only written with a protocol for its members")
            }
        }
    }

    fn replay_offset(&mut self, origin: RecordOrigin, key: OffsetCommitKey, value: Option<OffsetCommitValue>) {
        let Some(value) = value else {
            self.offsets.remove(&key.group, &key.topic, key.partition);
            return;
        };
        // Offsets of a group without members make it: the "simple group".
        self.groups.ensure(&key.group, value.commit_timestamp);
        let offset = OffsetAndMetadata::from_record(origin.offset, value);
        if origin.producer_id == -1 {
            self.offsets.commit(&key.group, &key.topic, key.partition, offset);
        } else {
            self.offsets.commit_pending(origin.producer_id, &key.group, &key.topic, key.partition, offset);
        }
    }

    fn replay_group(&mut self, group_id: String, value: Option<GroupMetadataValue>) -> Result<(), ReplayError> {
        match value {
            Some(value) => self.groups.insert_classic(ClassicGroup::from_record(group_id, value)?),
            None => self.groups.remove(&group_id, GroupType::Classic),
        }
        Ok(())
    }

    fn note_group_not_served(&mut self, group_id: &str, group_type: GroupType, exists: bool) {
        if exists {
            self.groups.note_not_served(group_id, group_type);
        } else {
            self.groups.remove(group_id, group_type);
        }
    }
}

fn decode_value<V: Message>(bytes: Bytes) -> Result<V, DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.i16()?;
    V::decode(&mut reader, version)
}

fn from_legacy(value: LegacyOffsetCommitValue) -> OffsetCommitValue {
    OffsetCommitValue {
        offset: value.offset,
        metadata: value.metadata,
        commit_timestamp: value.commit_timestamp,
        ..OffsetCommitValue::default()
    }
}
