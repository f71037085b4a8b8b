//! What several tests need: readers of the golden files' notation and records that own their bytes.

use ottla_model::ErrorCode;
use ottla_record::{
    AppendContext, AppendOrigin, Attributes, Batch, BatchBuilder, BatchHeader, BatchSettings, Batches, Compression, CompressionType,
    DecompressionBuffers, NewRecord, Record, RecordReader, RecordsError, ValidationConfig, check_crc, produced_batch, validate,
};

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

/// `bytes` compressed as simply as possible: snappy as one raw block.
pub fn compress(codec: CompressionType, bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    match codec {
        CompressionType::None => bytes.to_vec(),
        CompressionType::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compressed")
        }
        CompressionType::Snappy => snap::raw::Encoder::new().compress_vec(bytes).expect("compressed"),
        CompressionType::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(bytes).expect("compressed");
            encoder.finish().expect("compressed")
        }
        CompressionType::Zstd => zstd::encode_all(bytes, 1).expect("compressed"),
    }
}

/// A batch that says it has `records_count` records, with `payload` behind its header.
pub fn batch_with_payload(codec: CompressionType, records_count: i32, payload: &[u8]) -> Vec<u8> {
    let header = BatchHeader {
        base_offset: 0,
        batch_length: 49 + payload.len() as i32,
        partition_leader_epoch: -1,
        magic: 2,
        crc: 0,
        attributes: Attributes::default().with_compression(codec),
        last_offset_delta: records_count - 1,
        base_timestamp: 1000,
        max_timestamp: 1000,
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        records_count,
    };
    [&header.to_bytes_with_crc(payload)[..], payload].concat()
}

/// A batch of one record of this value.
pub fn batch_of(codec: CompressionType, value: &[u8]) -> Vec<u8> {
    let settings = BatchSettings { compression: Compression::with_default_level(codec), ..BatchSettings::default() };
    let mut builder = BatchBuilder::new(settings).expect("settings");
    builder.append(&NewRecord { timestamp: 1000, key: Some(b"k"), value: Some(value), headers: &[] }).expect("appended");
    builder.build().expect("built")
}

/// What a leader with these rules makes of `bytes` out of a current produce request.
pub fn validate_with(bytes: &[u8], config: ValidationConfig, buffers: &mut DecompressionBuffers) -> Result<Vec<u8>, ErrorCode> {
    let batch = produced_batch(bytes, 13).map_err(|error| error.code())?;
    let context = AppendContext { origin: AppendOrigin::Client, now_ms: 2000 };
    let mut validated = validate(&batch, &config, context, buffers).map_err(|error| error.code())?;
    validated.stamp(100, 7);
    Ok([validated.header_bytes(), validated.records()].concat())
}

/// As [`validate_with`], with Kafka's default rules but for the batch's size.
pub fn validate_default(bytes: &[u8]) -> Result<Vec<u8>, ErrorCode> {
    let config = ValidationConfig { max_message_bytes: usize::MAX, ..ValidationConfig::default() };
    validate_with(bytes, config, &mut DecompressionBuffers::default())
}
