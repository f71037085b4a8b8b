//! `.timeindex`: the largest timestamp up to some of a segment's offsets (`TimeIndex`).
//!
//! An entry is twelve bytes: the timestamp and the offset relative to the segment's base offset, both big-endian. No record before
//! that offset has a larger timestamp.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile};

use super::entry_file::{Entry, EntryFile};

/// A timestamp and the last offset of the batch that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimestampOffset {
    /// In milliseconds; -1 for none.
    pub(crate) timestamp: i64,
    /// The last offset of the batch.
    pub(crate) offset: i64,
}

#[derive(Clone, Copy, Debug)]
struct RawEntry {
    timestamp: i64,
    relative_offset: u32,
}

impl Entry for RawEntry {
    const SIZE: usize = 12;

    fn encode(self, into: &mut Vec<u8>) {
        into.extend(self.timestamp.to_be_bytes());
        into.extend(self.relative_offset.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> RawEntry {
        RawEntry {
            timestamp: i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")),
            relative_offset: u32::from_be_bytes(bytes[8..12].try_into().expect("four bytes")),
        }
    }
}

/// The time index of one segment.
#[derive(Debug)]
pub(crate) struct TimeIndex {
    base_offset: i64,
    entries: EntryFile<RawEntry>,
}

impl TimeIndex {
    pub(crate) fn create(disk: &dyn Disk, path: PathBuf, base_offset: i64) -> io::Result<TimeIndex> {
        Ok(TimeIndex { base_offset, entries: EntryFile::create(disk, path)? })
    }

    pub(crate) fn open(disk: &dyn Disk, path: PathBuf, base_offset: i64, len: u64) -> io::Result<TimeIndex> {
        Ok(TimeIndex { base_offset, entries: EntryFile::open(disk, path, len)? })
    }

    fn parsed(&self, entry: Option<RawEntry>) -> TimestampOffset {
        match entry {
            Some(entry) => TimestampOffset { timestamp: entry.timestamp, offset: self.base_offset + i64::from(entry.relative_offset) },
            None => TimestampOffset { timestamp: -1, offset: self.base_offset },
        }
    }

    /// The bytes of its entries.
    pub(crate) fn size_in_bytes(&self) -> u64 {
        u64::from(self.entries.len()) * RawEntry::SIZE as u64
    }

    /// Whether another entry would exceed `segment.index.bytes`, one being kept for the segment's end.
    pub(crate) fn is_full(&self, max_bytes: u32) -> bool {
        self.entries.len() + 1 >= max_bytes / RawEntry::SIZE as u32
    }

    /// The last entry; timestamp -1 when there is none.
    pub(crate) fn last(&self) -> io::Result<TimestampOffset> {
        Ok(self.parsed(self.entries.last()?))
    }

    /// The last entry whose timestamp is not above the one asked for; timestamp -1 when there is none.
    pub(crate) fn lookup(&self, timestamp: i64) -> io::Result<TimestampOffset> {
        let count = self.entries.partition_point(self.entries.len() / 2, |entry| entry.timestamp <= timestamp)?;
        match count {
            0 => Ok(self.parsed(None)),
            count => Ok(self.parsed(Some(self.entries.get(count - 1)?))),
        }
    }

    /// Adds an entry if its timestamp is larger than the last one's.
    pub(crate) fn maybe_append(&mut self, entry: TimestampOffset) -> io::Result<()> {
        if entry.timestamp <= self.last()?.timestamp {
            return Ok(());
        }
        let relative_offset = (entry.offset - self.base_offset) as u32;
        self.entries.push(RawEntry { timestamp: entry.timestamp, relative_offset })
    }

    /// Forgets entries of offsets at or after the given one.
    pub(crate) fn truncate_to(&mut self, offset: i64) -> io::Result<()> {
        let below = |entry: &RawEntry| self.base_offset + i64::from(entry.relative_offset) < offset;
        let kept = self.entries.partition_point(self.entries.len(), below)?;
        self.entries.truncate(kept)
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.entries.truncate(0)?;
        self.entries.cut_file()
    }

    /// Whether timestamps and offsets ascend: what a damaged file does not do.
    pub(crate) fn is_sane(&self) -> io::Result<bool> {
        let Some(last) = self.entries.last()? else { return Ok(true) };
        let first = self.entries.get(0)?;
        Ok(first.timestamp <= last.timestamp && first.relative_offset <= last.relative_offset && first.timestamp >= 0)
    }

    pub(crate) fn write_tail(&mut self) -> io::Result<()> {
        self.entries.write_tail()
    }

    pub(crate) fn cut_file(&mut self) -> io::Result<()> {
        self.entries.cut_file()
    }

    pub(crate) fn file(&self) -> &Arc<dyn DiskFile> {
        self.entries.file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::{MemoryDisk, read_file};
    use std::path::Path;

    fn at(timestamp: i64, offset: i64) -> TimestampOffset {
        TimestampOffset { timestamp, offset }
    }

    #[test]
    fn has_kafkas_bytes_and_finds_lower_bounds() {
        let disk = MemoryDisk::new();
        let mut index = TimeIndex::create(&disk, PathBuf::from("/t"), 50).unwrap();
        assert_eq!(index.lookup(7).unwrap(), at(-1, 50));
        for entry in [at(10, 55), at(10, 60), at(0x0102, 70)] {
            index.maybe_append(entry).unwrap();
        }
        assert_eq!(index.lookup(9).unwrap(), at(-1, 50));
        assert_eq!(index.lookup(10).unwrap(), at(10, 55));
        assert_eq!(index.lookup(1000).unwrap(), at(0x0102, 70));
        index.write_tail().unwrap();
        let bytes = read_file(&disk, Path::new("/t")).unwrap().unwrap();
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 20]);
        index.truncate_to(70).unwrap();
        assert_eq!(index.last().unwrap(), at(10, 55));
        assert!(index.is_sane().unwrap());
        assert!(index.is_full(24) && !index.is_full(36));
    }
}
