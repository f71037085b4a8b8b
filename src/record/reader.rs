//! The records of one batch, one after the other, compressed or not. Knows nothing of the rules for appending them.

use crate::attributes::{TimestampType, UnknownCompressionType};
use crate::batches::Batch;
use crate::compression::{DecompressError, DecompressedStream, DecompressionBuffers};
use crate::header::{BATCH_OVERHEAD, BatchHeader};
use crate::record::{self, RawRecord, Record, RecordError};
use crate::varint::{Cursor, VARINT_LENGTH_MAX};

/// Why the records of a batch could not be read to their end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// The batch announces a negative number of records.
    #[error("the batch announces {0} records")]
    NegativeCount(i32),
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There are bytes behind the last record that the batch announces.
    #[error("there are bytes behind the last record of the batch")]
    SurplusBytes,
    /// The codec is unknown.
    #[error(transparent)]
    UnknownCompressionType(#[from] UnknownCompressionType),
    /// The records could not be decompressed.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
}

enum Source<'a> {
    Slice(&'a [u8]),
    Stream(DecompressedStream<'a>),
}

/// Reads the records of one batch. A record borrows from the reader until the next one is read; memory is used for one record at a time.
pub struct RecordReader<'a> {
    source: Source<'a>,
    records_left: u32,
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
}

impl<'a> RecordReader<'a> {
    /// A reader of the records of `batch`, whose checksum need not have been checked.
    pub fn new(batch: &Batch<'a>, buffers: &'a mut DecompressionBuffers) -> Result<RecordReader<'a>, RecordsError> {
        let BatchHeader { records_count, base_offset, base_timestamp, .. } = batch.header;
        let records_left = u32::try_from(records_count).map_err(|_| RecordsError::NegativeCount(records_count))?;
        let log_append_time = match batch.header.timestamp_type() {
            TimestampType::CreateTime => None,
            TimestampType::LogAppendTime => Some(batch.header.max_timestamp),
        };
        // What is behind the header of a batch without records is not looked at.
        let bytes = if records_left == 0 { &[] } else { &batch.bytes[BATCH_OVERHEAD..] };
        let source = match DecompressedStream::new(batch.header.compression()?, bytes, buffers) {
            Some(stream) if records_left > 0 => Source::Stream(stream),
            Some(_) | None => Source::Slice(bytes),
        };
        Ok(RecordReader { source, records_left, base_offset, base_timestamp, log_append_time })
    }

    /// The next record; `None` behind the last one. After an error the reader must not be used.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, RecordsError> {
        if self.records_left == 0 {
            return match self.has_surplus_bytes()? {
                true => Err(RecordsError::SurplusBytes),
                false => Ok(None),
            };
        }
        self.records_left -= 1;
        let raw = match &mut self.source {
            Source::Slice(rest) => next_in_slice(rest)?,
            Source::Stream(stream) => next_in_stream(stream)?,
        };
        Ok(Some(Record {
            offset: self.base_offset.wrapping_add(raw.offset_delta as i64),
            timestamp: self.log_append_time.unwrap_or(self.base_timestamp.wrapping_add(raw.timestamp_delta)),
            key: raw.key,
            value: raw.value,
            headers: raw.headers,
        }))
    }

    fn has_surplus_bytes(&mut self) -> Result<bool, RecordsError> {
        match &mut self.source {
            Source::Slice(rest) => Ok(!rest.is_empty()),
            Source::Stream(stream) => Ok(stream.fill(1)? > 0),
        }
    }
}

/// Reads one record from the front of `rest` and takes it away.
#[inline(always)]
pub(crate) fn next_in_slice<'a>(rest: &mut &'a [u8]) -> Result<RawRecord<'a>, RecordError> {
    let mut cursor = Cursor::new(rest);
    let size = checked_size(cursor.varint())?;
    let body = cursor.take(size).ok_or(RecordError::Truncated)?;
    *rest = &rest[cursor.position()..];
    record::parse_body(body)
}

fn next_in_stream<'s>(stream: &'s mut DecompressedStream<'_>) -> Result<RawRecord<'s>, RecordsError> {
    let (size, size_length) = peek_size(stream)?;
    let end = size_length + size;
    if stream.unread().len() < end && stream.fill(end)? < end {
        return Err(RecordError::Truncated.into());
    }
    Ok(record::parse_body(&stream.take(end)[size_length..])?)
}

/// The size of the record that the stream stands in front of, and the length of that size.
#[inline(always)]
pub(crate) fn peek_size(stream: &mut DecompressedStream<'_>) -> Result<(usize, usize), RecordsError> {
    if stream.unread().len() < VARINT_LENGTH_MAX {
        stream.fill(VARINT_LENGTH_MAX)?;
    }
    let mut cursor = Cursor::new(stream.unread());
    let size = checked_size(cursor.varint())?;
    Ok((size, cursor.position()))
}

#[inline(always)]
fn checked_size(size: Option<i32>) -> Result<usize, RecordError> {
    let size = size.ok_or(RecordError::Truncated)?;
    usize::try_from(size).map_err(|_| RecordError::NegativeSize(size))
}
