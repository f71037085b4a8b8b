//! What several tests need: readers of the golden files' notation and records that own their bytes.

use ottla_record::{Batch, Batches, CompressionType, DecompressionBuffers, Record, RecordReader, RecordsError, check_crc};

/// A record with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl From<Record<'_>> for OwnedRecord {
    fn from(record: Record<'_>) -> OwnedRecord {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        OwnedRecord {
            offset: record.offset,
            timestamp: record.timestamp,
            key: owned(record.key),
            value: owned(record.value),
            headers: record.headers.iter().map(|header| (header.key.to_vec(), owned(header.value))).collect(),
        }
    }
}

/// The one batch that `bytes` are, with a right CRC.
pub fn only_batch(bytes: &[u8]) -> Batch<'_> {
    let mut batches = Batches::new(bytes);
    let batch = batches.next().expect("a batch").expect("a whole batch");
    assert!(batches.next().is_none(), "one batch only");
    check_crc(&batch.header, batch.bytes).expect("the right CRC");
    batch
}

/// All records of a batch, or the error that reading them ends with.
pub fn try_records(batch: &Batch<'_>, buffers: &mut DecompressionBuffers) -> Result<Vec<OwnedRecord>, RecordsError> {
    let mut reader = RecordReader::new(batch, buffers)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record.into());
    }
    Ok(records)
}

/// All records of a good batch.
pub fn records(batch: &Batch<'_>) -> Vec<OwnedRecord> {
    try_records(batch, &mut DecompressionBuffers::default()).expect("good records")
}

/// Bytes out of hexadecimal digits.
pub fn from_hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2) && text.is_ascii(), "hexadecimal digits come in pairs");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("a hexadecimal digit")).collect()
}

/// Every codec that compresses.
pub const COMPRESSING: [CompressionType; 4] = [CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd];
