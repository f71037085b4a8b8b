//! The checksum of a batch, and the header fields that a leader sets when it appends. Knows nothing of records.

use crate::attributes::TimestampType;
use crate::header::{ATTRIBUTES_AT, BASE_OFFSET_AT, BATCH_OVERHEAD, BatchHeader, CRC_AT, MAX_TIMESTAMP_AT, PARTITION_LEADER_EPOCH_AT};

/// The stored checksum is not that of the bytes: they have changed on their way or on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored CRC is {stored}, the computed one {computed}")]
pub struct CrcMismatch {
    /// What the header says.
    pub stored: u32,
    /// What the bytes give.
    pub computed: u32,
}

/// Checks the CRC-32C over everything behind the CRC field. `batch` is exactly one whole batch and `header` its header.
pub fn check_crc(header: &BatchHeader, batch: &[u8]) -> Result<(), CrcMismatch> {
    let computed = crc32c::crc32c(&batch[ATTRIBUTES_AT..]);
    if computed == header.crc { Ok(()) } else { Err(CrcMismatch { stored: header.crc, computed }) }
}

/// The CRC of the batch that consists of these header bytes and these records, compressed ones as they are stored.
pub(crate) fn compute_crc(header: &[u8; BATCH_OVERHEAD], records: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[ATTRIBUTES_AT..]), records)
}

/// Writes the fields that stand outside of the CRC: what the leader knows only once it holds the partition's lock.
pub fn stamp(header: &mut [u8; BATCH_OVERHEAD], base_offset: i64, partition_leader_epoch: i32) {
    put(header, BASE_OFFSET_AT, base_offset.to_be_bytes());
    put(header, PARTITION_LEADER_EPOCH_AT, partition_leader_epoch.to_be_bytes());
}

/// Sets timestamp type and max timestamp and computes the CRC again; leaves everything untouched when both are as wanted
/// (`DefaultRecordBatch.setMaxTimestamp`). Attribute bits without a meaning are cleared when something changes, as Kafka does.
pub fn set_max_timestamp(header: &mut [u8; BATCH_OVERHEAD], records: &[u8], timestamp_type: TimestampType, max_timestamp: i64) {
    let attributes = crate::attributes::Attributes(i16::from_be_bytes([header[ATTRIBUTES_AT], header[ATTRIBUTES_AT + 1]]));
    let unchanged = header[MAX_TIMESTAMP_AT..MAX_TIMESTAMP_AT + 8] == max_timestamp.to_be_bytes();
    if attributes.timestamp_type() == timestamp_type && unchanged {
        return;
    }
    put(header, ATTRIBUTES_AT, attributes.known_bits().with_timestamp_type(timestamp_type).0.to_be_bytes());
    put(header, MAX_TIMESTAMP_AT, max_timestamp.to_be_bytes());
    let crc = compute_crc(header, records);
    put(header, CRC_AT, crc.to_be_bytes());
}

fn put<const N: usize>(header: &mut [u8; BATCH_OVERHEAD], at: usize, value: [u8; N]) {
    header[at..at + N].copy_from_slice(&value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{Attributes, CompressionType};
    use crate::header::CURRENT_MAGIC;

    const RECORDS: &[u8] = b"records, as far as the checksum cares";

    fn header(attributes: Attributes) -> [u8; BATCH_OVERHEAD] {
        let fields = BatchHeader {
            base_offset: 0,
            batch_length: 49 + RECORDS.len() as i32,
            partition_leader_epoch: -1,
            magic: CURRENT_MAGIC,
            crc: 0,
            attributes,
            last_offset_delta: 2,
            base_timestamp: 1000,
            max_timestamp: 1010,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            records_count: 3,
        };
        let mut bytes = fields.to_bytes();
        let crc = compute_crc(&bytes, RECORDS);
        put(&mut bytes, CRC_AT, crc.to_be_bytes());
        bytes
    }

    fn crc_is_right(header: &[u8; BATCH_OVERHEAD]) -> bool {
        let fields = BatchHeader::parse(header).expect("a header");
        check_crc(&fields, &[header, RECORDS].concat()).is_ok()
    }

    #[test]
    fn offset_and_epoch_stand_outside_of_the_crc() {
        let mut bytes = header(Attributes::default());
        stamp(&mut bytes, 1 << 40, 77);
        assert!(crc_is_right(&bytes));
        let fields = BatchHeader::parse(&bytes).expect("a header");
        assert_eq!((fields.base_offset, fields.last_offset(), fields.partition_leader_epoch), (1 << 40, (1 << 40) + 2, 77));
    }

    #[test]
    fn any_changed_bit_behind_the_crc_is_noticed() {
        let batch = [&header(Attributes::default()), RECORDS].concat();
        let fields = BatchHeader::parse(&batch).expect("a header");
        for byte in ATTRIBUTES_AT..batch.len() {
            for bit in 0..8 {
                let mut damaged = batch.clone();
                damaged[byte] ^= 1 << bit;
                assert!(check_crc(&fields, &damaged).is_err());
            }
        }
    }

    #[test]
    fn log_append_time_is_stamped_with_a_new_crc() {
        let mut bytes = header(Attributes(0x70).with_compression(CompressionType::Lz4));
        set_max_timestamp(&mut bytes, RECORDS, TimestampType::LogAppendTime, 5000);
        assert!(crc_is_right(&bytes));
        let fields = BatchHeader::parse(&bytes).expect("a header");
        assert_eq!((fields.max_timestamp, fields.attributes), (5000, Attributes(0x7b)));
    }

    #[test]
    fn nothing_changes_when_the_timestamp_is_as_wanted() {
        let unused_bits = Attributes(0x0180);
        let mut bytes = header(unused_bits);
        set_max_timestamp(&mut bytes, RECORDS, TimestampType::CreateTime, 1010);
        assert_eq!(bytes, header(unused_bits));
        set_max_timestamp(&mut bytes, RECORDS, TimestampType::CreateTime, 1011);
        assert!(crc_is_right(&bytes));
        assert_eq!(BatchHeader::parse(&bytes).expect("a header").attributes, Attributes(0));
    }
}
