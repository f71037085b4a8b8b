//! Batches out of records (`MemoryRecordsBuilder`): for what the broker itself writes, for recompression, compaction and tests.

use crate::attributes::{Attributes, TimestampType};
use crate::compression::{CompressError, Compression, Encoder};
use crate::control::ControlRecordType;
use crate::header::{
    BATCH_OVERHEAD, BatchHeader, CURRENT_MAGIC, LOG_OVERHEAD, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE,
    NO_TIMESTAMP,
};
use crate::record::{self, RawRecord, Record, RecordHeader, RecordHeaders};
use crate::stamp::compute_crc;

/// The producer's part of a batch header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerFields {
    /// The producer id, or [`NO_PRODUCER_ID`].
    pub producer_id: i64,
    /// The producer's epoch, or [`NO_PRODUCER_EPOCH`].
    pub producer_epoch: i16,
    /// The first record's sequence number, or [`NO_SEQUENCE`].
    pub base_sequence: i32,
}

impl ProducerFields {
    /// A plain producer, neither idempotent nor transactional.
    pub const NONE: ProducerFields =
        ProducerFields { producer_id: NO_PRODUCER_ID, producer_epoch: NO_PRODUCER_EPOCH, base_sequence: NO_SEQUENCE };
}

/// Everything about a batch but its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSettings {
    /// The offset that the records' deltas count from.
    pub base_offset: i64,
    /// Codec and level.
    pub compression: Compression,
    /// When the batch was appended, if that is to be the timestamp of all its records (LogAppendTime).
    pub log_append_time_ms: Option<i64>,
    /// The appending leader's epoch, or [`NO_PARTITION_LEADER_EPOCH`].
    pub partition_leader_epoch: i32,
    /// Who produced the batch.
    pub producer: ProducerFields,
    /// Whether the batch belongs to a transaction.
    pub is_transactional: bool,
    /// Whether the batch holds control records.
    pub is_control: bool,
    /// When the cleaner may drop tombstones and markers (KIP-534).
    pub delete_horizon_ms: Option<i64>,
}

impl Default for BatchSettings {
    fn default() -> BatchSettings {
        BatchSettings {
            base_offset: 0,
            compression: Compression::None,
            log_append_time_ms: None,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            producer: ProducerFields::NONE,
            is_transactional: false,
            is_control: false,
            delete_horizon_ms: None,
        }
    }
}

/// A record to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewRecord<'a> {
    /// Milliseconds since the epoch, or [`NO_TIMESTAMP`].
    pub timestamp: i64,
    /// The key, if any.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone on compacted topics.
    pub value: Option<&'a [u8]>,
    /// The headers in their order.
    pub headers: &'a [RecordHeader<'a>],
}

/// Why a batch cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Timestamps count from the epoch; only [`NO_TIMESTAMP`] may be negative.
    #[error("the timestamp {0} is negative")]
    NegativeTimestamp(i64),
    /// Offsets within a batch increase.
    #[error("the offset {offset} does not follow {last_offset}")]
    OffsetNotIncreasing {
        /// The record's offset.
        offset: i64,
        /// The offset of the record before.
        last_offset: i64,
    },
    /// Offsets within a batch are at most `i32::MAX` apart.
    #[error("the offset {offset} is too far from the base offset {base_offset}")]
    OffsetOutOfBatch {
        /// The record's offset.
        offset: i64,
        /// The batch's base offset.
        base_offset: i64,
    },
    /// Control records stand in control batches, others in others.
    #[error("a control batch holds control records only, and no other batch does")]
    ControlMismatch,
    /// Sizes are written as `i32`.
    #[error("the batch would have more than 2 GiB")]
    TooLarge,
    /// A transaction has a producer id.
    #[error("a transactional batch needs a producer id")]
    NoProducerId,
    /// A producer id comes with an epoch.
    #[error("a batch with a producer id needs a producer epoch")]
    NoProducerEpoch,
    /// A producer id comes with sequence numbers, except in control batches.
    #[error("a batch with a producer id needs a sequence number")]
    NoSequence,
    /// The compressor failed.
    #[error(transparent)]
    Compress(#[from] CompressError),
}

