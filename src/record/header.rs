//! The 61 bytes in front of every batch's records (`DefaultRecordBatch`), parsed into plain fields and back. Big endian throughout.
//!
//! ```text
//!  0 base offset i64            21 attributes i16            43 producer id i64
//!  8 batch length i32           23 last offset delta i32     51 producer epoch i16
//! 12 partition leader epoch i32 27 base timestamp i64        53 base sequence i32
//! 16 magic i8                   35 max timestamp i64         57 records count i32
//! 17 CRC-32C of bytes 21.. u32                               61 records
//! ```
//! Knows nothing of the records behind the header and does not check the CRC.

use crate::attributes::{Attributes, CompressionType, TimestampType, UnknownCompressionType};

/// Bytes of base offset and batch length, which the batch length does not count.
pub const LOG_OVERHEAD: usize = 12;
/// Bytes of a whole header: the size of a batch without records.
pub const BATCH_OVERHEAD: usize = 61;
/// Bytes after which the magic is known.
pub const MAGIC_END: usize = 17;
/// The smallest batch length of format v2.
pub const BATCH_LENGTH_MIN: i32 = (BATCH_OVERHEAD - LOG_OVERHEAD) as i32;
/// The smallest length of any format, that of a v0 message (`LegacyRecord.RECORD_OVERHEAD_V0`): anything below is garbage.
pub const LEGACY_BATCH_LENGTH_MIN: i32 = 14;
/// The only format that is written: v2.
pub const CURRENT_MAGIC: i8 = 2;
/// A record or batch without a timestamp.
pub const NO_TIMESTAMP: i64 = -1;
/// A batch of a plain producer.
pub const NO_PRODUCER_ID: i64 = -1;
/// The epoch of a plain producer.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// The base sequence of a plain producer.
pub const NO_SEQUENCE: i32 = -1;
/// The leader epoch of a batch that no leader has stamped yet.
pub const NO_PARTITION_LEADER_EPOCH: i32 = -1;
/// No offset is known.
pub const NO_OFFSET: i64 = -1;

pub(crate) const BASE_OFFSET_AT: usize = 0;
pub(crate) const LENGTH_AT: usize = 8;
pub(crate) const PARTITION_LEADER_EPOCH_AT: usize = 12;
pub(crate) const MAGIC_AT: usize = 16;
pub(crate) const CRC_AT: usize = 17;
pub(crate) const ATTRIBUTES_AT: usize = 21;
const LAST_OFFSET_DELTA_AT: usize = 23;
const BASE_TIMESTAMP_AT: usize = 27;
pub(crate) const MAX_TIMESTAMP_AT: usize = 35;
const PRODUCER_ID_AT: usize = 43;
const PRODUCER_EPOCH_AT: usize = 51;
const BASE_SEQUENCE_AT: usize = 53;
const RECORDS_COUNT_AT: usize = 57;

/// Why bytes are not the header of a v2 batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer than [`BATCH_OVERHEAD`] bytes.
    #[error("a batch header has {BATCH_OVERHEAD} bytes, only {0} are there")]
    Truncated(usize),
    /// The batch length is too small for the header that it counts.
    #[error("the batch length {0} is smaller than the minimum of {BATCH_LENGTH_MIN}")]
    LengthTooSmall(i32),
    /// A v0 or v1 message, which Kafka wrote before 0.11 and 4.x does not accept from clients.
    #[error("the message format v{0} is not supported")]
    LegacyMagic(i8),
    /// A magic that no format has.
    #[error("invalid magic {0}")]
    InvalidMagic(i8),
}

/// The header of a v2 batch, as it is on the wire and on disk. Only length and magic are known to be sane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record of the batch as it was produced.
    pub base_offset: i64,
    /// Bytes that follow this field; at least [`BATCH_LENGTH_MIN`].
    pub batch_length: i32,
    /// The epoch of the leader that appended the batch; outside of the CRC.
    pub partition_leader_epoch: i32,
    /// The format, always [`CURRENT_MAGIC`].
    pub magic: i8,
    /// CRC-32C of everything behind this field.
    pub crc: u32,
    /// Codec, timestamp type and flags.
    pub attributes: Attributes,
    /// The last record's offset relative to `base_offset`, as produced: compaction does not change it.
    pub last_offset_delta: i32,
    /// What the records' timestamp deltas count from, in ms since the epoch; the delete horizon when that bit is set.
    pub base_timestamp: i64,
    /// The largest timestamp of the records, or the time of the append, in ms since the epoch.
    pub max_timestamp: i64,
    /// The idempotent producer, or [`NO_PRODUCER_ID`].
    pub producer_id: i64,
    /// The producer's epoch, or [`NO_PRODUCER_EPOCH`].
    pub producer_epoch: i16,
    /// The first record's sequence number, or [`NO_SEQUENCE`].
    pub base_sequence: i32,
    /// Records that are really there: fewer than the offsets span in a compacted log, none in a batch kept for its producer's sake.
    pub records_count: i32,
}

