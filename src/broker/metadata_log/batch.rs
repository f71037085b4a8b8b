//! Batches of the metadata log and its snapshots: format v2, uncompressed as Kafka writes them, either all metadata records or all
//! control records.

use bytes::Bytes;
use ottla_metadata::{MetadataParseError, MetadataRecord};
use ottla_model::LeaderEpoch;
use ottla_raft::{AppendedBatch, ControlRecord};
use ottla_record::{
    Batch, BatchBuilder, BatchSettings, Batches, BatchesError, BuildError, CrcMismatch, DecompressionBuffers, NewRecord, RecordReader,
    RecordsError, check_crc,
};

use super::control::{self, ControlRecordError};

/// What a batch of the metadata log has besides its records.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchFrame {
    pub(super) base_offset: i64,
    pub(super) epoch: LeaderEpoch,
    pub(super) timestamp_ms: i64,
}

/// No more than what a record takes in a batch besides its value: five variable-length numbers and a byte.
const RECORD_OVERHEAD_MAX: usize = 26;

/// The most bytes that a record with a value of this size takes in a batch.
pub(super) fn size_in_batch(value_size: usize) -> usize {
    value_size + RECORD_OVERHEAD_MAX
}

/// A batch of metadata records with these values.
pub(super) fn record_batch(frame: BatchFrame, values: &[Bytes]) -> Vec<u8> {
    let build = || {
        let mut builder = BatchBuilder::new(settings(frame, false))?;
        for value in values {
            builder.append(&NewRecord { timestamp: frame.timestamp_ms, value: Some(value), ..NewRecord::default() })?;
        }
        builder.build()
    };
    built(build())
}

/// A batch of control records.
pub(super) fn control_batch(frame: BatchFrame, records: &[ControlRecord]) -> Vec<u8> {
    let build = || {
        let mut builder = BatchBuilder::new(settings(frame, true))?;
        for record in records {
            let (record_type, value) = control::encode(record);
            builder.append_control(frame.timestamp_ms, record_type, &value)?;
        }
        builder.build()
    };
    built(build())
}

fn settings(frame: BatchFrame, is_control: bool) -> BatchSettings {
    BatchSettings { base_offset: frame.base_offset, partition_leader_epoch: frame.epoch.0, is_control, ..BatchSettings::default() }
}

fn built(batch: Result<Vec<u8>, BuildError>) -> Vec<u8> {
    batch.expect("a batch of at most 8 MiB, uncompressed, without a producer, of the time since 1970 can always be built")
}

/// Why bytes are not batches of the metadata log.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BatchError {
    /// There is no whole batch.
    #[error(transparent)]
    Batches(#[from] BatchesError),
    /// The batch's checksum is wrong.
    #[error("the batch at offset {offset}: {error}")]
    Crc {
        /// The batch's first offset.
        offset: i64,
        /// What is wrong.
        error: CrcMismatch,
    },
    /// The batch's records cannot be read.
    #[error("the batch at offset {offset}: {error}")]
    Records {
        /// The batch's first offset.
        offset: i64,
        /// What is wrong.
        error: RecordsError,
    },
    /// A record is no metadata record.
    #[error("the record at offset {offset}: {error}")]
    Record {
        /// The record's offset.
        offset: i64,
        /// What is wrong.
        error: MetadataParseError,
    },
    /// A record has no value.
    #[error("the record at offset {0} has no value")]
    NoValue(i64),
    /// A record of a control batch is no control record of this log.
    #[error("the record at offset {offset}: {error}")]
    ControlRecord {
        /// The record's offset.
        offset: i64,
        /// What is wrong.
        error: ControlRecordError,
    },
}

/// A batch and what is in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DecodedBatch {
    pub(super) base_offset: i64,
    pub(super) last_offset: i64,
    pub(super) epoch: LeaderEpoch,
    pub(super) append_timestamp_ms: i64,
    pub(super) size: usize,
    pub(super) contents: Contents,
}

/// See [`DecodedBatch`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contents {
    Records(Vec<MetadataRecord>),
    /// With their offsets.
    Control(Vec<(i64, ControlRecord)>),
}

/// The batches that `bytes` consist of.
pub(super) fn decode_batches(bytes: &[u8]) -> impl Iterator<Item = Result<DecodedBatch, BatchError>> {
    let mut buffers = DecompressionBuffers::default();
    Batches::new(bytes).map(move |batch| decode_batch(&batch?, &mut buffers))
}

fn decode_batch(batch: &Batch<'_>, buffers: &mut DecompressionBuffers) -> Result<DecodedBatch, BatchError> {
    let offset = batch.header.base_offset;
    check_crc(&batch.header, batch.bytes).map_err(|error| BatchError::Crc { offset, error })?;
    let contents = if batch.header.is_control() {
        Contents::Control(decode_control(batch, buffers)?)
    } else {
        Contents::Records(decode_records(batch, buffers)?)
    };
    Ok(DecodedBatch {
        base_offset: offset,
        last_offset: batch.header.last_offset(),
        epoch: LeaderEpoch(batch.header.partition_leader_epoch),
        append_timestamp_ms: batch.header.max_timestamp,
        size: batch.bytes.len(),
        contents,
    })
}

fn decode_records(batch: &Batch<'_>, buffers: &mut DecompressionBuffers) -> Result<Vec<MetadataRecord>, BatchError> {
    let base_offset = batch.header.base_offset;
    let unreadable = |error| BatchError::Records { offset: base_offset, error };
    let mut reader = RecordReader::new(batch, buffers).map_err(unreadable)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(unreadable)? {
        let offset = record.offset;
        let value = Bytes::copy_from_slice(record.value.ok_or(BatchError::NoValue(offset))?);
        records.push(MetadataRecord::from_bytes(value).map_err(|error| BatchError::Record { offset, error })?);
    }
    Ok(records)
}

fn decode_control(batch: &Batch<'_>, buffers: &mut DecompressionBuffers) -> Result<Vec<(i64, ControlRecord)>, BatchError> {
    let base_offset = batch.header.base_offset;
    let unreadable = |error| BatchError::Records { offset: base_offset, error };
    let mut reader = RecordReader::new(batch, buffers).map_err(unreadable)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(unreadable)? {
        let offset = record.offset;
        let control = control::decode(record.key, record.value);
        records.push((offset, control.map_err(|error| BatchError::ControlRecord { offset, error })?));
    }
    Ok(records)
}

/// What the quorum's rules need to know of batches that a leader has sent; the last one may be cut short.
pub(super) fn outline(bytes: &[u8]) -> Result<Vec<AppendedBatch>, BatchError> {
    let mut buffers = DecompressionBuffers::default();
    let mut outline = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = match batch {
            Ok(batch) => batch,
            Err(BatchesError::Partial { .. }) => break,
            Err(error) => return Err(error.into()),
        };
        let offset = batch.header.base_offset;
        check_crc(&batch.header, batch.bytes).map_err(|error| BatchError::Crc { offset, error })?;
        let control_records = if batch.header.is_control() { decode_control(&batch, &mut buffers)? } else { Vec::new() };
        outline.push(AppendedBatch {
            base_offset: offset,
            end_offset: batch.header.next_offset(),
            epoch: LeaderEpoch(batch.header.partition_leader_epoch),
            control_records,
        });
    }
    Ok(outline)
}
