//! Keys and values of records as text: as they are, or as the messages that internal topics hold. A message is printed with all of its
//! fields.

use std::fmt::Debug;

use bytes::Bytes;
use ottla_metadata::MetadataRecord;
use ottla_protocol::messages::{
    consumer_group_current_member_assignment_key, consumer_group_current_member_assignment_value, consumer_group_member_metadata_key,
    consumer_group_member_metadata_value, consumer_group_metadata_key, consumer_group_metadata_value,
    consumer_group_partition_metadata_key, consumer_group_partition_metadata_value, consumer_group_regular_expression_key,
    consumer_group_regular_expression_value, consumer_group_target_assignment_member_key, consumer_group_target_assignment_member_value,
    consumer_group_target_assignment_metadata_key, consumer_group_target_assignment_metadata_value, group_metadata_key,
    group_metadata_value, k_raft_version_record, leader_change_message, legacy_offset_commit_key, legacy_offset_commit_value,
    offset_commit_key, offset_commit_value, share_snapshot_key, share_snapshot_value, share_update_key, share_update_value,
    snapshot_footer_record, snapshot_header_record, transaction_log_key, transaction_log_value, voters_record,
};
use ottla_protocol::{DecodeError, Message, Reader};
use ottla_record::{ControlRecordType, Record};

use super::DecoderArgs;

/// What the records are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decoder {
    /// UTF-8, what is not replaced.
    Text,
    /// `__cluster_metadata`
    ClusterMetadata,
    /// `__consumer_offsets`
    Offsets,
    /// `__transaction_state`
    TransactionLog,
    /// `__share_group_state`
    ShareGroupState,
}

impl Decoder {
    pub(super) fn of(args: &DecoderArgs) -> Decoder {
        match args {
            DecoderArgs { offsets_decoder: true, .. } => Decoder::Offsets,
            DecoderArgs { transaction_log_decoder: true, .. } => Decoder::TransactionLog,
            DecoderArgs { cluster_metadata_decoder: true, .. } => Decoder::ClusterMetadata,
            DecoderArgs { share_group_state_decoder: true, .. } => Decoder::ShareGroupState,
            DecoderArgs { .. } => Decoder::Text,
        }
    }

    /// Key and value; `None` where there is nothing to print.
    pub(super) fn decode(self, record: &Record<'_>) -> (Option<String>, Option<String>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Decoder::Text => (record.key.map(text), record.value.map(text)),
            Decoder::ClusterMetadata => {
                let value = Bytes::copy_from_slice(record.value.unwrap_or_default());
                let decoded = MetadataRecord::from_bytes(value).map(|record| shown(&record));
                (None, Some(decoded.unwrap_or_else(|error| format!("Error at {}, skipping. {error}", record.offset))))
            }
            Decoder::Offsets => coordinator(record, group_record),
            Decoder::TransactionLog => coordinator(record, transaction_record),
            Decoder::ShareGroupState => coordinator(record, share_record),
        }
    }
}

type Decoded = Result<(String, Option<String>), DecodeError>;
type DecodeRecord = fn(i16, &[u8], Option<&[u8]>) -> Option<Decoded>;

/// A coordinator's record: the key begins with the record's type, the value with its version.
fn coordinator(record: &Record<'_>, decode: DecodeRecord) -> (Option<String>, Option<String>) {
    let offset = record.offset;
    let Some((record_type, key)) = record.key.and_then(|key| key.split_first_chunk()) else {
        return (Some(format!("Failed to decode message at offset {offset} (message had a missing key)")), None);
    };
    let record_type = i16::from_be_bytes(*record_type);
    match decode(record_type, key, record.value) {
        Some(Ok((key, value))) => (Some(key), Some(value.unwrap_or_else(|| "<DELETE>".to_owned()))),
        Some(Err(error)) => (Some(format!("Error at offset {offset}, skipping. {error}")), None),
        None => (Some(format!("Unknown record type {record_type} at offset {offset}, skipping.")), None),
    }
}

fn pair<K: Message + Debug, V: Message + Debug>(key: &[u8], value: Option<&[u8]>) -> Decoded {
    let key = K::decode(&mut Reader::new(Bytes::copy_from_slice(key)), 0)?;
    let Some(value) = value else { return Ok((shown(&key), None)) };
    let mut reader = Reader::new(Bytes::copy_from_slice(value));
    let version = reader.i16()?;
    let value = V::decode(&mut reader, version)?;
    Ok((shown(&key), Some(format!("version {version}: {}", shown(&value)))))
}

