//! Control records of the metadata log as bytes: the key is version and type (`ControlRecordType`), the value is the message.

use bytes::Bytes;
use ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use ottla_protocol::messages::leader_change_message::LeaderChangeMessage;
use ottla_protocol::messages::snapshot_footer_record::SnapshotFooterRecord;
use ottla_protocol::messages::snapshot_header_record::SnapshotHeaderRecord;
use ottla_protocol::messages::voters_record::VotersRecord;
use ottla_protocol::{DecodeError, Message};
use ottla_raft::ControlRecord;

const KEY_VERSION: i16 = 0;
const KEY_LENGTH: usize = 4;

const LEADER_CHANGE: i16 = 2;
const SNAPSHOT_HEADER: i16 = 3;
const SNAPSHOT_FOOTER: i16 = 4;
const KRAFT_VERSION: i16 = 5;
const KRAFT_VOTERS: i16 = 6;

/// The version of all messages in control records (`ControlRecordUtils`); each repeats its version in its first field.
const MESSAGE_VERSION: i16 = 0;

/// Why bytes are not a control record of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlRecordError {
    /// The key is none.
    #[error("a control record's key has {0} bytes")]
    Key(usize),
    /// The value is null.
    #[error("a control record has no value")]
    NoValue,
    /// The type does not belong into this log.
    #[error("control records of type {0} do not belong into the metadata log")]
    UnknownType(i16),
    /// The value is not the message that the key says.
    #[error("a control record of type {record_type}: {error}")]
    Value {
        /// The type.
        record_type: i16,
        /// What is wrong with the value.
        error: DecodeError,
    },
}

/// The record's key and value.
pub(super) fn encode(record: &ControlRecord) -> ([u8; KEY_LENGTH], Bytes) {
    let (record_type, value) = match record {
        ControlRecord::LeaderChange(message) => (LEADER_CHANGE, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::SnapshotHeader(message) => (SNAPSHOT_HEADER, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::SnapshotFooter(message) => (SNAPSHOT_FOOTER, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::KRaftVersion(message) => (KRAFT_VERSION, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::Voters(message) => (KRAFT_VOTERS, message.to_bytes(MESSAGE_VERSION)),
    };
    let value = value.expect("version 0 can carry every field that is set in these messages");
    let [[a, b], [c, d]] = [KEY_VERSION.to_be_bytes(), record_type.to_be_bytes()];
    ([a, b, c, d], value)
}

/// The record with this key and value.
pub(super) fn decode(key: &[u8], value: Option<&[u8]>) -> Result<ControlRecord, ControlRecordError> {
    let &[_, _, high, low] = key else { return Err(ControlRecordError::Key(key.len())) };
    let value = Bytes::copy_from_slice(value.ok_or(ControlRecordError::NoValue)?);
    let record_type = i16::from_be_bytes([high, low]);
    let record = match record_type {
        LEADER_CHANGE => LeaderChangeMessage::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::LeaderChange),
        SNAPSHOT_HEADER => SnapshotHeaderRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::SnapshotHeader),
        SNAPSHOT_FOOTER => SnapshotFooterRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::SnapshotFooter),
        KRAFT_VERSION => KRaftVersionRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::KRaftVersion),
        KRAFT_VOTERS => VotersRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::Voters),
        unknown => return Err(ControlRecordError::UnknownType(unknown)),
    };
    record.map_err(|error| ControlRecordError::Value { record_type, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_header_is_kafkas() {
        let header = SnapshotHeaderRecord { version: 0, last_contained_log_timestamp: 0x0000_01a2_316a_6dfb, ..Default::default() };
        let (key, value) = encode(&ControlRecord::SnapshotHeader(header.clone()));
        assert_eq!(key, [0, 0, 0, 3]);
        // As `kafka-storage.sh format` of 4.4.0 wrote it.
        assert_eq!(&value[..], [0, 0, 0, 0, 1, 0xa2, 0x31, 0x6a, 0x6d, 0xfb, 0]);
        assert_eq!(decode(&key, Some(&value)), Ok(ControlRecord::SnapshotHeader(header)));
    }

    #[test]
    fn what_is_no_control_record_is_refused() {
        assert_eq!(decode(&[0, 0], Some(&[])), Err(ControlRecordError::Key(2)));
        assert_eq!(decode(&[0, 0, 0, 3], None), Err(ControlRecordError::NoValue));
        assert_eq!(decode(&[0, 0, 0, 1], Some(&[])), Err(ControlRecordError::UnknownType(1)));
        assert!(matches!(decode(&[0, 0, 0, 3], Some(&[0])), Err(ControlRecordError::Value { record_type: 3, .. })));
    }
}
