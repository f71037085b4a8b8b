//! What a leader checks before it appends a batch, and what it changes in it: `UnifiedLog.analyzeAndValidateRecords` and `LogValidator` of
//! Kafka 4.4. Everything here happens before the partition's lock is taken; only the stamping of offset and epoch comes after.
//!
//! Knows nothing of the partition: offsets, producer state and transactions are checked by the log.

mod config;
mod error;
mod produced;
mod rules;
mod walk;

use std::borrow::Cow;

pub use config::{AppendContext, AppendOrigin, ValidationConfig};
pub use error::{RECORD_REJECTIONS_MAX, RecordRejection, RejectionReason, ValidationError};
pub use produced::{ProducedBatchError, begins_transactional, produced_batch};

use crate::attributes::{CompressionType, TimestampType};
use crate::batches::Batch;
use crate::builder::{BatchBuilder, BatchSettings, ProducerFields};
use crate::compression::{Compression, DecompressionBuffers};
use crate::header::{BATCH_OVERHEAD, BatchHeader};
use crate::reader::RecordReader;
use crate::stamp;
use rules::RecordRules;
use walk::Offsets;

/// A batch that the leader may append once it has stamped it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatedBatch<'a> {
    header: BatchHeader,
    header_bytes: [u8; BATCH_OVERHEAD],
    records: Cow<'a, [u8]>,
    log_append_time_ms: Option<i64>,
}

impl<'a> ValidatedBatch<'a> {
    /// The header as it is to be appended: its max timestamp is that of the records or the time of the append.
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The bytes of the header.
    pub const fn header_bytes(&self) -> &[u8; BATCH_OVERHEAD] {
        &self.header_bytes
    }

    /// The bytes behind the header: borrowed from the request unless the records had to be written anew.
    pub fn records(&self) -> &[u8] {
        &self.records
    }

    /// Whether the records had to be written anew, with another codec.
    pub const fn is_rewritten(&self) -> bool {
        matches!(self.records, Cow::Owned(_))
    }

    /// Bytes of the whole batch.
    pub fn size_in_bytes(&self) -> usize {
        BATCH_OVERHEAD + self.records.len()
    }

    /// When the batch was appended, if the topic uses LogAppendTime.
    pub const fn log_append_time_ms(&self) -> Option<i64> {
        self.log_append_time_ms
    }

    /// Gives the batch its place in the log. It may be called again when the place changes.
    pub fn stamp(&mut self, base_offset: i64, partition_leader_epoch: i32) {
        stamp::stamp(&mut self.header_bytes, base_offset, partition_leader_epoch);
        self.header.base_offset = base_offset;
        self.header.partition_leader_epoch = partition_leader_epoch;
    }
}

/// Checks `batch` by the rules of the topic and makes it ready to be appended.
///
/// The order of the checks, and with it the error of a batch that is wrong in several ways, is Kafka's. Two checks are stricter: the offsets
/// that the header spans must match the records' number whoever wrote the batch, and a compressed record must be as long as it says.
pub fn validate<'a>(
    batch: &Batch<'a>,
    config: &ValidationConfig,
    context: AppendContext,
    buffers: &mut DecompressionBuffers,
) -> Result<ValidatedBatch<'a>, ValidationError> {
    let header = &batch.header;
    if context.origin == AppendOrigin::Client && header.base_offset != 0 {
        return Err(ValidationError::BaseOffset(header.base_offset));
    }
    check_size(batch.bytes.len(), config)?;
    stamp::check_crc(header, batch.bytes)?;
    let source = header.compression()?;
    check_header(header, context.origin)?;

    let target = config.compression.unwrap_or(Compression::with_default_level(source));
    // Control records are not compressed unless they came so.
    let keeps_codec = source == target.codec() || source == CompressionType::None && header.is_control();
    if !keeps_codec {
        return rewrite(batch, target, config, context, buffers);
    }
    let mut rules = RecordRules::new(header, config, context.now_ms);
    let offsets = walk::walk(batch, &mut rules, buffers)?;
    rules.finish()?;
    // Without compression Kafka does not look at the records' own offsets.
    if offsets == Offsets::Irregular && source != CompressionType::None {
        return Err(ValidationError::IrregularOffsets);
    }
    Ok(keep(batch, config, context, rules.max_timestamp()))
}

