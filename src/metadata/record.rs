//! The records of the metadata log: one enum over all their types, and their bytes in Kafka's frame.
//!
//! A record's value is `frame version (1), record type, version` as unsigned varints, then the message
//! (`AbstractApiMessageSerde`, `MetadataRecordSerde`). Which version a record is written at follows from the metadata.version.
//! This file knows nothing of what a record means.

use bytes::Bytes;
use ottla_protocol::messages::{
    abort_transaction_record::AbortTransactionRecord, access_control_entry_record::AccessControlEntryRecord,
    begin_transaction_record::BeginTransactionRecord, broker_registration_change_record::BrokerRegistrationChangeRecord,
    clear_elr_record::ClearElrRecord, client_quota_record::ClientQuotaRecord, config_record::ConfigRecord,
    delegation_token_record::DelegationTokenRecord, end_transaction_record::EndTransactionRecord, feature_level_record::FeatureLevelRecord,
    fence_broker_record::FenceBrokerRecord, no_op_record::NoOpRecord, partition_change_record::PartitionChangeRecord,
    partition_record::PartitionRecord, producer_ids_record::ProducerIdsRecord, register_broker_record::RegisterBrokerRecord,
    register_controller_record::RegisterControllerRecord, remove_access_control_entry_record::RemoveAccessControlEntryRecord,
    remove_delegation_token_record::RemoveDelegationTokenRecord, remove_topic_record::RemoveTopicRecord,
    remove_user_scram_credential_record::RemoveUserScramCredentialRecord, topic_record::TopicRecord,
    unfence_broker_record::UnfenceBrokerRecord, unregister_broker_record::UnregisterBrokerRecord,
    unregister_controller_record::UnregisterControllerRecord, user_scram_credential_record::UserScramCredentialRecord,
    zk_migration_state_record::ZkMigrationStateRecord,
};
use ottla_protocol::{DecodeError, EncodeError, Message, Reader, Writer};

use crate::metadata_version::MetadataVersion;

/// The only frame that Kafka writes since 3.0.
const FRAME_VERSION: u32 = 1;

