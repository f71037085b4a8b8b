//! `<offset>.snapshot`: the producers of a log up to an offset (`ProducerSnapshot`, version 1).
//!
//! ```text
//! 0 version i16 = 1 | 2 CRC-32C u32 of all that follows | 6 count i32 | 10 entries of 46 bytes:
//!   producer id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64,
//!   coordinator epoch i32, first offset of the open transaction i64 (-1 for none)
//! ```
//! Only the last batch of a producer is kept.

use super::{BatchMetadata, ProducerEntry};

const VERSION: i16 = 1;
const CRC_AT: usize = 2;
const ENTRIES_AT: usize = 6;
const ENTRY_BYTES: usize = 46;

/// Why a snapshot cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SnapshotError {
    #[error("the snapshot is cut short")]
    Truncated,
    #[error("unknown snapshot version {0}")]
    UnknownVersion(i16),
    #[error("the stored CRC {stored} is not the computed {computed}")]
    Crc { stored: u32, computed: u32 },
}

pub(super) fn encode<'a>(producers: impl ExactSizeIterator<Item = (i64, &'a ProducerEntry)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRIES_AT + 4 + producers.len() * ENTRY_BYTES);
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend((producers.len() as i32).to_be_bytes());
    for (producer_id, entry) in producers {
        let batch = entry.last_batch();
        bytes.extend(producer_id.to_be_bytes());
        bytes.extend(entry.producer_epoch.to_be_bytes());
        bytes.extend(entry.last_sequence().to_be_bytes());
        bytes.extend(batch.map_or(-1, |batch| batch.last_offset).to_be_bytes());
        bytes.extend(batch.map_or(0, |batch| batch.offset_delta).to_be_bytes());
        bytes.extend(entry.last_timestamp.to_be_bytes());
        bytes.extend(entry.coordinator_epoch.to_be_bytes());
        bytes.extend(entry.transaction_first_offset.unwrap_or(-1).to_be_bytes());
    }
    let crc = crc32c::crc32c(&bytes[ENTRIES_AT..]);
    bytes[CRC_AT..ENTRIES_AT].copy_from_slice(&crc.to_be_bytes());
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<(i64, ProducerEntry)>, SnapshotError> {
    let mut header = Reader { rest: bytes };
    let version = i16::from_be_bytes(header.take().ok_or(SnapshotError::Truncated)?);
    if version != VERSION {
        return Err(SnapshotError::UnknownVersion(version));
    }
    let stored = u32::from_be_bytes(header.take().ok_or(SnapshotError::Truncated)?);
    let computed = crc32c::crc32c(&bytes[ENTRIES_AT..]);
    if stored != computed {
        return Err(SnapshotError::Crc { stored, computed });
    }
    let mut entries = Reader { rest: &bytes[ENTRIES_AT..] };
    let count = i32::from_be_bytes(entries.take().ok_or(SnapshotError::Truncated)?);
    (0..count).map(|_| entries.entry().ok_or(SnapshotError::Truncated)).collect()
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn entry(&mut self) -> Option<(i64, ProducerEntry)> {
        let producer_id = i64::from_be_bytes(self.take()?);
        let producer_epoch = i16::from_be_bytes(self.take()?);
        let last_sequence = i32::from_be_bytes(self.take()?);
        let last_offset = i64::from_be_bytes(self.take()?);
        let offset_delta = i32::from_be_bytes(self.take()?);
        let timestamp = i64::from_be_bytes(self.take()?);
        let mut entry = ProducerEntry::unknown();
        entry.producer_epoch = producer_epoch;
        entry.last_timestamp = timestamp;
        entry.coordinator_epoch = i32::from_be_bytes(self.take()?);
        let transaction_first_offset = i64::from_be_bytes(self.take()?);
        entry.transaction_first_offset = (transaction_first_offset >= 0).then_some(transaction_first_offset);
        if last_offset >= 0 {
            entry.add_batch(producer_epoch, BatchMetadata { last_sequence, last_offset, offset_delta, timestamp });
        }
        Some((producer_id, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producer() -> ProducerEntry {
        let mut entry = ProducerEntry::unknown();
        entry.add_batch(3, BatchMetadata { last_sequence: 9, last_offset: 29, offset_delta: 4, timestamp: 1000 });
        entry.transaction_first_offset = Some(25);
        entry.coordinator_epoch = 2;
        entry
    }

    #[test]
    fn goes_both_ways() {
        let entry = producer();
        let mut idle = ProducerEntry::unknown();
        idle.producer_epoch = 1;
        idle.last_timestamp = 5;
        let bytes = encode([(7, &entry), (8, &idle)].into_iter());
        assert_eq!(bytes.len(), 10 + 2 * 46);
        assert_eq!(bytes[..2], [0, 1]);
        assert_eq!(bytes[6..20], [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 3]);
        assert_eq!(decode(&bytes).unwrap(), [(7, entry), (8, idle)]);
    }

    #[test]
    fn damage_is_noticed() {
        let good = encode([(7, &producer())].into_iter());
        let mut bytes = good.clone();
        bytes[30] ^= 1;
        assert!(matches!(decode(&bytes), Err(SnapshotError::Crc { .. })));
        assert!(matches!(decode(&good[..40]), Err(SnapshotError::Crc { .. })));
        assert_eq!(decode(&good[..5]), Err(SnapshotError::Truncated));
        assert_eq!(decode(&[]), Err(SnapshotError::Truncated));
        bytes[1] = 2;
        assert_eq!(decode(&bytes), Err(SnapshotError::UnknownVersion(2)));
    }
}
