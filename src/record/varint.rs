//! Variable-length integers as records use them (`ByteUtils`): seven bits per byte, lowest first, zigzag for the sign. Knows nothing of
//! records.

/// The most bytes of a varint of 32 bits.
pub(crate) const VARINT_LENGTH_MAX: usize = 5;

/// Reads forward through bytes. Every read answers `None` when the bytes end before the value does, or when the value is not one; the
/// cursor must not be used after that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) const fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0 }
    }

    #[inline(always)]
    pub(crate) const fn position(&self) -> usize {
        self.position
    }

    #[inline(always)]
    pub(crate) const fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// The next `length` bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(length)?;
        let taken = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(taken)
    }

    /// A signed varint of at most [`VARINT_LENGTH_MAX`] bytes; surplus bits of the fifth byte are dropped, as Kafka does.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Option<i32> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(zigzag_decode_32(first as u32));
        }
        let second = self.byte()?;
        let low = (first & 0x7f) as u32;
        if second < 0x80 {
            return Some(zigzag_decode_32(low | (second as u32) << 7));
        }
        self.varint_tail(low | ((second & 0x7f) as u32) << 7)
    }

    fn varint_tail(&mut self, mut value: u32) -> Option<i32> {
        for shift in [14, 21, 28] {
            let byte = self.byte()?;
            value |= ((byte & 0x7f) as u32) << shift;
            if byte < 0x80 {
                return Some(zigzag_decode_32(value));
            }
        }
        None
    }

    /// A signed varint of at most ten bytes; surplus bits of the tenth byte are dropped, as Kafka does.
    #[inline(always)]
    pub(crate) fn varlong(&mut self) -> Option<i64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(zigzag_decode_64(first as u64));
        }
        self.varlong_tail((first & 0x7f) as u64)
    }

    fn varlong_tail(&mut self, mut value: u64) -> Option<i64> {
        for shift in (7..=63).step_by(7) {
            let byte = self.byte()?;
            value |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                return Some(zigzag_decode_64(value));
            }
        }
        None
    }

    /// Bytes behind a signed length; any negative length means null (`Utils.readBytes`).
    #[inline(always)]
    pub(crate) fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        let length = self.varint()?;
        if length < 0 { Some(None) } else { self.take(length as usize).map(Some) }
    }
}

const fn zigzag_decode_32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

const fn zigzag_decode_64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

const fn zigzag_encode_64(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends a signed varint. A value that fits 32 bits takes the same bytes as Kafka's 32-bit form.
pub(crate) fn put_varlong(out: &mut Vec<u8>, value: i64) {
    let mut rest = zigzag_encode_64(value);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a length; `usize` lengths beyond `i32::MAX` cannot be encoded and must have been refused before.
pub(crate) fn put_length(out: &mut Vec<u8>, length: usize) {
    put_varlong(out, length as i64);
}

/// How many bytes [`put_varlong`] takes for `value`.
pub(crate) const fn size_of_varlong(value: i64) -> usize {
    let bits = 64 - (zigzag_encode_64(value) | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varlong(&mut out, value);
        assert_eq!(out.len(), size_of_varlong(value), "{value}");
        out
    }

    #[test]
    fn known_encodings() {
        // From the tables of Kafka's ByteUtilsTest.
        assert_eq!(encoded(0), [0x00]);
        assert_eq!(encoded(-1), [0x01]);
        assert_eq!(encoded(1), [0x02]);
        assert_eq!(encoded(63), [0x7e]);
        assert_eq!(encoded(-64), [0x7f]);
        assert_eq!(encoded(64), [0x80, 0x01]);
        assert_eq!(encoded(8192), [0x80, 0x80, 0x01]);
        assert_eq!(encoded(i32::MAX as i64), [0xfe, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(encoded(i32::MIN as i64), [0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(encoded(i64::MAX), [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        assert_eq!(encoded(i64::MIN), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn values_go_both_ways() {
        for bits in 0..64 {
            for value in [1i64 << bits, (1i64 << bits).wrapping_sub(1), (1i64 << bits).wrapping_neg()] {
                let bytes = encoded(value);
                let mut cursor = Cursor::new(&bytes);
                assert_eq!(cursor.varlong(), Some(value));
                assert_eq!(cursor.remaining(), 0);
                if let Ok(small) = i32::try_from(value) {
                    assert_eq!(Cursor::new(&bytes).varint(), Some(small));
                }
                for cut in 0..bytes.len() {
                    assert_eq!(Cursor::new(&bytes[..cut]).varlong(), None);
                }
            }
        }
    }

    #[test]
    fn endless_values_are_refused_and_surplus_bits_dropped() {
        assert_eq!(Cursor::new(&[0xff; 6]).varint(), None);
        assert_eq!(Cursor::new(&[0xff; 11]).varlong(), None);
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x7f]).varint(), Some(i32::MIN));
        assert_eq!(Cursor::new(&[0x80, 0x00]).varint(), Some(0));
    }

    #[test]
    fn any_negative_length_is_null() {
        assert_eq!(Cursor::new(&[0x01]).nullable_bytes(), Some(None));
        assert_eq!(Cursor::new(&[0x03]).nullable_bytes(), Some(None));
        assert_eq!(Cursor::new(&[0x04, b'a', b'b']).nullable_bytes(), Some(Some(&b"ab"[..])));
        assert_eq!(Cursor::new(&[0x04, b'a']).nullable_bytes(), None);
    }
}
