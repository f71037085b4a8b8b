//! The records of `__transaction_state` (`TransactionLog`).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_model::TopicPartition;
use ottla_protocol::messages::transaction_log_key::TransactionLogKey;
use ottla_protocol::messages::transaction_log_value::{PartitionsSchema, TransactionLogValue};
use ottla_protocol::{DecodeError, EncodeError, Message, Reader, Writer};

use super::metadata::{NO_PRODUCER_EPOCH, TransactionMetadata};
use super::state::TransactionState;
use crate::group::CoordinatorRecord;

/// What a record says of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// The transactional id.
    pub transactional_id: String,
    /// What is known of it; `None` is a tombstone.
    pub metadata: Option<TransactionMetadata>,
}

/// Why a record is not part of the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionRecordError {
    /// Kafka 4.4 does not know the type of the key. It warns and goes on.
    #[error("unknown record type {0}")]
    UnknownType(i16),
    /// Kafka 4.4 does not know the version of the value. It warns and goes on.
    #[error("unknown value version {0}")]
    UnknownVersion(i16),
    /// The key or the value is not what its version says.
    #[error("a record that cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
    /// The state has a number that Kafka 4.4 does not know.
    #[error("unknown transaction state {0}")]
    UnknownState(i8),
}

/// The tombstone of a transactional id.
pub fn tombstone(transactional_id: &str) -> Result<CoordinatorRecord, EncodeError> {
    Ok(CoordinatorRecord { key: encode_key(transactional_id)?, value: None })
}

/// The record of a transactional id at the cluster's level of `transaction.version`: from level 1 on values have tagged fields.
pub fn encode(transactional_id: &str, metadata: &TransactionMetadata, transaction_version: i16) -> Result<CoordinatorRecord, EncodeError> {
    let version = i16::from(transaction_version >= 1);
    let mut value = TransactionLogValue {
        producer_id: metadata.producer_id,
        producer_epoch: metadata.producer_epoch,
        transaction_timeout_ms: metadata.timeout_ms,
        transaction_status: metadata.state as i8,
        transaction_partitions: (metadata.state != TransactionState::Empty).then(|| by_topic(&metadata.partitions)),
        transaction_last_update_timestamp_ms: metadata.last_update_timestamp_ms,
        transaction_start_timestamp_ms: metadata.start_timestamp_ms,
        ..TransactionLogValue::default()
    };
    if version >= 1 {
        value.previous_producer_id = metadata.previous_producer_id;
        value.next_producer_id = metadata.next_producer_id;
        value.client_transaction_version = metadata.client_transaction_version;
    }
    let mut writer = Writer::new();
    writer.i16(version);
    value.encode(&mut writer, version)?;
    Ok(CoordinatorRecord { key: encode_key(transactional_id)?, value: Some(writer.into_bytes()?) })
}

fn by_topic(partitions: &BTreeSet<TopicPartition>) -> Vec<PartitionsSchema> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(&partition.topic).or_default().push(partition.partition);
    }
    let schema =
        |(topic, partition_ids): (&str, _)| PartitionsSchema { topic: topic.to_owned(), partition_ids, ..PartitionsSchema::default() };
    topics.into_iter().map(schema).collect()
}

fn encode_key(transactional_id: &str) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    writer.i16(TransactionLogKey::API_KEY);
    TransactionLogKey { transactional_id: transactional_id.to_owned(), ..TransactionLogKey::default() }.encode(&mut writer, 0)?;
    writer.into_bytes()
}

/// Reads a record.
pub fn decode(key: Bytes, value: Option<Bytes>) -> Result<TransactionRecord, TransactionRecordError> {
    let mut reader = Reader::new(key);
    let record_type = reader.i16()?;
    if record_type != TransactionLogKey::API_KEY {
        return Err(TransactionRecordError::UnknownType(record_type));
    }
    let transactional_id = TransactionLogKey::decode(&mut reader, 0)?.transactional_id;
    let metadata = value.map(decode_value).transpose()?;
    Ok(TransactionRecord { transactional_id, metadata })
}

fn decode_value(value: Bytes) -> Result<TransactionMetadata, TransactionRecordError> {
    let mut reader = Reader::new(value);
    let version = reader.i16()?;
    if !TransactionLogValue::supports(version) {
        return Err(TransactionRecordError::UnknownVersion(version));
    }
    let value = TransactionLogValue::decode(&mut reader, version)?;
    let state =
        TransactionState::from_id(value.transaction_status).ok_or(TransactionRecordError::UnknownState(value.transaction_status))?;
    let topics = value.transaction_partitions.unwrap_or_default();
    let partitions = topics.iter().flat_map(|schema| {
        let topic: std::sync::Arc<str> = schema.topic.as_str().into();
        schema.partition_ids.iter().map(move |&partition| TopicPartition { topic: topic.clone(), partition })
    });
    Ok(TransactionMetadata {
        producer_id: value.producer_id,
        previous_producer_id: value.previous_producer_id,
        next_producer_id: value.next_producer_id,
        producer_epoch: value.producer_epoch,
        last_producer_epoch: NO_PRODUCER_EPOCH,
        timeout_ms: value.transaction_timeout_ms,
        state,
        partitions: if state == TransactionState::Empty { BTreeSet::new() } else { partitions.collect() },
        start_timestamp_ms: value.transaction_start_timestamp_ms,
        last_update_timestamp_ms: value.transaction_last_update_timestamp_ms,
        client_transaction_version: value.client_transaction_version,
    })
}