macro_rules! record_types {
    ($record_type:expr, $key:expr, $value:expr, { $($number:literal => $key_module:ident::$key_type:ident, $value_module:ident::$value_type:ident;)* }) => {
        match $record_type {
            $($number => Some(pair::<$key_module::$key_type, $value_module::$value_type>($key, $value)),)*
            _ => None,
        }
    };
}

fn group_record(record_type: i16, key: &[u8], value: Option<&[u8]>) -> Option<Decoded> {
    record_types!(record_type, key, value, {
        0 => legacy_offset_commit_key::LegacyOffsetCommitKey, legacy_offset_commit_value::LegacyOffsetCommitValue;
        1 => offset_commit_key::OffsetCommitKey, offset_commit_value::OffsetCommitValue;
        2 => group_metadata_key::GroupMetadataKey, group_metadata_value::GroupMetadataValue;
        3 => consumer_group_metadata_key::ConsumerGroupMetadataKey, consumer_group_metadata_value::ConsumerGroupMetadataValue;
        4 => consumer_group_partition_metadata_key::ConsumerGroupPartitionMetadataKey,
            consumer_group_partition_metadata_value::ConsumerGroupPartitionMetadataValue;
        5 => consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey,
            consumer_group_member_metadata_value::ConsumerGroupMemberMetadataValue;
        6 => consumer_group_target_assignment_metadata_key::ConsumerGroupTargetAssignmentMetadataKey,
            consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;
        7 => consumer_group_target_assignment_member_key::ConsumerGroupTargetAssignmentMemberKey,
            consumer_group_target_assignment_member_value::ConsumerGroupTargetAssignmentMemberValue;
        8 => consumer_group_current_member_assignment_key::ConsumerGroupCurrentMemberAssignmentKey,
            consumer_group_current_member_assignment_value::ConsumerGroupCurrentMemberAssignmentValue;
        16 => consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey,
            consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;
    })
}

fn transaction_record(record_type: i16, key: &[u8], value: Option<&[u8]>) -> Option<Decoded> {
    record_types!(record_type, key, value, {
        0 => transaction_log_key::TransactionLogKey, transaction_log_value::TransactionLogValue;
    })
}

fn share_record(record_type: i16, key: &[u8], value: Option<&[u8]>) -> Option<Decoded> {
    record_types!(record_type, key, value, {
        0 => share_snapshot_key::ShareSnapshotKey, share_snapshot_value::ShareSnapshotValue;
        1 => share_update_key::ShareUpdateKey, share_update_value::ShareUpdateValue;
    })
}

/// A control record of the metadata log, to be put behind the record's other facts.
pub(super) fn control_record(record: &Record<'_>) -> String {
    let value = Bytes::copy_from_slice(record.value.unwrap_or_default());
    let (name, decoded) = match ControlRecordType::parse(record.key) {
        Ok(Some(ControlRecordType::LeaderChange)) => ("LeaderChange:", message::<leader_change_message::LeaderChangeMessage>(value)),
        Ok(Some(ControlRecordType::SnapshotHeader)) => ("SnapshotHeader", message::<snapshot_header_record::SnapshotHeaderRecord>(value)),
        Ok(Some(ControlRecordType::SnapshotFooter)) => ("SnapshotFooter", message::<snapshot_footer_record::SnapshotFooterRecord>(value)),
        Ok(Some(ControlRecordType::KRaftVersion)) => ("KRaftVersion", message::<k_raft_version_record::KRaftVersionRecord>(value)),
        Ok(Some(ControlRecordType::KRaftVoters)) => ("KRaftVoters", message::<voters_record::VotersRecord>(value)),
        Ok(Some(ControlRecordType::Commit | ControlRecordType::Abort)) | Ok(None) => ("controlType:", Ok("unknown".to_owned())),
        Err(error) => return format!(" {error}"),
    };
    match decoded {
        Ok(text) => format!(" {name} {text}"),
        Err(error) => format!(" {name} {error}"),
    }
}

/// The first field of these messages is their version.
fn message<M: Message + Debug>(value: Bytes) -> Result<String, DecodeError> {
    let version = Reader::new(value.clone()).i16()?;
    M::from_bytes(value, version).map(|message| shown(&message))
}

/// The message without what hardly ever has anything in it.
fn shown(message: &impl Debug) -> String {
    format!("{message:?}").replace(", unknown_tagged_fields: []", "").replace("{ unknown_tagged_fields: [] }", "{}")
}
