//! The walk over the batches of a segment's file, by their headers and, where asked, their bytes. Reads ahead in chunks, so that small
//! batches cost no system call each. Knows nothing of indexes.

use std::io;
use std::sync::Arc;

use ottla_io::DiskFile;
use ottla_record::{
    Attributes, BATCH_OVERHEAD, BatchHeader, CURRENT_MAGIC, HeaderError, LEGACY_BATCH_LENGTH_MIN, LOG_OVERHEAD, MAGIC_END,
    NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP,
};

/// For finding a batch near a known position.
pub(crate) const READ_AHEAD_LOOKUP: usize = 4 * 1024;
/// For reading a segment from end to end.
pub(crate) const READ_AHEAD_SCAN: usize = 256 * 1024;

/// A batch in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileBatch {
    /// The position of its first byte.
    pub(crate) position: u32,
    /// Its header. Of messages from before format v2 what they have of it: offset, length, magic and maybe a timestamp.
    pub(crate) header: BatchHeader,
}

impl FileBatch {
    /// Where the next batch begins.
    pub(crate) fn end_position(&self) -> u32 {
        self.position + self.header.size_in_bytes() as u32
    }
}

/// What a walk comes upon.
#[derive(Debug)]
pub(crate) enum Step {
    /// A batch that is whole, as far as lengths tell.
    Batch(FileBatch),
    /// The end of the range, or a batch whose end is missing.
    End,
    /// Something that is no batch.
    Corrupt(HeaderError),
}

/// A walk over `position..end` of a file.
#[derive(Debug)]
pub(crate) struct BatchReader {
    file: Arc<dyn DiskFile>,
    position: u32,
    end: u32,
    read_ahead: usize,
    buffer: Vec<u8>,
    buffer_position: u32,
}

impl BatchReader {
    pub(crate) fn new(file: &Arc<dyn DiskFile>, position: u32, end: u32, read_ahead: usize) -> BatchReader {
        BatchReader { file: file.clone(), position, end, read_ahead, buffer: Vec::new(), buffer_position: position }
    }