/// Builds one batch.
pub struct BatchBuilder {
    settings: BatchSettings,
    encoder: Encoder,
    headers: Vec<u8>,
    uncompressed_size: usize,
    records_count: i32,
    last_offset: Option<i64>,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
}

impl BatchBuilder {
    /// A builder without records. Fails when the producer's fields do not fit each other, or the codec has no such level.
    pub fn new(settings: BatchSettings) -> Result<BatchBuilder, BuildError> {
        check_producer(&settings)?;
        Ok(BatchBuilder {
            encoder: Encoder::new(settings.compression, vec![0; BATCH_OVERHEAD])?,
            headers: Vec::new(),
            uncompressed_size: BATCH_OVERHEAD,
            records_count: 0,
            last_offset: None,
            base_timestamp: settings.delete_horizon_ms,
            max_timestamp: NO_TIMESTAMP,
            settings,
        })
    }

    /// Appends a record at the next offset.
    pub fn append(&mut self, record: &NewRecord<'_>) -> Result<(), BuildError> {
        self.append_at(self.next_offset(), record)
    }

    /// Appends a record at the given offset, which must be beyond that of the record before.
    pub fn append_at(&mut self, offset: i64, record: &NewRecord<'_>) -> Result<(), BuildError> {
        if self.settings.is_control {
            return Err(BuildError::ControlMismatch);
        }
        let mut encoded = std::mem::take(&mut self.headers);
        encoded.clear();
        record::put_headers(&mut encoded, record.headers);
        let headers = record::encoded_headers(record.headers.len(), &encoded);
        let appended = self.append_encoded(offset, record.timestamp, record.key, record.value, headers);
        self.headers = encoded;
        appended
    }

    /// Appends a record of another batch at the given offset: recompression and compaction. Its key says what it is, so this takes
    /// control records and others alike.
    pub fn append_record(&mut self, offset: i64, record: &Record<'_>) -> Result<(), BuildError> {
        self.append_encoded(offset, record.timestamp, record.key, record.value, record.headers)
    }

    /// Appends a control record, whose `value` comes encoded, at the next offset.
    pub fn append_control(&mut self, timestamp_ms: i64, control_type: ControlRecordType, value: &[u8]) -> Result<(), BuildError> {
        if !self.settings.is_control {
            return Err(BuildError::ControlMismatch);
        }
        self.append_encoded(self.next_offset(), timestamp_ms, Some(&control_type.key()), Some(value), RecordHeaders::default())
    }

    /// How many records there are.
    pub const fn records_count(&self) -> i32 {
        self.records_count
    }

    /// Bytes of the batch so far as if it were not compressed, header included.
    pub const fn uncompressed_size(&self) -> usize {
        self.uncompressed_size
    }

    /// What [`BatchBuilder::uncompressed_size`] would be with one more record at the next offset.
    pub fn uncompressed_size_with(&self, record: &NewRecord<'_>) -> usize {
        let mut encoded = Vec::new();
        record::put_headers(&mut encoded, record.headers);
        let headers = record::encoded_headers(record.headers.len(), &encoded);
        let timestamp_delta = record.timestamp.wrapping_sub(self.base_timestamp.unwrap_or(record.timestamp));
        let offset_delta = self.next_offset().wrapping_sub(self.settings.base_offset) as i32;
        let raw = RawRecord { timestamp_delta, offset_delta, key: record.key, value: record.value, headers };
        self.uncompressed_size + record::size_in_bytes(&raw)
    }

    /// Lets the batch span offsets up to `last_offset` although its last record stands before that: what compaction leaves of a batch.
    pub fn override_last_offset(&mut self, last_offset: i64) {
        self.last_offset = Some(last_offset);
    }

