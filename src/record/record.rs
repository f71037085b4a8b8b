//! One record inside a batch (`DefaultRecord`): its fields out of bytes, and into bytes.
//!
//! ```text
//! size varint | attributes i8 | timestamp delta varlong | offset delta varint | key size varint, key | value size varint, value
//! | header count varint | header: key size varint, key, value size varint, value
//! ```
//! Sizes below zero mean null. Knows nothing of the batch around the record.

use crate::varint::{Cursor, put_length, put_varlong, size_of_varlong};

/// A record of a batch, borrowing its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record's offset in its partition.
    pub offset: i64,
    /// Milliseconds since the epoch: the batch's max timestamp under LogAppendTime.
    pub timestamp: i64,
    /// The key, unless it is null.
    pub key: Option<&'a [u8]>,
    /// The value; null is a tombstone on compacted topics.
    pub value: Option<&'a [u8]>,
    /// The headers in their order.
    pub headers: RecordHeaders<'a>,
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    /// The key. Clients read it as UTF-8; brokers do not check that.
    pub key: &'a [u8],
    /// The value, unless it is null.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, known to be well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RecordHeaders<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> RecordHeaders<'a> {
    /// How many headers there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no header.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The headers in their order.
    pub fn iter(&self) -> impl Iterator<Item = RecordHeader<'a>> + use<'a> {
        let mut cursor = Cursor::new(self.bytes);
        (0..self.count).map(move |_| read_header(&mut cursor).expect("headers were checked when the record was read"))
    }
}

/// Why bytes are not a record, or not the records that a batch announces. Kafka answers all of these with `INVALID_RECORD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The batch ends before the record does.
    #[error("the batch ends within a record")]
    Truncated,
    /// A variable-length integer does not end, or a field reaches beyond its record.
    #[error("a field of a record reaches beyond the record")]
    FieldBeyondRecord,
    /// The record's size is negative.
    #[error("a record has the size {0}")]
    NegativeSize(i32),
    /// The record announces a negative number of headers, or more than it has bytes.
    #[error("a record has {0} headers")]
    HeadersCount(i32),
    /// A header key may not be null.
    #[error("a record header's key has the size {0}")]
    HeaderKeySize(i32),
    /// The fields end before the record does.
    #[error("a record of {size} bytes has {surplus} bytes behind its last field")]
    SurplusBytes {
        /// What the record says of itself.
        size: usize,
        /// What is left.
        surplus: usize,
    },
}

/// A record's fields as they are encoded, relative to its batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRecord<'a> {
    pub(crate) timestamp_delta: i64,
    pub(crate) offset_delta: i32,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: RecordHeaders<'a>,
}

/// Reads a record whose bytes, those of the size excluded, are `body`.
#[inline(always)]
pub(crate) fn parse_body(body: &[u8]) -> Result<RawRecord<'_>, RecordError> {
    use RecordError::FieldBeyondRecord as Beyond;
    let mut cursor = Cursor::new(body);
    cursor.byte().ok_or(Beyond)?;
    let timestamp_delta = cursor.varlong().ok_or(Beyond)?;
    let offset_delta = cursor.varint().ok_or(Beyond)?;
    let key = cursor.nullable_bytes().ok_or(Beyond)?;
    let value = cursor.nullable_bytes().ok_or(Beyond)?;
    let headers_count = cursor.varint().ok_or(Beyond)?;
    let headers_start = cursor.position();
    if headers_count != 0 {
        skip_headers(&mut cursor, headers_count)?;
    }
    if cursor.remaining() != 0 {
        return Err(RecordError::SurplusBytes { size: body.len(), surplus: cursor.remaining() });
    }
    let headers = RecordHeaders { count: headers_count as usize, bytes: &body[headers_start..] };
    Ok(RawRecord { timestamp_delta, offset_delta, key, value, headers })
}

fn skip_headers(cursor: &mut Cursor<'_>, count: i32) -> Result<(), RecordError> {
    if count < 0 || count as usize > cursor.remaining() {
        return Err(RecordError::HeadersCount(count));
    }
    for _ in 0..count {
        read_header(cursor)?;
    }
    Ok(())
}

fn read_header<'a>(cursor: &mut Cursor<'a>) -> Result<RecordHeader<'a>, RecordError> {
    use RecordError::FieldBeyondRecord as Beyond;
    let key_size = cursor.varint().ok_or(Beyond)?;
    if key_size < 0 {
        return Err(RecordError::HeaderKeySize(key_size));
    }
    let key = cursor.take(key_size as usize).ok_or(Beyond)?;
    let value = cursor.nullable_bytes().ok_or(Beyond)?;
    Ok(RecordHeader { key, value })
}

