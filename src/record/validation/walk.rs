//! The walk over the records of a batch that stays as it is: structure, rules and offsets, without a copy of keys and values. This is the
//! hot path of produce: nothing is allocated per record, and a compressed batch needs memory for one piece of it at a time.

use super::rules::RecordRules;
use crate::batches::Batch;
use crate::compression::{DecompressedStream, DecompressionBuffers};
use crate::header::BATCH_OVERHEAD;
use crate::reader::{RecordsError, next_in_slice, peek_size};
use crate::record::{self, RecordError};
use crate::varint::Cursor;

/// Records up to this size are brought into memory as a whole; the keys and values of larger ones are passed over.
const WHOLE_RECORD_MAX: usize = 64 * 1024;
/// The most bytes of any field that is read and not passed over: a varint of 64 bits.
const FIELD_LENGTH_MAX: usize = 10;

/// Whether the records' own offset deltas are 0, 1, 2 ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offsets {
    Consecutive,
    Irregular,
}

impl Offsets {
    #[inline(always)]
    fn and(self, expected: i32, found: i32) -> Offsets {
        if expected == found { self } else { Offsets::Irregular }
    }
}

/// Applies `rules` to every record. The header must have been checked: the count is positive.
pub(super) fn walk(batch: &Batch<'_>, rules: &mut RecordRules<'_>, buffers: &mut DecompressionBuffers) -> Result<Offsets, RecordsError> {
    let records = &batch.bytes[BATCH_OVERHEAD..];
    let count = batch.header.records_count;
    match DecompressedStream::new(batch.header.compression()?, records, buffers) {
        None => walk_slice(records, count, rules),
        Some(mut stream) => walk_stream(&mut stream, count, rules),
    }
}

fn walk_slice(mut rest: &[u8], count: i32, rules: &mut RecordRules<'_>) -> Result<Offsets, RecordsError> {
    let mut offsets = Offsets::Consecutive;
    for index in 0..count {
        let record = next_in_slice(&mut rest)?;
        rules.check_encoded(record.timestamp_delta, record.key.is_some());
        offsets = offsets.and(index, record.offset_delta);
    }
    if rest.is_empty() { Ok(offsets) } else { Err(RecordsError::SurplusBytes) }
}

fn walk_stream(stream: &mut DecompressedStream<'_>, count: i32, rules: &mut RecordRules<'_>) -> Result<Offsets, RecordsError> {
    let mut offsets = Offsets::Consecutive;
    for index in 0..count {
        let record = next_summary(stream)?;
        rules.check_encoded(record.timestamp_delta, record.has_key);
        offsets = offsets.and(index, record.offset_delta);
    }
    if stream.fill(1)? == 0 { Ok(offsets) } else { Err(RecordsError::SurplusBytes) }
}

/// What validation wants to know of a record.
struct Summary {
    timestamp_delta: i64,
    offset_delta: i32,
    has_key: bool,
}

#[inline(always)]
fn next_summary(stream: &mut DecompressedStream<'_>) -> Result<Summary, RecordsError> {
    let (size, size_length) = peek_size(stream)?;
    let end = size_length + size;
    if stream.unread().len() < end {
        if size > WHOLE_RECORD_MAX {
            stream.take(size_length);
            return PassingReader { stream, left: size }.read_record(size);
        }
        if stream.fill(end)? < end {
            return Err(RecordError::Truncated.into());
        }
    }
    let record = record::parse_body(&stream.take(end)[size_length..])?;
    Ok(Summary { timestamp_delta: record.timestamp_delta, offset_delta: record.offset_delta, has_key: record.key.is_some() })
}

/// Reads a record field by field and passes over keys and values, however large.
struct PassingReader<'s, 'a> {
    stream: &'s mut DecompressedStream<'a>,
    left: usize,
}

impl PassingReader<'_, '_> {
    fn read_record(mut self, size: usize) -> Result<Summary, RecordsError> {
        self.field(|cursor| cursor.byte())?;
        let timestamp_delta = self.field(|cursor| cursor.varlong())?;
        let offset_delta = self.field(|cursor| cursor.varint())?;
        let has_key = self.pass_bytes()?;
        self.pass_bytes()?;
        let headers_count = self.field(|cursor| cursor.varint())?;
        if headers_count < 0 || headers_count as usize > self.left {
            return Err(RecordError::HeadersCount(headers_count).into());
        }
        for _ in 0..headers_count {
            let key_size = self.field(|cursor| cursor.varint())?;
            let key_length = usize::try_from(key_size).map_err(|_| RecordError::HeaderKeySize(key_size))?;
            self.pass(key_length)?;
            self.pass_bytes()?;
        }
        if self.left > 0 {
            return Err(RecordError::SurplusBytes { size, surplus: self.left }.into());
        }
        Ok(Summary { timestamp_delta, offset_delta, has_key })
    }

    fn field<T>(&mut self, read: impl FnOnce(&mut Cursor<'_>) -> Option<T>) -> Result<T, RecordsError> {
        let wanted = self.left.min(FIELD_LENGTH_MAX);
        let available = self.stream.fill(wanted)?.min(wanted);
        let mut cursor = Cursor::new(&self.stream.unread()[..available]);
        let error = if available < wanted { RecordError::Truncated } else { RecordError::FieldBeyondRecord };
        let value = read(&mut cursor).ok_or(error)?;
        let length = cursor.position();
        self.stream.take(length);
        self.left -= length;
        Ok(value)
    }

    /// Passes over bytes behind a length; `false` when they are null.
    fn pass_bytes(&mut self) -> Result<bool, RecordsError> {
        let length = self.field(|cursor| cursor.varint())?;
        let Ok(length) = usize::try_from(length) else { return Ok(false) };
        self.pass(length)?;
        Ok(true)
    }

    fn pass(&mut self, length: usize) -> Result<(), RecordsError> {
        if length > self.left {
            return Err(RecordError::FieldBeyondRecord.into());
        }
        self.left -= length;
        if self.stream.skip(length)? { Ok(()) } else { Err(RecordError::Truncated.into()) }
    }
}
