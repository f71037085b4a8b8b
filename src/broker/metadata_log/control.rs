//! Control records of the metadata log as bytes: the key is version and type (`ControlRecordType`), the value is the message.

use bytes::Bytes;
use ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord;
use ottla_protocol::messages::leader_change_message::LeaderChangeMessage;
use ottla_protocol::messages::snapshot_footer_record::SnapshotFooterRecord;
use ottla_protocol::messages::snapshot_header_record::SnapshotHeaderRecord;
use ottla_protocol::messages::voters_record::VotersRecord;
use ottla_protocol::{DecodeError, Message};
use ottla_raft::ControlRecord;
use ottla_record::ControlRecordType;

/// The version of all messages in control records (`ControlRecordUtils`); each repeats its version in its first field.
const MESSAGE_VERSION: i16 = 0;

/// Why bytes are not a control record of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlRecordError {
    /// The key is none.
    #[error(transparent)]
    Key(#[from] ottla_record::ControlRecordError),
    /// The value is null.
    #[error("a control record has no value")]
    NoValue,
    /// The type does not belong into this log; `None` if this release does not know it.
    #[error("control records of type {0:?} do not belong into the metadata log")]
    UnexpectedType(Option<ControlRecordType>),
    /// The value is not the message that the key says.
    #[error("a control record of type {record_type:?}: {error}")]
    Value {
        /// The type.
        record_type: ControlRecordType,
        /// What is wrong with the value.
        error: DecodeError,
    },
}

/// The record's type and value.
pub(super) fn encode(record: &ControlRecord) -> (ControlRecordType, Bytes) {
    let (record_type, value) = match record {
        ControlRecord::LeaderChange(message) => (ControlRecordType::LeaderChange, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::SnapshotHeader(message) => (ControlRecordType::SnapshotHeader, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::SnapshotFooter(message) => (ControlRecordType::SnapshotFooter, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::KRaftVersion(message) => (ControlRecordType::KRaftVersion, message.to_bytes(MESSAGE_VERSION)),
        ControlRecord::Voters(message) => (ControlRecordType::KRaftVoters, message.to_bytes(MESSAGE_VERSION)),
    };
    (record_type, value.expect("version 0 can carry every field that is set in these messages"))
}

/// The record with this key and value.
pub(super) fn decode(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<ControlRecord, ControlRecordError> {
    let record_type = ControlRecordType::parse(key)?.ok_or(ControlRecordError::UnexpectedType(None))?;
    let value = Bytes::copy_from_slice(value.ok_or(ControlRecordError::NoValue)?);
    let record = match record_type {
        ControlRecordType::LeaderChange => LeaderChangeMessage::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::LeaderChange),
        ControlRecordType::SnapshotHeader => SnapshotHeaderRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::SnapshotHeader),
        ControlRecordType::SnapshotFooter => SnapshotFooterRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::SnapshotFooter),
        ControlRecordType::KRaftVersion => KRaftVersionRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::KRaftVersion),
        ControlRecordType::KRaftVoters => VotersRecord::from_bytes(value, MESSAGE_VERSION).map(ControlRecord::Voters),
        ControlRecordType::Abort | ControlRecordType::Commit => {
            return Err(ControlRecordError::UnexpectedType(Some(record_type)));
        }
    };
    record.map_err(|error| ControlRecordError::Value { record_type, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_header_is_kafkas() {
        let header = SnapshotHeaderRecord { version: 0, last_contained_log_timestamp: 0x0000_01a2_316a_6dfb, ..Default::default() };
        let (record_type, value) = encode(&ControlRecord::SnapshotHeader(header.clone()));
        assert_eq!(record_type, ControlRecordType::SnapshotHeader);
        // As `kafka-storage.sh format` of 4.4.0 wrote it.
        assert_eq!(&value[..], [0, 0, 0, 0, 1, 0xa2, 0x31, 0x6a, 0x6d, 0xfb, 0]);
        assert_eq!(decode(Some(&record_type.key()), Some(&value)), Ok(ControlRecord::SnapshotHeader(header)));
    }

    #[test]
    fn what_is_no_control_record_is_refused() {
        let header = ControlRecordType::SnapshotHeader;
        assert!(matches!(decode(Some(&[0, 0]), Some(&[])), Err(ControlRecordError::Key(_))));
        assert_eq!(decode(Some(&header.key()), None), Err(ControlRecordError::NoValue));
        let commit = ControlRecordType::Commit;
        assert_eq!(decode(Some(&commit.key()), Some(&[])), Err(ControlRecordError::UnexpectedType(Some(commit))));
        assert_eq!(decode(Some(&[0, 0, 0, 99]), Some(&[])), Err(ControlRecordError::UnexpectedType(None)));
        let cut_short = decode(Some(&header.key()), Some(&[0]));
        assert!(matches!(cut_short, Err(ControlRecordError::Value { record_type, .. }) if record_type == header));
    }
}
