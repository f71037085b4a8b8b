//! Control records: what marks the end of a transaction in a partition, and what KRaft writes about itself into the metadata log. Values
//! other than the transaction marker's are messages of the protocol and come in encoded.

use crate::builder::{BatchBuilder, BatchSettings, BuildError, ProducerFields};
use crate::header::NO_SEQUENCE;

const KEY_VERSION: i16 = 0;
const KEY_SIZE: usize = 4;
const MARKER_VERSION: i16 = 0;
const MARKER_SIZE: usize = 6;

/// What a control record says (`ControlRecordType`); the numbers stand in the record's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum ControlRecordType {
    /// A transaction was aborted.
    Abort = 0,
    /// A transaction was committed.
    Commit = 1,
    /// A voter became the leader of the metadata quorum (`LeaderChangeMessage`).
    LeaderChange = 2,
    /// The beginning of a metadata snapshot (`SnapshotHeaderRecord`).
    SnapshotHeader = 3,
    /// The end of a metadata snapshot (`SnapshotFooterRecord`).
    SnapshotFooter = 4,
    /// The quorum's feature level (`KRaftVersionRecord`).
    KRaftVersion = 5,
    /// The quorum's voters (`VotersRecord`).
    KRaftVoters = 6,
}

/// Why the key or value of a control record cannot be read. Kafka answers `INVALID_RECORD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlRecordError {
    /// The key is null or shorter than version and type.
    #[error("the key of a control record has {0} bytes")]
    KeySize(usize),
    /// The key's version is negative.
    #[error("the key of a control record has the version {0}")]
    KeyVersion(i16),
    /// The value of a transaction marker is null or shorter than version and coordinator epoch.
    #[error("the value of a transaction marker has {0} bytes")]
    MarkerSize(usize),
    /// The value's version is negative.
    #[error("the value of a transaction marker has the version {0}")]
    MarkerVersion(i16),
}

impl ControlRecordType {
    /// The key of a record of this type: version and number.
    pub const fn key(self) -> [u8; KEY_SIZE] {
        let [a, b] = KEY_VERSION.to_be_bytes();
        let [c, d] = (self as i16).to_be_bytes();
        [a, b, c, d]
    }

    /// The type that a control record's key names; `None` for types from the future, which are to be ignored. Higher versions of the key
    /// begin like the known one.
    pub fn parse(key: Option<&[u8]>) -> Result<Option<ControlRecordType>, ControlRecordError> {
        let key = key.unwrap_or_default();
        let [a, b, c, d] = *key.first_chunk::<KEY_SIZE>().ok_or(ControlRecordError::KeySize(key.len()))?;
        let version = i16::from_be_bytes([a, b]);
        if version < 0 {
            return Err(ControlRecordError::KeyVersion(version));
        }
        Ok(match i16::from_be_bytes([c, d]) {
            0 => Some(ControlRecordType::Abort),
            1 => Some(ControlRecordType::Commit),
            2 => Some(ControlRecordType::LeaderChange),
            3 => Some(ControlRecordType::SnapshotHeader),
            4 => Some(ControlRecordType::SnapshotFooter),
            5 => Some(ControlRecordType::KRaftVersion),
            6 => Some(ControlRecordType::KRaftVoters),
            _ => None,
        })
    }
}

/// How a transaction ended (`TransactionResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionResult {
    /// Its records are to be skipped by consumers that read committed ones.
    Abort,
    /// Its records count.
    Commit,
}

/// The control record at the end of a transaction (`EndTransactionMarker`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransactionMarker {
    /// How it ended.
    pub result: TransactionResult,
    /// The epoch of the transaction coordinator that decided so.
    pub coordinator_epoch: i32,
}

impl EndTransactionMarker {
    /// The type in the record's key.
    pub const fn control_type(&self) -> ControlRecordType {
        match self.result {
            TransactionResult::Abort => ControlRecordType::Abort,
            TransactionResult::Commit => ControlRecordType::Commit,
        }
    }