    /// The batch; no bytes at all when no record was appended.
    pub fn build(self) -> Result<Vec<u8>, BuildError> {
        let (Some(last_offset), Some(base_timestamp)) = (self.last_offset, self.base_timestamp) else { return Ok(Vec::new()) };
        if self.records_count == 0 {
            return Ok(Vec::new());
        }
        let last_offset_delta = self.offset_delta(last_offset)?;
        let mut batch = self.encoder.finish()?;
        let settings = self.settings;
        let timestamp_type = settings.log_append_time_ms.map_or(TimestampType::CreateTime, |_| TimestampType::LogAppendTime);
        let header = BatchHeader {
            base_offset: settings.base_offset,
            batch_length: i32::try_from(batch.len() - LOG_OVERHEAD).map_err(|_| BuildError::TooLarge)?,
            partition_leader_epoch: settings.partition_leader_epoch,
            magic: CURRENT_MAGIC,
            crc: 0,
            attributes: Attributes::default()
                .with_compression(settings.compression.codec())
                .with_timestamp_type(timestamp_type)
                .with_transactional(settings.is_transactional)
                .with_control(settings.is_control)
                .with_delete_horizon(settings.delete_horizon_ms.is_some()),
            last_offset_delta,
            base_timestamp,
            max_timestamp: settings.log_append_time_ms.unwrap_or(self.max_timestamp),
            producer_id: settings.producer.producer_id,
            producer_epoch: settings.producer.producer_epoch,
            base_sequence: settings.producer.base_sequence,
            records_count: self.records_count,
        };
        let header_bytes = header.to_bytes_with_crc(&batch[BATCH_OVERHEAD..]);
        batch[..BATCH_OVERHEAD].copy_from_slice(&header_bytes);
        Ok(batch)
    }

    fn next_offset(&self) -> i64 {
        self.last_offset.map_or(self.settings.base_offset, |last_offset| last_offset.wrapping_add(1))
    }

    fn offset_delta(&self, offset: i64) -> Result<i32, BuildError> {
        let base_offset = self.settings.base_offset;
        offset
            .checked_sub(base_offset)
            .and_then(|delta| i32::try_from(delta).ok())
            .filter(|&delta| delta >= 0)
            .ok_or(BuildError::OffsetOutOfBatch { offset, base_offset })
    }

    fn append_encoded(
        &mut self,
        offset: i64,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: RecordHeaders<'_>,
    ) -> Result<(), BuildError> {
        if let Some(last_offset) = self.last_offset.filter(|&last_offset| offset <= last_offset) {
            return Err(BuildError::OffsetNotIncreasing { offset, last_offset });
        }
        if timestamp < 0 && timestamp != NO_TIMESTAMP {
            return Err(BuildError::NegativeTimestamp(timestamp));
        }
        let offset_delta = self.offset_delta(offset)?;
        let timestamp_delta = timestamp.wrapping_sub(*self.base_timestamp.get_or_insert(timestamp));
        let raw = RawRecord { timestamp_delta, offset_delta, key, value, headers };
        let uncompressed_size = self.uncompressed_size + record::size_in_bytes(&raw);
        if i32::try_from(uncompressed_size).is_err() {
            return Err(BuildError::TooLarge);
        }
        self.encoder.append(|out| record::put_record(out, &raw))?;
        self.uncompressed_size = uncompressed_size;
        self.records_count += 1;
        self.last_offset = Some(offset);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        Ok(())
    }
}

impl BatchHeader {
    /// The bytes of this header with the CRC that the batch has with these records, compressed ones as they are stored.
    pub fn to_bytes_with_crc(&self, records: &[u8]) -> [u8; BATCH_OVERHEAD] {
        let crc = compute_crc(&self.to_bytes(), records);
        BatchHeader { crc, ..*self }.to_bytes()
    }

    /// What remains of this batch when compaction has taken all its records but the producer's state needs its sequence numbers
    /// (`DefaultRecordBatch.writeEmptyHeader`).
    pub fn to_empty_batch(&self) -> [u8; BATCH_OVERHEAD] {
        let attributes = Attributes::default()
            .with_timestamp_type(self.timestamp_type())
            .with_transactional(self.is_transactional())
            .with_control(self.is_control());
        let batch_length = (BATCH_OVERHEAD - LOG_OVERHEAD) as i32;
        BatchHeader { batch_length, attributes, base_timestamp: NO_TIMESTAMP, records_count: 0, ..*self }.to_bytes_with_crc(&[])
    }
}

