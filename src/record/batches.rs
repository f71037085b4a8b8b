//! The walk over batches that stand one behind the other, by their headers alone. Knows nothing of what a batch holds.

use crate::header::{BatchHeader, HeaderError, LEGACY_BATCH_LENGTH_MIN, LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, MAGIC_END, check_magic};

/// One whole batch within a larger piece of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Where the batch begins within the walked bytes.
    pub position: usize,
    /// The parsed header.
    pub header: BatchHeader,
    /// The batch's bytes, header included.
    pub bytes: &'a [u8],
}

/// Why a walk ended before the end of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchesError {
    /// What is there may be the beginning of a batch, but its end is missing: the usual end of a fetch response or of a torn write.
    #[error("a partial batch begins at byte {position}: {available} bytes of {size:?}")]
    Partial {
        /// Where it begins.
        position: usize,
        /// How many of its bytes are there.
        available: usize,
        /// How many it says it has; `None` when not even its length is there.
        size: Option<usize>,
    },
    /// What is there cannot be a batch.
    #[error("no batch begins at byte {position}: {cause}")]
    Corrupt {
        /// Where the garbage begins.
        position: usize,
        /// What is wrong with it.
        cause: HeaderError,
    },
}

impl BatchesError {
    /// Where the last whole batch ends.
    pub const fn position(&self) -> usize {
        match self {
            BatchesError::Partial { position, .. } | BatchesError::Corrupt { position, .. } => *position,
        }
    }
}

/// Iterates over the batches in `bytes`. A clean end yields no error; a partial batch or garbage yields one error as the last item.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    bytes: &'a [u8],
    position: usize,
    failed: bool,
}

impl<'a> Batches<'a> {
    /// A walk from the first byte on.
    pub const fn new(bytes: &'a [u8]) -> Batches<'a> {
        Batches { bytes, position: 0, failed: false }
    }

    /// Where the next batch would begin: the end of the whole batches seen so far.
    pub const fn position(&self) -> usize {
        self.position
    }

    fn next_batch(&self) -> Result<Batch<'a>, BatchesError> {
        let position = self.position;
        let rest = &self.bytes[position..];
        let available = rest.len();
        let corrupt = |cause| BatchesError::Corrupt { position, cause };
        if available < LOG_OVERHEAD {
            return Err(BatchesError::Partial { position, available, size: None });
        }
        let length = i32::from_be_bytes(*rest[LENGTH_AT..].first_chunk().expect("LOG_OVERHEAD bytes are there"));
        if length < LEGACY_BATCH_LENGTH_MIN {
            return Err(corrupt(HeaderError::LengthTooSmall(length)));
        }
        if available >= MAGIC_END {
            check_magic(rest[MAGIC_AT] as i8).map_err(corrupt)?;
        }
        let size = length as usize + LOG_OVERHEAD;
        let Some(bytes) = rest.get(..size) else {
            return Err(BatchesError::Partial { position, available, size: Some(size) });
        };
        // A whole batch that is shorter than a header is too short by its own length, not truncated.
        let header = BatchHeader::parse(bytes).map_err(|cause| match cause {
            HeaderError::Truncated(_) => corrupt(HeaderError::LengthTooSmall(length)),
            HeaderError::LengthTooSmall(_) | HeaderError::LegacyMagic(_) | HeaderError::InvalidMagic(_) => corrupt(cause),
        })?;
        Ok(Batch { position, header, bytes })
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, BatchesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.position == self.bytes.len() {
            return None;
        }
        let next = self.next_batch();
        match &next {
            Ok(batch) => self.position += batch.bytes.len(),
            Err(_) => self.failed = true,
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::header::{BATCH_LENGTH_MIN, BATCH_OVERHEAD, CURRENT_MAGIC};

    fn batch(base_offset: i64, records: &[u8]) -> Vec<u8> {
        let header = BatchHeader {
            base_offset,
            batch_length: BATCH_LENGTH_MIN + records.len() as i32,
            partition_leader_epoch: 0,
            magic: CURRENT_MAGIC,
            crc: 0,
            attributes: Attributes::default(),
            last_offset_delta: 0,
            base_timestamp: 0,
            max_timestamp: 0,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            records_count: 1,
        };
        [&header.to_bytes(), records].concat()
    }

    #[test]
    fn whole_batches_end_cleanly() {
        let bytes = [batch(5, b"abc"), batch(6, b""), batch(9, b"defgh")].concat();
        let found: Vec<_> = Batches::new(&bytes).map(|item| item.map(|b| (b.position, b.header.base_offset, b.bytes.len()))).collect();
        assert_eq!(found, [Ok((0, 5, 64)), Ok((64, 6, 61)), Ok((125, 9, 66))]);
        assert_eq!(Batches::new(&[]).next(), None);
    }

    #[test]
    fn a_cut_at_any_byte_is_a_partial_batch() {
        let bytes = [batch(5, b"abc"), batch(6, b"xy")].concat();
        for end in 65..bytes.len() {
            let mut batches = Batches::new(&bytes[..end]);
            assert!(batches.next().is_some_and(|item| item.is_ok()));
            let available = end - 64;
            let size = if available < 12 { None } else { Some(BATCH_OVERHEAD + 2) };
            assert_eq!(batches.next(), Some(Err(BatchesError::Partial { position: 64, available, size })));
            assert_eq!(batches.next(), None);
            assert_eq!(batches.position(), 64);
        }
    }

    #[test]
    fn garbage_is_told_apart() {
        let error_of = |change: fn(&mut Vec<u8>)| {
            let mut bytes = batch(0, b"abc");
            change(&mut bytes);
            Batches::new(&bytes).next().expect("an item").expect_err("an error")
        };
        let corrupt = |cause| BatchesError::Corrupt { position: 0, cause };
        assert_eq!(error_of(|bytes| bytes.fill(0)), corrupt(HeaderError::LengthTooSmall(0)));
        assert_eq!(error_of(|bytes| bytes[8] = 0xff), corrupt(HeaderError::LengthTooSmall(i32::from_be_bytes([0xff, 0, 0, 52]))));
        assert_eq!(error_of(|bytes| bytes[11] = 20), corrupt(HeaderError::LengthTooSmall(20)));
        assert_eq!(error_of(|bytes| bytes[16] = 0), corrupt(HeaderError::LegacyMagic(0)));
        assert_eq!(error_of(|bytes| bytes[16] = 9), corrupt(HeaderError::InvalidMagic(9)));
        // The magic is looked at as soon as it is there, before the end of the batch is.
        assert_eq!(
            error_of(|bytes| {
                bytes[16] = 9;
                bytes.truncate(20);
            }),
            corrupt(HeaderError::InvalidMagic(9))
        );
    }
}