/// Appends `headers` in their encoded form, without the count in front.
pub(crate) fn put_headers(out: &mut Vec<u8>, headers: &[RecordHeader<'_>]) {
    for header in headers {
        put_length(out, header.key.len());
        out.extend_from_slice(header.key);
        put_nullable_bytes(out, header.value);
    }
}

/// Headers whose encoded form is already there.
pub(crate) const fn encoded_headers(count: usize, bytes: &[u8]) -> RecordHeaders<'_> {
    RecordHeaders { count, bytes }
}

/// Bytes of the whole record, size included.
pub(crate) fn size_in_bytes(record: &RawRecord<'_>) -> usize {
    let body = body_size(record);
    size_of_varlong(body as i64) + body
}

/// Appends the whole record, size included.
pub(crate) fn put_record(out: &mut Vec<u8>, record: &RawRecord<'_>) {
    put_length(out, body_size(record));
    // No attribute of a record has a meaning.
    out.push(0);
    put_varlong(out, record.timestamp_delta);
    put_varlong(out, record.offset_delta as i64);
    put_nullable_bytes(out, record.key);
    put_nullable_bytes(out, record.value);
    put_length(out, record.headers.count);
    out.extend_from_slice(record.headers.bytes);
}

fn body_size(record: &RawRecord<'_>) -> usize {
    1 + size_of_varlong(record.timestamp_delta)
        + size_of_varlong(record.offset_delta as i64)
        + size_of_nullable_bytes(record.key)
        + size_of_nullable_bytes(record.value)
        + size_of_varlong(record.headers.count as i64)
        + record.headers.bytes.len()
}

fn put_nullable_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_length(out, bytes.len());
            out.extend_from_slice(bytes);
        }
        None => put_varlong(out, -1),
    }
}

fn size_of_nullable_bytes(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| size_of_varlong(bytes.len() as i64) + bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: &RawRecord<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_record(&mut bytes, record);
        assert_eq!(bytes.len(), size_in_bytes(record));
        let mut cursor = Cursor::new(&bytes);
        let size = cursor.varint().expect("a size") as usize;
        let body = cursor.take(size).expect("a body");
        assert_eq!(cursor.remaining(), 0);
        let read = parse_body(body).expect("a record");
        assert_eq!(
            (read.timestamp_delta, read.offset_delta, read.key, read.value, read.headers),
            (record.timestamp_delta, record.offset_delta, record.key, record.value, record.headers)
        );
        bytes
    }

    fn plain() -> RawRecord<'static> {
        RawRecord { timestamp_delta: 0, offset_delta: 0, key: None, value: None, headers: RecordHeaders::default() }
    }

    #[test]
    fn the_smallest_record() {
        assert_eq!(check(&plain()), [12, 0, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn all_fields() {
        let mut encoded = Vec::new();
        let headers = [RecordHeader { key: b"h", value: Some(b"1") }, RecordHeader { key: b"", value: None }];
        put_headers(&mut encoded, &headers);
        let record = RawRecord {
            timestamp_delta: -70,
            offset_delta: 300,
            key: Some(b""),
            value: Some(&[7; 200]),
            headers: encoded_headers(2, &encoded),
        };
        check(&record);
        assert_eq!(record.headers.iter().collect::<Vec<_>>(), headers);
    }

    #[test]
    fn malformed_bodies() {
        let error = |body: &[u8]| parse_body(body).expect_err("malformed");
        assert_eq!(error(&[]), RecordError::FieldBeyondRecord);
        assert_eq!(error(&[0, 0, 0, 1, 1]), RecordError::FieldBeyondRecord);
        assert_eq!(error(&[0, 0, 0, 4, b'k', 1, 0]), RecordError::FieldBeyondRecord);
        assert_eq!(error(&[0, 0, 0, 1, 1, 0, 9]), RecordError::SurplusBytes { size: 7, surplus: 1 });
        assert_eq!(error(&[0, 0, 0, 1, 1, 1]), RecordError::HeadersCount(-1));
        assert_eq!(error(&[0, 0, 0, 1, 1, 4, 0]), RecordError::HeadersCount(2));
        assert_eq!(error(&[0, 0, 0, 1, 1, 2, 1, 0]), RecordError::HeaderKeySize(-1));
        assert_eq!(error(&[0, 0, 0, 1, 1, 2, 4, b'h']), RecordError::FieldBeyondRecord);
    }
}
