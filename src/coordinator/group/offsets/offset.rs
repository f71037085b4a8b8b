//! One committed offset, from a request or a record and back.

use ottla_model::Uuid;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;

/// An offset as it was committed (`OffsetAndMetadata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct OffsetAndMetadata {
    /// Where the record of it is; decides which of a plain and a transactional commit is the later one.
    pub record_offset: i64,
    /// The next offset to read. Any number, as Kafka takes them.
    pub committed_offset: i64,
    /// The leader epoch of the last record read.
    pub leader_epoch: Option<i32>,
    /// The client's note.
    pub metadata: String,
    /// When it was committed, in milliseconds since 1970.
    pub commit_timestamp_ms: i64,
    /// When it expires, if an old client asked for that.
    pub expire_timestamp_ms: Option<i64>,
    /// The topic's id; zero in records of before there were ids.
    pub topic_id: Uuid,
}

impl OffsetAndMetadata {
    /// The offset of a record of the log.
    pub fn from_record(record_offset: i64, value: OffsetCommitValue) -> OffsetAndMetadata {
        OffsetAndMetadata {
            record_offset,
            committed_offset: value.offset,
            leader_epoch: (value.leader_epoch != -1).then_some(value.leader_epoch),
            metadata: value.metadata,
            commit_timestamp_ms: value.commit_timestamp,
            expire_timestamp_ms: (value.expire_timestamp != -1).then_some(value.expire_timestamp),
            topic_id: value.topic_id,
        }
    }
}