/// Why bytes are not a metadata record (`MetadataParseException`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataParseError {
    /// Written by the preview of KRaft in 2.8.
    #[error(
        "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft in 2.8 \
         to newer versions are not supported."
    )]
    FrameOfPreview,
    /// A frame of a later Kafka.
    #[error("Could not deserialize metadata record due to unknown frame version {0} (only frame version {FRAME_VERSION} is supported)")]
    UnknownFrame(u32),
    /// The frame's numbers are cut off or too large.
    #[error("Error while reading {field} of a metadata record: {error}")]
    Frame {
        /// Which of the frame's numbers.
        field: &'static str,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// A frame's number is larger than 32,767.
    #[error("Value for {field} of a metadata record was too large.")]
    TooLarge {
        /// Which of the frame's numbers.
        field: &'static str,
    },
    /// A record type that this release does not know.
    #[error("Unknown metadata id {0}")]
    UnknownType(i16),
    /// The message itself does not decode.
    #[error("Failed to deserialize record with type {record_type}: {error}")]
    Message {
        /// The record's type.
        record_type: i16,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// Bytes are left over.
    #[error("Found {length} byte(s) of garbage after {record_type}")]
    Garbage {
        /// The record's type.
        record_type: i16,
        /// How many bytes.
        length: usize,
    },
}

macro_rules! metadata_records {
    ($($variant:ident($message:ty)),* $(,)?) => {
        /// A record of the metadata log.
        #[derive(Clone, Debug, PartialEq)]
        pub enum MetadataRecord {
            $(#[doc = concat!("`", stringify!($message), "`.")] $variant($message),)*
        }

        $(impl From<$message> for MetadataRecord {
            fn from(message: $message) -> MetadataRecord {
                MetadataRecord::$variant(message)
            }
        })*

        impl MetadataRecord {
            /// The record's type: Kafka's `apiKey` of the message.
            pub fn record_type(&self) -> i16 {
                match self { $(MetadataRecord::$variant(_) => <$message as Message>::API_KEY,)* }
            }

            /// Kafka's name of the record, e.g. `TopicRecord`.
            pub fn name(&self) -> &'static str {
                match self { $(MetadataRecord::$variant(_) => <$message as Message>::NAME,)* }
            }

            fn encode_message(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
                match self { $(MetadataRecord::$variant(message) => message.encode(writer, version),)* }
            }

            fn decode_message(record_type: i16, version: i16, reader: &mut Reader) -> Result<MetadataRecord, MetadataParseError> {
                $(if record_type == <$message as Message>::API_KEY {
                    return match <$message as Message>::decode(reader, version) {
                        Ok(message) => Ok(MetadataRecord::$variant(message)),
                        Err(error) => Err(MetadataParseError::Message { record_type, error }),
                    };
                })*
                Err(MetadataParseError::UnknownType(record_type))
            }
        }
    };
}

metadata_records! {
    RegisterBroker(RegisterBrokerRecord),
    UnregisterBroker(UnregisterBrokerRecord),
    Topic(TopicRecord),
    Partition(PartitionRecord),
    Config(ConfigRecord),
    PartitionChange(PartitionChangeRecord),
    FenceBroker(FenceBrokerRecord),
    UnfenceBroker(UnfenceBrokerRecord),
    RemoveTopic(RemoveTopicRecord),
    DelegationToken(DelegationTokenRecord),
    UserScramCredential(UserScramCredentialRecord),
    FeatureLevel(FeatureLevelRecord),
    ClientQuota(ClientQuotaRecord),
    ProducerIds(ProducerIdsRecord),
    BrokerRegistrationChange(BrokerRegistrationChangeRecord),
    AccessControlEntry(AccessControlEntryRecord),
    RemoveAccessControlEntry(RemoveAccessControlEntryRecord),
    NoOp(NoOpRecord),
    ZkMigrationState(ZkMigrationStateRecord),
    RemoveUserScramCredential(RemoveUserScramCredentialRecord),
    BeginTransaction(BeginTransactionRecord),
    EndTransaction(EndTransactionRecord),
    AbortTransaction(AbortTransactionRecord),
    RemoveDelegationToken(RemoveDelegationTokenRecord),
    RegisterController(RegisterControllerRecord),
    ClearElr(ClearElrRecord),
    UnregisterController(UnregisterControllerRecord),
}

impl MetadataRecord {
    /// The version that this record is written at while the cluster is at `metadata_version`.
    pub fn version(&self, metadata_version: MetadataVersion) -> i16 {
        match self {
            MetadataRecord::RegisterBroker(_) => metadata_version.register_broker_record_version(),
            MetadataRecord::Partition(_) => metadata_version.partition_record_version(),
            MetadataRecord::PartitionChange(_) => metadata_version.partition_change_record_version(),
            MetadataRecord::BrokerRegistrationChange(change) => broker_registration_change_version(change),
            MetadataRecord::UnregisterBroker(_)
            | MetadataRecord::Topic(_)
            | MetadataRecord::Config(_)
            | MetadataRecord::FenceBroker(_)
            | MetadataRecord::UnfenceBroker(_)
            | MetadataRecord::RemoveTopic(_)
            | MetadataRecord::DelegationToken(_)
            | MetadataRecord::UserScramCredential(_)
            | MetadataRecord::FeatureLevel(_)
            | MetadataRecord::ClientQuota(_)
            | MetadataRecord::ProducerIds(_)
            | MetadataRecord::AccessControlEntry(_)
            | MetadataRecord::RemoveAccessControlEntry(_)
            | MetadataRecord::NoOp(_)
            | MetadataRecord::ZkMigrationState(_)
            | MetadataRecord::RemoveUserScramCredential(_)
            | MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_)
            | MetadataRecord::RemoveDelegationToken(_)
            | MetadataRecord::RegisterController(_)
            | MetadataRecord::ClearElr(_)
            | MetadataRecord::UnregisterController(_) => 0,
        }
    }

    /// The record's value in the log, at the version that `metadata_version` asks for. Fails when the record carries what that version
    /// cannot express.
    pub fn to_bytes(&self, metadata_version: MetadataVersion) -> Result<Bytes, EncodeError> {
        let version = self.version(metadata_version);
        let mut writer = Writer::new();
        writer.unsigned_varint(FRAME_VERSION);
        writer.unsigned_varint(self.record_type() as u32);
        writer.unsigned_varint(version as u32);
        self.encode_message(&mut writer, version)?;
        writer.into_bytes()
    }

    /// The record with this value. Byte fields are slices of `value` and pin it.
    pub fn from_bytes(value: Bytes) -> Result<MetadataRecord, MetadataParseError> {
        let mut reader = Reader::new(value);
        match frame_number(&mut reader, "frame version")? {
            0 => return Err(MetadataParseError::FrameOfPreview),
            1 => {}
            other => return Err(MetadataParseError::UnknownFrame(other as u32)),
        }
        let record_type = frame_number(&mut reader, "type")?;
        let version = frame_number(&mut reader, "version")?;
        let record = MetadataRecord::decode_message(record_type, version, &mut reader)?;
        match reader.remaining() {
            0 => Ok(record),
            length => Err(MetadataParseError::Garbage { record_type, length }),
        }
    }
}