    /// The record's value: version and coordinator epoch (`EndTxnMarker.json`).
    pub const fn value(&self) -> [u8; MARKER_SIZE] {
        let [a, b] = MARKER_VERSION.to_be_bytes();
        let [c, d, e, f] = self.coordinator_epoch.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// Reads a control record; `None` when it is of another type.
    pub fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Option<EndTransactionMarker>, ControlRecordError> {
        let result = match ControlRecordType::parse(key)? {
            Some(ControlRecordType::Abort) => TransactionResult::Abort,
            Some(ControlRecordType::Commit) => TransactionResult::Commit,
            Some(
                ControlRecordType::LeaderChange
                | ControlRecordType::SnapshotHeader
                | ControlRecordType::SnapshotFooter
                | ControlRecordType::KRaftVersion
                | ControlRecordType::KRaftVoters,
            )
            | None => return Ok(None),
        };
        let value = value.unwrap_or_default();
        let [a, b, c, d, e, f] = *value.first_chunk::<MARKER_SIZE>().ok_or(ControlRecordError::MarkerSize(value.len()))?;
        let version = i16::from_be_bytes([a, b]);
        if version < 0 {
            return Err(ControlRecordError::MarkerVersion(version));
        }
        Ok(Some(EndTransactionMarker { result, coordinator_epoch: i32::from_be_bytes([c, d, e, f]) }))
    }

    /// The control batch with this marker, for the leader to append (`MemoryRecords.withEndTransactionMarker`).
    pub fn to_batch(&self, timestamp_ms: i64, producer_id: i64, producer_epoch: i16) -> Result<Vec<u8>, BuildError> {
        let mut builder = BatchBuilder::new(BatchSettings {
            producer: ProducerFields { producer_id, producer_epoch, base_sequence: NO_SEQUENCE },
            is_transactional: true,
            is_control: true,
            ..BatchSettings::default()
        })?;
        builder.append_control(timestamp_ms, self.control_type(), &self.value())?;
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_both_ways() {
        assert_eq!(ControlRecordType::KRaftVoters.key(), [0, 0, 0, 6]);
        for number in 0..=6u8 {
            let key = [0, 0, 0, number];
            assert_eq!(ControlRecordType::parse(Some(&key)).map(|found| found.map(ControlRecordType::key)), Ok(Some(key)));
        }
        assert_eq!(ControlRecordType::parse(Some(&[0, 0, 0, 7])), Ok(None));
        assert_eq!(ControlRecordType::parse(Some(&[0, 9, 0, 1, 5])), Ok(Some(ControlRecordType::Commit)));
        assert_eq!(ControlRecordType::parse(Some(&[0xff, 0xff, 0, 1])), Err(ControlRecordError::KeyVersion(-1)));
        assert_eq!(ControlRecordType::parse(Some(&[0, 0, 0])), Err(ControlRecordError::KeySize(3)));
        assert_eq!(ControlRecordType::parse(None), Err(ControlRecordError::KeySize(0)));
    }

    #[test]
    fn markers_go_both_ways() {
        for result in [TransactionResult::Abort, TransactionResult::Commit] {
            let marker = EndTransactionMarker { result, coordinator_epoch: 0x0102_0304 };
            assert_eq!(marker.value(), [0, 0, 1, 2, 3, 4]);
            assert_eq!(EndTransactionMarker::parse(Some(&marker.control_type().key()), Some(&marker.value())), Ok(Some(marker)));
        }
        assert_eq!(EndTransactionMarker::parse(Some(&ControlRecordType::LeaderChange.key()), None), Ok(None));
        let commit = ControlRecordType::Commit.key();
        assert_eq!(EndTransactionMarker::parse(Some(&commit), Some(&[0, 0, 1])), Err(ControlRecordError::MarkerSize(3)));
        assert_eq!(EndTransactionMarker::parse(Some(&commit), Some(&[0xff, 0xfe, 0, 0, 0, 0])), Err(ControlRecordError::MarkerVersion(-2)));
    }
}