fn check_size(size: usize, config: &ValidationConfig) -> Result<(), ValidationError> {
    let max = config.max_message_bytes;
    if size > max { Err(ValidationError::TooLarge { size, max }) } else { Ok(()) }
}

/// `LogValidator.validateBatch`.
fn check_header(header: &BatchHeader, origin: AppendOrigin) -> Result<(), ValidationError> {
    let BatchHeader { records_count, last_offset_delta, producer_id, base_sequence, .. } = *header;
    if last_offset_delta < 0 {
        return Err(ValidationError::LastOffsetDelta(last_offset_delta));
    }
    if records_count <= 0 {
        return Err(ValidationError::RecordsCount(records_count));
    }
    if last_offset_delta != records_count - 1 {
        return Err(ValidationError::CountMismatch { last_offset_delta, records_count });
    }
    if origin == AppendOrigin::Client {
        if header.is_control() {
            return Err(ValidationError::ControlBatch);
        }
        if header.has_producer_id() && base_sequence < 0 {
            return Err(ValidationError::NegativeSequence { producer_id, base_sequence });
        }
    }
    Ok(())
}

/// The batch as it came, with the timestamp fields that the topic wants.
fn keep<'a>(batch: &Batch<'a>, config: &ValidationConfig, context: AppendContext, max_timestamp: i64) -> ValidatedBatch<'a> {
    let (header_bytes, records) = batch.bytes.split_first_chunk().expect("a batch is at least as long as its header");
    let mut header_bytes = *header_bytes;
    let log_append_time_ms = log_append_time(config, context);
    stamp::set_max_timestamp(&mut header_bytes, records, config.timestamp_type, log_append_time_ms.unwrap_or(max_timestamp));
    validated(header_bytes, Cow::Borrowed(records), log_append_time_ms)
}

/// The batch with its records written anew: `LogValidator.buildRecordsAndAssignOffsets`.
fn rewrite<'a>(
    batch: &Batch<'a>,
    target: Compression,
    config: &ValidationConfig,
    context: AppendContext,
    buffers: &mut DecompressionBuffers,
) -> Result<ValidatedBatch<'a>, ValidationError> {
    let header = &batch.header;
    let log_append_time_ms = log_append_time(config, context);
    let BatchHeader { producer_id, producer_epoch, base_sequence, .. } = *header;
    let mut builder = BatchBuilder::new(BatchSettings {
        compression: target,
        log_append_time_ms,
        producer: ProducerFields { producer_id, producer_epoch, base_sequence },
        is_transactional: header.is_transactional(),
        is_control: header.is_control(),
        ..BatchSettings::default()
    })?;
    let mut rules = RecordRules::new(header, config, context.now_ms);
    let mut reader = RecordReader::new(batch, buffers)?;
    let mut next_offset = 0;
    while let Some(record) = reader.next_record()? {
        rules.check(record.timestamp, record.key.is_some());
        // A batch with a rejected record is lost as a whole: the rest is only read to find what else is wrong.
        if !rules.has_rejected() {
            builder.append_record(next_offset, &record)?;
        }
        next_offset += 1;
    }
    rules.finish()?;
    let mut rewritten = builder.build()?;
    check_size(rewritten.len(), config)?;
    let records = rewritten.split_off(BATCH_OVERHEAD);
    let header_bytes = *rewritten.first_chunk().expect("a built batch begins with its header");
    Ok(validated(header_bytes, Cow::Owned(records), log_append_time_ms))
}

fn log_append_time(config: &ValidationConfig, context: AppendContext) -> Option<i64> {
    match config.timestamp_type {
        TimestampType::CreateTime => None,
        TimestampType::LogAppendTime => Some(context.now_ms),
    }
}

fn validated(header_bytes: [u8; BATCH_OVERHEAD], records: Cow<'_, [u8]>, log_append_time_ms: Option<i64>) -> ValidatedBatch<'_> {
    let header = BatchHeader::parse(&header_bytes).expect("length and magic are those of a header that was parsed before");
    ValidatedBatch { header, header_bytes, records, log_append_time_ms }
}