fn check_producer(settings: &BatchSettings) -> Result<(), BuildError> {
    let producer = settings.producer;
    if producer.producer_id == NO_PRODUCER_ID {
        return if settings.is_transactional { Err(BuildError::NoProducerId) } else { Ok(()) };
    }
    if producer.producer_epoch == NO_PRODUCER_EPOCH {
        return Err(BuildError::NoProducerEpoch);
    }
    if producer.base_sequence < 0 && !settings.is_control {
        return Err(BuildError::NoSequence);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::CompressionType;
    use crate::batches::{Batch, Batches};
    use crate::compression::DecompressionBuffers;
    use crate::reader::RecordReader;
    use crate::stamp::check_crc;

    type Owned = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

    fn only_batch(bytes: &[u8]) -> Batch<'_> {
        let mut batches = Batches::new(bytes);
        let batch = batches.next().expect("a batch").expect("a whole batch");
        assert!(batches.next().is_none());
        check_crc(&batch.header, batch.bytes).expect("the right CRC");
        batch
    }

    fn records(batch: &Batch<'_>) -> Vec<Owned> {
        let mut buffers = DecompressionBuffers::default();
        let mut reader = RecordReader::new(batch, &mut buffers).expect("a reader");
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().expect("a record") {
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            records.push((record.offset, record.timestamp, owned(record.key), owned(record.value), record.headers.len()));
        }
        records
    }

    fn filled(settings: BatchSettings) -> Vec<u8> {
        let mut builder = BatchBuilder::new(settings).expect("settings");
        let header = RecordHeader { key: b"h", value: Some(b"v") };
        let large = vec![b'x'; 100_000];
        for index in 0..50 {
            let value = if index == 7 { &large[..] } else { b"value" };
            let key = [index as u8];
            let headers = if index % 2 == 0 { &[header][..] } else { &[] };
            let record = NewRecord { timestamp: 1000 - index, key: Some(&key), value: Some(value), headers };
            let size = builder.uncompressed_size_with(&record);
            builder.append(&record).expect("appended");
            assert_eq!(builder.uncompressed_size(), size);
        }
        assert_eq!(builder.records_count(), 50);
        builder.build().expect("built")
    }

    #[test]
    fn every_codec_gives_the_records_back() {
        let uncompressed = filled(BatchSettings::default());
        let expected = records(&only_batch(&uncompressed));
        assert_eq!(expected[3], (3, 997, Some(vec![3]), Some(b"value".to_vec()), 0));
        assert_eq!(expected[7].3.as_ref().map(Vec::len), Some(100_000));
        for codec in CompressionType::ALL {
            let compression = Compression::with_default_level(codec);
            let bytes = filled(BatchSettings { compression, ..BatchSettings::default() });
            let batch = only_batch(&bytes);
            assert_eq!(batch.header.compression(), Ok(codec));
            assert_eq!((batch.header.base_timestamp, batch.header.max_timestamp), (1000, 1000));
            assert_eq!((batch.header.records_count, batch.header.last_offset_delta), (50, 49));
            assert_eq!(records(&batch), expected);
            assert!(codec == CompressionType::None || bytes.len() < uncompressed.len() / 10);
        }
    }

    #[test]
    fn log_append_time_is_the_timestamp_of_all_records() {
        let bytes = filled(BatchSettings { log_append_time_ms: Some(9000), base_offset: 400, ..BatchSettings::default() });
        let batch = only_batch(&bytes);
        assert_eq!((batch.header.max_timestamp, batch.header.timestamp_type()), (9000, TimestampType::LogAppendTime));
        assert!(records(&batch).iter().enumerate().all(|(index, record)| record.0 == 400 + index as i64 && record.1 == 9000));
    }

    #[test]
    fn compaction_keeps_offsets_and_the_span() {
        let settings = BatchSettings { base_offset: 100, delete_horizon_ms: Some(50), ..BatchSettings::default() };
        let mut builder = BatchBuilder::new(settings).expect("settings");
        for offset in [101, 105] {
            let record = Record { offset, timestamp: 70, key: Some(b"k"), value: None, headers: RecordHeaders::default() };
            builder.append_record(offset, &record).expect("appended");
        }
        builder.override_last_offset(109);
        let bytes = builder.build().expect("built");
        let batch = only_batch(&bytes);
        assert_eq!((batch.header.base_offset, batch.header.last_offset(), batch.header.records_count), (100, 109, 2));
        assert_eq!(batch.header.delete_horizon_ms(), Some(50));
        assert_eq!(records(&batch), [(101, 70, Some(b"k".to_vec()), None, 0), (105, 70, Some(b"k".to_vec()), None, 0)]);

        let empty = BatchHeader { producer_id: 7, base_sequence: 3, ..batch.header }.to_empty_batch();
        let batch = only_batch(&empty);
        assert_eq!((batch.header.records_count, batch.header.last_offset(), batch.header.last_sequence()), (0, 109, 12));
        assert_eq!((batch.header.base_timestamp, batch.header.max_timestamp), (NO_TIMESTAMP, 70));
        assert_eq!(records(&batch), []);
    }

    #[test]
    fn no_records_no_bytes() {
        let mut builder = BatchBuilder::new(BatchSettings { delete_horizon_ms: Some(1), ..BatchSettings::default() }).expect("settings");
        builder.override_last_offset(5);
        assert_eq!(builder.build().expect("built"), []);
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let settings = |producer_id, producer_epoch, base_sequence| BatchSettings {
            producer: ProducerFields { producer_id, producer_epoch, base_sequence },
            is_transactional: true,
            ..BatchSettings::default()
        };
        assert!(matches!(BatchBuilder::new(settings(-1, -1, -1)), Err(BuildError::NoProducerId)));
        assert!(matches!(BatchBuilder::new(settings(5, -1, 0)), Err(BuildError::NoProducerEpoch)));
        assert!(matches!(BatchBuilder::new(settings(5, 0, -1)), Err(BuildError::NoSequence)));
        assert!(BatchBuilder::new(BatchSettings { is_control: true, ..settings(5, 0, -1) }).is_ok());

        let mut builder = BatchBuilder::new(BatchSettings { base_offset: 10, ..BatchSettings::default() }).expect("settings");
        let record = NewRecord::default();
        assert!(matches!(builder.append(&NewRecord { timestamp: -2, ..record }), Err(BuildError::NegativeTimestamp(-2))));
        assert!(matches!(builder.append_at(9, &record), Err(BuildError::OffsetOutOfBatch { .. })));
        assert!(matches!(builder.append_at(11 + (1 << 31), &record), Err(BuildError::OffsetOutOfBatch { .. })));
        builder.append_at(12, &record).expect("appended");
        assert!(matches!(builder.append_at(12, &record), Err(BuildError::OffsetNotIncreasing { offset: 12, last_offset: 12 })));
        assert!(matches!(builder.append_control(0, ControlRecordType::Commit, &[]), Err(BuildError::ControlMismatch)));
        let mut control = BatchBuilder::new(BatchSettings { is_control: true, ..BatchSettings::default() }).expect("settings");
        assert!(matches!(control.append(&record), Err(BuildError::ControlMismatch)));
    }

    #[test]
    fn levels_reach_the_compressor() {
        let size = |compression| filled(BatchSettings { compression, ..BatchSettings::default() }).len();
        assert!(size(Compression::Zstd { level: -50 }) > size(Compression::Zstd { level: 9 }));
        assert!(size(Compression::Gzip { level: 1 }) > size(Compression::Gzip { level: 9 }));
        assert_eq!(size(Compression::Gzip { level: -1 }), size(Compression::Gzip { level: 6 }));
    }
}
