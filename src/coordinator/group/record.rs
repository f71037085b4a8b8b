//! The records that a shard writes, and their bytes: Kafka's versions of keys and values (`GroupCoordinatorRecordHelpers`).

use bytes::Bytes;
use ottla_protocol::messages::group_metadata_key::GroupMetadataKey;
use ottla_protocol::messages::group_metadata_value::GroupMetadataValue;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::{EncodeError, Message, Writer};

use super::outcome::CoordinatorRecord;

/// The version in which Kafka 4.4 writes groups.
const GROUP_METADATA_VALUE_VERSION: i16 = 3;
/// The version in which Kafka 4.4 writes offsets.
const OFFSET_COMMIT_VALUE_VERSION: i16 = 4;
/// The only version that has an expiry time, written when an old client asks for one.
const OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY: i16 = 1;

/// A record before it is bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GroupRecord {
    /// An offset; without a value, its deletion.
    OffsetCommit { key: OffsetCommitKey, value: Option<OffsetCommitValue> },
    /// A classic group; without a value, its deletion.
    GroupMetadata { group_id: String, value: Option<GroupMetadataValue> },
}

impl GroupRecord {
    /// The deletion of an offset.
    pub fn offset_tombstone(group_id: &str, topic: &str, partition: i32) -> GroupRecord {
        let key = OffsetCommitKey { group: group_id.to_owned(), topic: topic.to_owned(), partition, ..Default::default() };
        GroupRecord::OffsetCommit { key, value: None }
    }

    /// The deletion of a group.
    pub fn group_tombstone(group_id: &str) -> GroupRecord {
        GroupRecord::GroupMetadata { group_id: group_id.to_owned(), value: None }
    }

    /// The record's bytes. Fails when a name from a request is too long for the record's string fields.
    pub fn encode(&self) -> Result<CoordinatorRecord, EncodeError> {
        match self {
            GroupRecord::OffsetCommit { key, value } => Ok(CoordinatorRecord {
                key: encode_key(key)?,
                value: value.as_ref().map(|value| encode_value(value, offset_commit_value_version(value))).transpose()?,
            }),
            GroupRecord::GroupMetadata { group_id, value } => Ok(CoordinatorRecord {
                key: encode_key(&GroupMetadataKey { group: group_id.clone(), ..Default::default() })?,
                value: value.as_ref().map(|value| encode_value(value, GROUP_METADATA_VALUE_VERSION)).transpose()?,
            }),
        }
    }
}

fn offset_commit_value_version(value: &OffsetCommitValue) -> i16 {
    if value.expire_timestamp == -1 { OFFSET_COMMIT_VALUE_VERSION } else { OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY }
}

fn encode_key<K: Message>(key: &K) -> Result<Bytes, EncodeError> {
    encode_prefixed(key, K::API_KEY, 0)
}

fn encode_value<V: Message>(value: &V, version: i16) -> Result<Bytes, EncodeError> {
    encode_prefixed(value, version, version)
}

fn encode_prefixed<M: Message>(message: &M, prefix: i16, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    writer.i16(prefix);
    message.encode(&mut writer, version)?;
    writer.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_written_in_version_4_and_with_an_expiry_in_version_1() {
        let key = OffsetCommitKey { group: "g".into(), topic: "t".into(), partition: 2, ..Default::default() };
        let mut value = OffsetCommitValue { offset: 7, leader_epoch: 3, commit_timestamp: 9, ..Default::default() };
        let record = GroupRecord::OffsetCommit { key: key.clone(), value: Some(value.clone()) }.encode().unwrap();
        assert_eq!(&record.key[..], b"\0\x01\0\x01g\0\x01t\0\0\0\x02");
        let bytes = record.value.unwrap();
        assert_eq!(&bytes[..2], b"\0\x04");
        assert_eq!(&bytes[2..], b"\0\0\0\0\0\0\0\x07\0\0\0\x03\x01\0\0\0\0\0\0\0\x09\0");

        value.expire_timestamp = 11;
        let record = GroupRecord::OffsetCommit { key, value: Some(value) }.encode().unwrap();
        assert_eq!(&record.value.unwrap()[..], b"\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x0b");
    }

    #[test]
    fn a_group_is_written_in_version_3() {
        let value = GroupMetadataValue { protocol_type: "consumer".into(), generation: 1, ..Default::default() };
        let value = GroupMetadataValue { protocol: None, leader: None, current_state_timestamp: 5, ..value };
        let record = GroupRecord::GroupMetadata { group_id: "g".into(), value: Some(value) }.encode().unwrap();
        assert_eq!(&record.key[..], b"\0\x02\0\x01g");
        assert_eq!(&record.value.unwrap()[..], b"\0\x03\0\x08consumer\0\0\0\x01\xff\xff\xff\xff\0\0\0\0\0\0\0\x05\0\0\0\0");
    }

    #[test]
    fn a_name_that_does_not_fit_is_refused() {
        assert!(GroupRecord::group_tombstone(&"g".repeat(40_000)).encode().is_err());
    }
}