impl BatchHeader {
    /// Reads a header from the front of `bytes`; the records need not be there.
    pub fn parse(bytes: &[u8]) -> Result<BatchHeader, HeaderError> {
        let Some(header) = bytes.first_chunk::<BATCH_OVERHEAD>() else {
            return Err(HeaderError::Truncated(bytes.len()));
        };
        let batch_length = i32::from_be_bytes(field(header, LENGTH_AT));
        if batch_length < LEGACY_BATCH_LENGTH_MIN {
            return Err(HeaderError::LengthTooSmall(batch_length));
        }
        let magic = check_magic(header[MAGIC_AT] as i8)?;
        if batch_length < BATCH_LENGTH_MIN {
            return Err(HeaderError::LengthTooSmall(batch_length));
        }
        Ok(BatchHeader {
            base_offset: i64::from_be_bytes(field(header, BASE_OFFSET_AT)),
            batch_length,
            partition_leader_epoch: i32::from_be_bytes(field(header, PARTITION_LEADER_EPOCH_AT)),
            magic,
            crc: u32::from_be_bytes(field(header, CRC_AT)),
            attributes: Attributes(i16::from_be_bytes(field(header, ATTRIBUTES_AT))),
            last_offset_delta: i32::from_be_bytes(field(header, LAST_OFFSET_DELTA_AT)),
            base_timestamp: i64::from_be_bytes(field(header, BASE_TIMESTAMP_AT)),
            max_timestamp: i64::from_be_bytes(field(header, MAX_TIMESTAMP_AT)),
            producer_id: i64::from_be_bytes(field(header, PRODUCER_ID_AT)),
            producer_epoch: i16::from_be_bytes(field(header, PRODUCER_EPOCH_AT)),
            base_sequence: i32::from_be_bytes(field(header, BASE_SEQUENCE_AT)),
            records_count: i32::from_be_bytes(field(header, RECORDS_COUNT_AT)),
        })
    }

    /// The bytes of this header, the CRC as it stands in the field.
    pub fn to_bytes(&self) -> [u8; BATCH_OVERHEAD] {
        let mut bytes = [0; BATCH_OVERHEAD];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(BASE_OFFSET_AT, &self.base_offset.to_be_bytes());
        put(LENGTH_AT, &self.batch_length.to_be_bytes());
        put(PARTITION_LEADER_EPOCH_AT, &self.partition_leader_epoch.to_be_bytes());
        put(MAGIC_AT, &self.magic.to_be_bytes());
        put(CRC_AT, &self.crc.to_be_bytes());
        put(ATTRIBUTES_AT, &self.attributes.0.to_be_bytes());
        put(LAST_OFFSET_DELTA_AT, &self.last_offset_delta.to_be_bytes());
        put(BASE_TIMESTAMP_AT, &self.base_timestamp.to_be_bytes());
        put(MAX_TIMESTAMP_AT, &self.max_timestamp.to_be_bytes());
        put(PRODUCER_ID_AT, &self.producer_id.to_be_bytes());
        put(PRODUCER_EPOCH_AT, &self.producer_epoch.to_be_bytes());
        put(BASE_SEQUENCE_AT, &self.base_sequence.to_be_bytes());
        put(RECORDS_COUNT_AT, &self.records_count.to_be_bytes());
        bytes
    }

    /// Bytes of the whole batch, header included; at least [`BATCH_OVERHEAD`].
    pub const fn size_in_bytes(&self) -> usize {
        self.batch_length as usize + LOG_OVERHEAD
    }

    /// The offset of the last record as produced, whether or not compaction has left it there.
    pub const fn last_offset(&self) -> i64 {
        self.base_offset.wrapping_add(self.last_offset_delta as i64)
    }

    /// The offset behind the last record.
    pub const fn next_offset(&self) -> i64 {
        self.last_offset().wrapping_add(1)
    }

    /// The last record's sequence number, or [`NO_SEQUENCE`]; sequence numbers begin at 0 again after `i32::MAX`.
    pub const fn last_sequence(&self) -> i32 {
        if self.base_sequence == NO_SEQUENCE { NO_SEQUENCE } else { increment_sequence(self.base_sequence, self.last_offset_delta) }
    }

    /// Whether an idempotent or transactional producer wrote the batch.
    pub const fn has_producer_id(&self) -> bool {
        self.producer_id > NO_PRODUCER_ID
    }

    /// The codec of the records.
    pub const fn compression(&self) -> Result<CompressionType, UnknownCompressionType> {
        self.attributes.compression()
    }