    /// Where the next batch would begin.
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// Goes one batch further.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        let available = (self.end - self.position.min(self.end)) as usize;
        if available < MAGIC_END {
            return Ok(Step::End);
        }
        let position = self.position;
        let header = match parse_header(self.load(position, available.min(BATCH_OVERHEAD))?) {
            Ok(header) => header,
            // What is there of it is sane so far, but it ends early.
            Err(HeaderError::Truncated(_)) => return Ok(Step::End),
            Err(cause) => return Ok(Step::Corrupt(cause)),
        };
        if header.size_in_bytes() > available {
            return Ok(Step::End);
        }
        let batch = FileBatch { position, header };
        self.position = batch.end_position();
        Ok(Step::Batch(batch))
    }

    /// Like [`BatchReader::step`] where the file is known to be sound: garbage is an `InvalidData` error.
    pub(crate) fn next(&mut self) -> io::Result<Option<FileBatch>> {
        match self.step()? {
            Step::Batch(batch) => Ok(Some(batch)),
            Step::End => Ok(None),
            Step::Corrupt(cause) => {
                let message = format!("no record batch at position {}: {cause}", self.position);
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }

    /// All bytes of a batch that the walk has just passed.
    pub(crate) fn bytes_of(&mut self, batch: &FileBatch) -> io::Result<&[u8]> {
        self.load(batch.position, batch.header.size_in_bytes())
    }

    /// Whether a batch that the walk has just passed has the CRC that it says it has.
    pub(crate) fn is_valid(&mut self, batch: &FileBatch) -> io::Result<bool> {
        let bytes = self.bytes_of(batch)?;
        let computed = if batch.header.magic < CURRENT_MAGIC {
            let mut crc = flate2::Crc::new();
            crc.update(&bytes[LEGACY_CRC_COVERS_FROM..]);
            crc.sum()
        } else {
            crc32c::crc32c(&bytes[CRC_COVERS_FROM..])
        };
        Ok(computed == batch.header.crc)
    }

    /// `len` bytes from `position` on; they lie within the range.
    fn load(&mut self, position: u32, len: usize) -> io::Result<&[u8]> {
        let in_buffer = position.checked_sub(self.buffer_position).map(|start| start as usize);
        if let Some(start) = in_buffer.filter(|start| start + len <= self.buffer.len()) {
            return Ok(&self.buffer[start..start + len]);
        }
        let wanted = len.max(self.read_ahead).min((self.end - position) as usize);
        self.buffer.resize(wanted, 0);
        self.buffer_position = position;
        self.file.read_exact_at(&mut self.buffer, u64::from(position))?;
        Ok(&self.buffer[..len])
    }
}

/// Before format v2 the CRC, a CRC-32, covered everything from the magic on.
const LEGACY_CRC_COVERS_FROM: usize = 16;
/// The CRC covers everything from the attributes on.
pub(crate) const CRC_COVERS_FROM: usize = 21;

fn parse_header(bytes: &[u8]) -> Result<BatchHeader, HeaderError> {
    let magic = bytes[MAGIC_END - 1] as i8;
    match magic {
        0 | 1 => legacy_header(bytes, magic),
        _ => {
            if let Some(length) = bytes.get(8..LOG_OVERHEAD).and_then(|length| length.first_chunk().copied()) {
                let length = i32::from_be_bytes(length);
                if length < LEGACY_BATCH_LENGTH_MIN {
                    return Err(HeaderError::LengthTooSmall(length));
                }
            }
            BatchHeader::parse(bytes)
        }
    }
}

/// A message of format v0 or v1, which brokers wrote before 0.11: offset, length, CRC, magic, attributes, and in v1 a timestamp. A
/// compressed one carries the offset of its last record.
fn legacy_header(bytes: &[u8], magic: i8) -> Result<BatchHeader, HeaderError> {
    let number = |at: usize| bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk().copied()).map(i64::from_be_bytes);
    let batch_length = i32::from_be_bytes(*bytes[8..].first_chunk().expect("the magic lies behind the length"));
    if batch_length < LEGACY_BATCH_LENGTH_MIN {
        return Err(HeaderError::LengthTooSmall(batch_length));
    }
    let base_offset = number(0).expect("the magic lies behind the offset");
    let max_timestamp = if magic == 1 { number(18).unwrap_or(NO_TIMESTAMP) } else { NO_TIMESTAMP };
    Ok(BatchHeader {
        base_offset,
        batch_length,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        magic,
        crc: u32::from_be_bytes(*bytes[LOG_OVERHEAD..].first_chunk().expect("the magic lies behind the CRC")),
        attributes: Attributes::default(),
        last_offset_delta: 0,
        base_timestamp: max_timestamp,
        max_timestamp,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        base_sequence: NO_SEQUENCE,
        records_count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_batches::TestBatch;
    use ottla_io::{Disk, MemoryDisk, OpenMode};
    use std::io::IoSlice;
    use std::path::Path;

    fn file(bytes: &[u8]) -> (Arc<dyn DiskFile>, u32) {
        let file = MemoryDisk::new().open(Path::new("/f"), OpenMode::CreateEmpty).unwrap();
        file.write_all_at(&mut [IoSlice::new(bytes)], 0).unwrap();
        (file, bytes.len() as u32)
    }

    fn walk(bytes: &[u8], read_ahead: usize) -> Vec<(u32, i64)> {
        let (file, end) = file(bytes);
        let mut reader = BatchReader::new(&file, 0, end, read_ahead);
        let mut found = Vec::new();
        while let Step::Batch(batch) = reader.step().unwrap() {
            assert!(reader.is_valid(&batch).unwrap());
            found.push((batch.position, batch.header.last_offset()));
        }
        found
    }

    #[test]
    fn walks_with_any_read_ahead() {
        let batches = [TestBatch::at(0).records(3).bytes(), TestBatch::at(3).value_size(9000).bytes(), TestBatch::at(4).bytes()];
        let bytes = batches.concat();
        let second = batches[0].len() as u32;
        let third = second + batches[1].len() as u32;
        for read_ahead in [1, 61, 100, 4096, 1 << 20] {
            assert_eq!(walk(&bytes, read_ahead), [(0, 2), (second, 3), (third, 4)], "read ahead {read_ahead}");
        }
        for cut in 1..batches[2].len() {
            assert_eq!(walk(&bytes[..bytes.len() - cut], 4096).len(), 2, "cut by {cut}");
        }
    }

    #[test]
    fn garbage_is_noticed() {
        let mut bytes = TestBatch::at(0).bytes();
        let (garbage, end) = file(&[0; 100]);
        assert!(matches!(BatchReader::new(&garbage, 0, end, 4096).step().unwrap(), Step::Corrupt(HeaderError::LengthTooSmall(0))));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let (damaged, end) = file(&bytes);
        let mut reader = BatchReader::new(&damaged, 0, end, 4096);
        let batch = reader.next().unwrap().unwrap();
        assert!(!reader.is_valid(&batch).unwrap());
    }

    #[test]
    fn messages_of_old_formats_are_stepped_over() {
        let mut message = Vec::new();
        message.extend(41i64.to_be_bytes());
        message.extend(22i32.to_be_bytes());
        // CRC-32 of what follows it: magic 1, no attributes, a timestamp, no key, no value.
        message.extend(0xff35_b01cu32.to_be_bytes());
        message.extend([1, 0]);
        message.extend(1234i64.to_be_bytes());
        message.extend([0xff; 8]);
        let bytes = [message.clone(), TestBatch::at(42).bytes()].concat();
        let (file, end) = file(&bytes);
        let mut reader = BatchReader::new(&file, 0, end, 4096);
        let old = reader.next().unwrap().unwrap();
        assert_eq!((old.header.last_offset(), old.header.max_timestamp, old.end_position()), (41, 1234, message.len() as u32));
        assert!(reader.is_valid(&old).unwrap());
        assert_eq!(reader.next().unwrap().unwrap().header.base_offset, 42);
    }
}