/// Kafka writes each of these changes at the version that brought its field.
fn broker_registration_change_version(change: &BrokerRegistrationChangeRecord) -> i16 {
    if change.cordoned_log_dirs.is_some() {
        3
    } else if !change.log_dirs.is_empty() {
        2
    } else if change.in_controlled_shutdown != 0 {
        1
    } else {
        0
    }
}

fn frame_number(reader: &mut Reader, field: &'static str) -> Result<i16, MetadataParseError> {
    let number = reader.unsigned_varint().map_err(|error| MetadataParseError::Frame { field, error })?;
    i16::try_from(number).map_err(|_| MetadataParseError::TooLarge { field })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_model::Uuid;

    fn topic() -> MetadataRecord {
        TopicRecord { name: "foo".into(), topic_id: Uuid::from_u64_pair(1, 2), ..Default::default() }.into()
    }

    #[test]
    fn a_topic_record_has_kafkas_bytes() {
        let bytes = topic().to_bytes(MetadataVersion::LATEST).unwrap();
        let mut expected = vec![1, 2, 0, 4];
        expected.extend(b"foo");
        expected.extend(1u64.to_be_bytes());
        expected.extend(2u64.to_be_bytes());
        expected.push(0);
        assert_eq!(bytes, expected);
        assert_eq!(MetadataRecord::from_bytes(bytes), Ok(topic()));
    }

    #[test]
    fn versions_follow_the_metadata_version() {
        let partition: MetadataRecord = PartitionRecord::default().into();
        let broker: MetadataRecord = RegisterBrokerRecord::default().into();
        let change: MetadataRecord = PartitionChangeRecord::default().into();
        for (level, partition_version, broker_version) in
            [(7, 0, 1), (8, 0, 2), (16, 0, 2), (17, 1, 3), (22, 1, 3), (23, 2, 3), (30, 2, 4), (33, 2, 4)]
        {
            let version = MetadataVersion::from_feature_level(level).unwrap();
            assert_eq!(partition.version(version), partition_version, "partition at {level}");
            assert_eq!(change.version(version), partition_version, "partition change at {level}");
            assert_eq!(broker.version(version), broker_version, "broker at {level}");
        }
    }

    #[test]
    fn what_a_version_cannot_carry_is_refused() {
        let record: MetadataRecord = PartitionRecord { eligible_leader_replicas: Some(vec![1]), ..Default::default() }.into();
        assert!(record.to_bytes(MetadataVersion::from_feature_level(22).unwrap()).is_err());
        assert!(record.to_bytes(MetadataVersion::from_feature_level(23).unwrap()).is_ok());
    }

    #[test]
    fn broken_frames_are_named() {
        let parse = |bytes: &'static [u8]| MetadataRecord::from_bytes(Bytes::from_static(bytes)).unwrap_err();
        assert_eq!(parse(&[0, 2, 0]), MetadataParseError::FrameOfPreview);
        assert_eq!(parse(&[2, 2, 0]), MetadataParseError::UnknownFrame(2));
        assert_eq!(parse(&[1, 0xff, 0x7f, 0]), MetadataParseError::UnknownType(16383));
        assert_eq!(parse(&[1, 0xff, 0x7f, 0]).to_string(), "Unknown metadata id 16383");
        assert_eq!(parse(&[1, 0x80, 0x80, 2, 0]), MetadataParseError::TooLarge { field: "type" });
        assert!(matches!(parse(&[1, 2]), MetadataParseError::Frame { field: "version", .. }));
        assert_eq!(parse(&[1, 20, 0, 0, 7, 7]), MetadataParseError::Garbage { record_type: 20, length: 2 });
        assert!(matches!(parse(&[1, 2, 1, 0]), MetadataParseError::Message { record_type: 2, .. }));
    }
}