    /// Who chose the timestamps.
    pub const fn timestamp_type(&self) -> TimestampType {
        self.attributes.timestamp_type()
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(&self) -> bool {
        self.attributes.is_transactional()
    }

    /// Whether the batch holds control records instead of data.
    pub const fn is_control(&self) -> bool {
        self.attributes.is_control()
    }

    /// When the cleaner may drop the batch's tombstones and markers, in ms since the epoch (KIP-534).
    pub const fn delete_horizon_ms(&self) -> Option<i64> {
        if self.attributes.has_delete_horizon() { Some(self.base_timestamp) } else { None }
    }
}

/// The magic if it is the current one.
pub(crate) const fn check_magic(magic: i8) -> Result<i8, HeaderError> {
    match magic {
        CURRENT_MAGIC => Ok(magic),
        0 | 1 => Err(HeaderError::LegacyMagic(magic)),
        unknown => Err(HeaderError::InvalidMagic(unknown)),
    }
}

/// The sequence number `increment` records later; `i32::MAX` is followed by 0 (`DefaultRecordBatch.incrementSequence`).
pub const fn increment_sequence(sequence: i32, increment: i32) -> i32 {
    let sum = sequence as i64 + increment as i64;
    if sum > i32::MAX as i64 { (sum - (i32::MAX as i64 + 1)) as i32 } else { sum as i32 }
}

/// `N` bytes at a constant place that lies within the header.
fn field<const N: usize>(header: &[u8; BATCH_OVERHEAD], at: usize) -> [u8; N] {
    *header[at..].first_chunk::<N>().expect("header fields lie within the header")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BatchHeader {
        BatchHeader {
            base_offset: 0x0102_0304_0506_0708,
            batch_length: 100,
            partition_leader_epoch: 17,
            magic: 2,
            crc: 0xdead_beef,
            attributes: Attributes(0x14),
            last_offset_delta: 9,
            base_timestamp: 1_700_000_000_000,
            max_timestamp: 1_700_000_000_009,
            producer_id: 4000,
            producer_epoch: 3,
            base_sequence: i32::MAX - 3,
            records_count: 10,
        }
    }

    #[test]
    fn fields_stand_where_kafka_puts_them() {
        let bytes = example().to_bytes();
        assert_eq!(bytes[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(bytes[8..12], [0, 0, 0, 100]);
        assert_eq!(bytes[12..17], [0, 0, 0, 17, 2]);
        assert_eq!(bytes[17..23], [0xde, 0xad, 0xbe, 0xef, 0, 0x14]);
        assert_eq!(bytes[57..], [0, 0, 0, 10]);
        assert_eq!(BatchHeader::parse(&bytes), Ok(example()));
    }

    #[test]
    fn derived_values() {
        let header = example();
        assert_eq!(header.size_in_bytes(), 112);
        assert_eq!(header.last_offset(), 0x0102_0304_0506_0711);
        assert_eq!(header.next_offset(), 0x0102_0304_0506_0712);
        assert_eq!(header.last_sequence(), 5);
        assert_eq!(header.delete_horizon_ms(), None);
        let horizon = BatchHeader { attributes: header.attributes.with_delete_horizon(true), ..header };
        assert_eq!(horizon.delete_horizon_ms(), Some(1_700_000_000_000));
        let plain = BatchHeader { base_sequence: NO_SEQUENCE, producer_id: NO_PRODUCER_ID, ..header };
        assert_eq!(plain.last_sequence(), NO_SEQUENCE);
        assert!(!plain.has_producer_id());
    }

    #[test]
    fn what_is_no_header_is_named() {
        let good = example().to_bytes();
        assert_eq!(BatchHeader::parse(&good[..60]), Err(HeaderError::Truncated(60)));
        let with = |at: usize, byte: u8| {
            let mut bytes = good;
            bytes[at] = byte;
            BatchHeader::parse(&bytes)
        };
        assert_eq!(with(11, 48), Err(HeaderError::LengthTooSmall(48)));
        assert_eq!(with(8, 0x80), Err(HeaderError::LengthTooSmall(i32::MIN + 100)));
        assert_eq!(with(16, 1), Err(HeaderError::LegacyMagic(1)));
        assert_eq!(with(16, 3), Err(HeaderError::InvalidMagic(3)));
        assert_eq!(with(16, 0xff), Err(HeaderError::InvalidMagic(-1)));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        assert_eq!(increment_sequence(0, 5), 5);
        assert_eq!(increment_sequence(i32::MAX, 0), i32::MAX);
        assert_eq!(increment_sequence(i32::MAX, 1), 0);
        assert_eq!(increment_sequence(i32::MAX, i32::MAX), i32::MAX - 1);
    }
}
