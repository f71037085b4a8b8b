//! Reads the protocol's primitive types out of one message's bytes. Every length is checked against what is left before anything is
//! reserved, so that a short message cannot ask for much memory. Byte fields are slices of the message: they pin it.

use bytes::Bytes;
use ottla_model::Uuid;

use crate::message::{DecodeError, RawTaggedField};
use crate::records::Records;

/// The most elements that an array of a message may have.
pub const ARRAY_ELEMENTS_MAX: usize = 1_000_000;
/// The most tagged fields that one struct of a message may carry.
pub const TAGGED_FIELDS_MAX: u32 = 10_000;

/// A cursor over a message.
#[derive(Clone, Debug)]
pub struct Reader {
    bytes: Bytes,
    position: usize,
}

macro_rules! number {
    ($name:ident, $kind:ty) => {
        #[doc = concat!("A big-endian `", stringify!($kind), "`.")]
        pub fn $name(&mut self) -> Result<$kind, DecodeError> {
            const SIZE: usize = size_of::<$kind>();
            let bytes = self.take(SIZE)?;
            Ok(<$kind>::from_be_bytes(bytes.try_into().expect("take returns what was asked for")))
        }
    };
}

impl Reader {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: Bytes) -> Reader {
        Reader { bytes, position: 0 }
    }

    /// Bytes that are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The bytes that are left, as a slice of the message.
    pub fn rest(&self) -> Bytes {
        self.bytes.slice(self.position..)
    }

    number!(i8, i8);
    number!(i16, i16);
    number!(u16, u16);
    number!(i32, i32);
    number!(u32, u32);
    number!(i64, i64);
    number!(f64, f64);

    fn take(&mut self, length: usize) -> Result<&[u8], DecodeError> {
        let end = self.position.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(DecodeError::EndOfBytes { needed: length, remaining: self.remaining() })?;
        let taken = &self.bytes[self.position..end];
        self.position = end;
        Ok(taken)
    }

    fn take_shared(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        let start = self.position;
        self.take(length)?;
        Ok(self.bytes.slice(start..start + length))
    }

    /// Any byte but 0 is true.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.i8()? != 0)
    }

    /// A uuid, most significant byte first.
    pub fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        Ok(Uuid::from_bytes(self.take(16)?.try_into().expect("take returns what was asked for")))
    }

    /// An unsigned number of up to five bytes, seven bits each, lowest first.
    pub fn unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.take(1)?[0];
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Varint)
    }

    /// `None` is null; a negative length of any size is null too, as Kafka reads it.
    fn length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        let length = if flexible { (self.unsigned_varint()? as i32).wrapping_sub(1) } else { self.i32()? };
        Ok(usize::try_from(length).ok())
    }

    /// A string, or null.
    pub fn nullable_string(&mut self, flexible: bool, field: &'static str) -> Result<Option<String>, DecodeError> {
        let length = if flexible { (self.unsigned_varint()? as i32).wrapping_sub(1) } else { i32::from(self.i16()?) };
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        if length > i16::MAX as usize {
            return Err(DecodeError::StringLength { field, length: length as i64 });
        }
        let bytes = self.take(length)?;
        // Java replaces what is not UTF-8; so does this.
        Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
    }

    /// A string.
    pub fn string(&mut self, flexible: bool, field: &'static str) -> Result<String, DecodeError> {
        self.nullable_string(flexible, field)?.ok_or(DecodeError::Null { field })
    }

    /// Bytes or null, shared with the message.
    pub fn nullable_bytes(&mut self, flexible: bool) -> Result<Option<Bytes>, DecodeError> {
        let Some(length) = self.length(flexible)? else { return Ok(None) };
        self.take_shared(length).map(Some)
    }

    /// Bytes, shared with the message.
    pub fn bytes(&mut self, flexible: bool, field: &'static str) -> Result<Bytes, DecodeError> {
        self.nullable_bytes(flexible)?.ok_or(DecodeError::Null { field })
    }

    /// Record batches or null, shared with the message.
    pub fn nullable_records(&mut self, flexible: bool) -> Result<Option<Records>, DecodeError> {
        Ok(self.nullable_bytes(flexible)?.map(Records::Memory))
    }

    /// Record batches, shared with the message.
    pub fn records(&mut self, flexible: bool, field: &'static str) -> Result<Records, DecodeError> {
        self.nullable_records(flexible)?.ok_or(DecodeError::Null { field })
    }

    /// An array or null.
    pub fn nullable_array<T>(
        &mut self,
        flexible: bool,
        mut element: impl FnMut(&mut Reader) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        let Some(length) = self.length(flexible)? else { return Ok(None) };
        if length > self.remaining() || length > ARRAY_ELEMENTS_MAX {
            return Err(DecodeError::ArrayLength { length: length as i64, remaining: self.remaining() });
        }
        // An element has at least one byte but may take hundreds in memory: growing on the way keeps a lie about the length cheap.
        let mut elements = Vec::with_capacity(length.min(64));
        for _ in 0..length {
            elements.push(element(self)?);
        }
        Ok(Some(elements))
    }

    /// An array.
    pub fn array<T>(
        &mut self,
        flexible: bool,
        field: &'static str,
        element: impl FnMut(&mut Reader) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(flexible, element)?.ok_or(DecodeError::Null { field })
    }

    /// How many tagged fields follow.
    pub fn tagged_field_count(&mut self) -> Result<u32, DecodeError> {
        let count = self.unsigned_varint()?;
        if count > TAGGED_FIELDS_MAX { Err(DecodeError::TaggedFields { count }) } else { Ok(count) }
    }

    /// The tag and the size in bytes of the next tagged field.
    pub fn tag(&mut self) -> Result<(u32, usize), DecodeError> {
        Ok((self.unsigned_varint()?, self.unsigned_varint()? as usize))
    }

    /// The content of a tagged field that the schema does not know.
    pub fn raw_tagged_field(&mut self, tag: u32, size: usize) -> Result<RawTaggedField, DecodeError> {
        Ok(RawTaggedField { tag, data: self.take_shared(size)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(bytes))
    }

    #[test]
    fn an_array_cannot_be_longer_than_the_message() {
        let error = reader(&[0x7f, 0xff, 0xff, 0xff, 0]).nullable_array(false, Reader::i8);
        assert_eq!(error, Err(DecodeError::ArrayLength { length: 0x7fff_ffff, remaining: 1 }));
    }

    #[test]
    fn negative_lengths_are_null() {
        assert_eq!(reader(&[0xff, 0xff, 0xff, 0xfe]).nullable_array(false, Reader::i8), Ok(None));
        assert_eq!(reader(&[0xff, 0xfe]).string(false, "name"), Err(DecodeError::Null { field: "name" }));
        assert_eq!(reader(&[0]).nullable_bytes(true), Ok(None));
    }

    #[test]
    fn strings_are_short_and_repaired() {
        assert_eq!(reader(&[0, 2, b'a', 0xff]).string(false, "name"), Ok("a\u{fffd}".to_owned()));
        assert_eq!(reader(&[0x81, 0x80, 0x02]).string(true, "name"), Err(DecodeError::StringLength { field: "name", length: 0x8000 }));
    }

    #[test]
    fn varints_end() {
        assert_eq!(reader(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unsigned_varint(), Ok(u32::MAX));
        assert_eq!(reader(&[0xff; 6]).unsigned_varint(), Err(DecodeError::Varint));
        assert_eq!(reader(&[0x80]).unsigned_varint(), Err(DecodeError::EndOfBytes { needed: 1, remaining: 0 }));
    }

    #[test]
    fn tagged_fields_are_counted() {
        assert_eq!(reader(&[0x91, 0x4e]).tagged_field_count(), Err(DecodeError::TaggedFields { count: 10_001 }));
        assert_eq!(reader(&[0x90, 0x4e]).tagged_field_count(), Ok(10_000));
    }
}
