//! Writes the protocol's primitive types. What comes out is a list of parts, so that record batches in files or in shared memory are not
//! copied into the answer.

use bytes::{BufMut, Bytes, BytesMut};
use ottla_model::Uuid;

use crate::message::{EncodeError, RawTaggedField};
use crate::records::{FileRange, Records, RecordsPart};

/// Records in memory up to this many bytes are copied rather than made a part of their own.
const COPY_BYTES_MAX: usize = 1024;

/// A run of bytes to be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Bytes in memory.
    Memory(Bytes),
    /// A range of a file.
    File(FileRange),
}

impl Part {
    /// The size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Part::Memory(bytes) => bytes.len(),
            Part::File(range) => range.length,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects a message's bytes.
#[derive(Debug, Default)]
pub struct Writer {
    parts: Vec<Part>,
    parts_length: usize,
    tail: BytesMut,
}

macro_rules! number {
    ($name:ident, $kind:ty) => {
        #[doc = concat!("A big-endian `", stringify!($kind), "`.")]
        pub fn $name(&mut self, value: $kind) {
            self.tail.put_slice(&value.to_be_bytes());
        }
    };
}

impl Writer {
    /// An empty message.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// The size so far, in bytes.
    pub fn len(&self) -> usize {
        self.parts_length + self.tail.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message, in the order in which it is to be sent.
    pub fn into_parts(mut self) -> Vec<Part> {
        self.end_part();
        self.parts
    }

    /// The message in one piece; fails when a part of it is in a file.
    pub fn into_bytes(mut self) -> Result<Bytes, EncodeError> {
        if self.parts.is_empty() {
            return Ok(self.tail.freeze());
        }
        self.end_part();
        let mut bytes = BytesMut::with_capacity(self.parts_length);
        for part in self.parts {
            match part {
                Part::Memory(part) => bytes.put_slice(&part),
                Part::File(_) => return Err(EncodeError::NotInMemory),
            }
        }
        Ok(bytes.freeze())
    }

    fn end_part(&mut self) {
        if !self.tail.is_empty() {
            let tail = self.tail.split().freeze();
            self.push_part(Part::Memory(tail));
        }
    }

    fn push_part(&mut self, part: Part) {
        self.parts_length += part.len();
        self.parts.push(part);
    }

    number!(i8, i8);
    number!(i16, i16);
    number!(u16, u16);
    number!(i32, i32);
    number!(u32, u32);
    number!(i64, i64);
    number!(f64, f64);

    /// One byte, 1 or 0.
    pub fn bool(&mut self, value: bool) {
        self.i8(i8::from(value));
    }

    /// A uuid, most significant byte first.
    pub fn uuid(&mut self, value: Uuid) {
        self.tail.put_slice(value.as_bytes());
    }

    /// Bytes without a length.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.tail.put_slice(bytes);
    }

    /// An unsigned number, seven bits a byte, lowest first.
    pub fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.tail.put_u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.tail.put_u8(value as u8);
    }

    fn length(&mut self, flexible: bool, length: usize) -> Result<(), EncodeError> {
        let checked = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
        if flexible {
            self.unsigned_varint(checked as u32 + 1);
        } else {
            self.i32(checked);
        }
        Ok(())
    }

    /// A string of at most 32,767 bytes.
    pub fn string(&mut self, flexible: bool, value: &str) -> Result<(), EncodeError> {
        let length = i16::try_from(value.len()).map_err(|_| EncodeError::TooLong { length: value.len() })?;
        if flexible {
            self.unsigned_varint(length as u32 + 1);
        } else {
            self.i16(length);
        }
        self.raw(value.as_bytes());
        Ok(())
    }

    /// The null string.
    pub fn null_string(&mut self, flexible: bool) {
        if flexible { self.unsigned_varint(0) } else { self.i16(-1) }
    }

    /// Null bytes, null records or a null array.
    pub fn null_length(&mut self, flexible: bool) {
        if flexible { self.unsigned_varint(0) } else { self.i32(-1) }
    }

    /// How many elements follow.
    pub fn array_length(&mut self, flexible: bool, length: usize) -> Result<(), EncodeError> {
        self.length(flexible, length)
    }

    /// Bytes with their length.
    pub fn bytes(&mut self, flexible: bool, value: &[u8]) -> Result<(), EncodeError> {
        self.length(flexible, value.len())?;
        self.raw(value);
        Ok(())
    }

    /// Record batches with their length.
    pub fn records(&mut self, flexible: bool, value: &Records) -> Result<(), EncodeError> {
        self.length(flexible, value.len())?;
        match value {
            Records::Memory(bytes) => self.shared(bytes),
            Records::Parts(parts) => {
                for part in parts {
                    match part {
                        RecordsPart::Memory(bytes) => self.shared(bytes),
                        RecordsPart::File(range) => {
                            self.end_part();
                            self.push_part(Part::File(range.clone()));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn shared(&mut self, bytes: &Bytes) {
        if bytes.len() <= COPY_BYTES_MAX {
            self.raw(bytes);
        } else {
            self.end_part();
            self.push_part(Part::Memory(bytes.clone()));
        }
    }

    /// Begins a struct's tagged fields; `unknown` are carried along, in their places.
    pub fn tagged_fields<'a>(&'a mut self, unknown: &'a [RawTaggedField]) -> TaggedFields<'a> {
        TaggedFields { writer: self, unknown, count: 0, fields: Writer::new() }
    }
}

/// Collects tagged fields in the order of their tags; the count is written before them.
#[derive(Debug)]
pub struct TaggedFields<'a> {
    writer: &'a mut Writer,
    unknown: &'a [RawTaggedField],
    count: u32,
    fields: Writer,
}

impl TaggedFields<'_> {
    /// Adds the field `tag`, whose tag is above those of all fields before it.
    pub fn field(&mut self, tag: u32, write: impl FnOnce(&mut Writer) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        self.unknown_below(tag);
        let mut content = Writer::new();
        write(&mut content)?;
        self.raw(tag, &content.into_bytes()?);
        Ok(())
    }

    fn unknown_below(&mut self, tag: u32) {
        while let Some((first, rest)) = self.unknown.split_first().filter(|(first, _)| first.tag < tag) {
            self.raw(first.tag, &first.data);
            self.unknown = rest;
        }
    }

    fn raw(&mut self, tag: u32, content: &[u8]) {
        self.count += 1;
        self.fields.unsigned_varint(tag);
        self.fields.unsigned_varint(content.len() as u32);
        self.fields.raw(content);
    }

    /// Writes the count and the fields.
    pub fn finish(mut self) {
        self.unknown_below(u32::MAX);
        self.writer.unsigned_varint(self.count);
        self.writer.raw(&self.fields.tail);
    }
}
