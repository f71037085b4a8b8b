//! `.index`: at which position of the segment's file some of its offsets are (`OffsetIndex`).
//!
//! An entry is eight bytes: the offset relative to the segment's base offset, and the position, both big-endian. The offset is the
//! last one of the batch at that position.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile};

use super::entry_file::{Entry, EntryFile};

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetPosition {
    /// The batch's last offset; of the implicit first entry the segment's base offset.
    pub(crate) offset: i64,
    /// The position of its first byte.
    pub(crate) position: u32,
}

#[derive(Clone, Copy, Debug)]
struct RawEntry {
    relative_offset: u32,
    position: u32,
}

impl Entry for RawEntry {
    const SIZE: usize = 8;

    fn encode(self, into: &mut Vec<u8>) {
        into.extend(self.relative_offset.to_be_bytes());
        into.extend(self.position.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> RawEntry {
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        RawEntry { relative_offset: number(0), position: number(4) }
    }
}

/// The offset index of one segment.
#[derive(Debug)]
pub(crate) struct OffsetIndex {
    base_offset: i64,
    entries: EntryFile<RawEntry>,
}

impl OffsetIndex {
    pub(crate) fn create(disk: &dyn Disk, path: PathBuf, base_offset: i64) -> io::Result<OffsetIndex> {
        Ok(OffsetIndex { base_offset, entries: EntryFile::create(disk, path)? })
    }

    pub(crate) fn open(disk: &dyn Disk, path: PathBuf, base_offset: i64, len: u64) -> io::Result<OffsetIndex> {
        Ok(OffsetIndex { base_offset, entries: EntryFile::open(disk, path, len)? })
    }

    fn parsed(&self, entry: RawEntry) -> OffsetPosition {
        OffsetPosition { offset: self.base_offset + i64::from(entry.relative_offset), position: entry.position }
    }

    fn before(&self, count: u32) -> io::Result<OffsetPosition> {
        match count {
            0 => Ok(OffsetPosition { offset: self.base_offset, position: 0 }),
            count => Ok(self.parsed(self.entries.get(count - 1)?)),
        }
    }

    /// The bytes of its entries.
    pub(crate) fn size_in_bytes(&self) -> u64 {
        u64::from(self.entries.len()) * RawEntry::SIZE as u64
    }

    /// Whether another entry would exceed `segment.index.bytes`.
    pub(crate) fn is_full(&self, max_bytes: u32) -> bool {
        self.entries.len() >= max_bytes / RawEntry::SIZE as u32
    }

    /// How many entries have offsets that satisfy the predicate, which lets some number of the first through; it changes near an offset.
    fn count_offsets(&self, near: i64, below: impl Fn(i64) -> bool) -> io::Result<u32> {
        let relative = |entry: &RawEntry| i64::from(entry.relative_offset);
        let guess = self.entries.guess(near - self.base_offset, relative)?;
        self.entries.partition_point(guess, |entry| below(self.base_offset + relative(entry)))
    }

    fn count_positions(&self, near: u32, below: impl Fn(u32) -> bool) -> io::Result<u32> {
        let guess = self.entries.guess(i64::from(near), |entry| i64::from(entry.position))?;
        self.entries.partition_point(guess, |entry| below(entry.position))
    }

    /// The last entry not above the offset; the beginning of the segment when there is none.
    pub(crate) fn lookup(&self, offset: i64) -> io::Result<OffsetPosition> {
        self.before(self.count_offsets(offset, |indexed| indexed <= offset)?)
    }

    /// The last entry whose batch begins at or before the position.
    pub(crate) fn lookup_position(&self, position: u32) -> io::Result<OffsetPosition> {
        self.before(self.count_positions(position, |indexed| indexed <= position)?)
    }

    /// The first entry whose batch begins at or after the position (`fetchUpperBoundOffset`).
    pub(crate) fn first_from_position(&self, position: u32) -> io::Result<Option<OffsetPosition>> {
        let index = self.count_positions(position, |indexed| indexed < position)?;
        if index == self.entries.len() { Ok(None) } else { Ok(Some(self.parsed(self.entries.get(index)?))) }
    }

    pub(crate) fn last(&self) -> io::Result<OffsetPosition> {
        self.before(self.entries.len())
    }

    /// Adds the batch that ends with `offset` and begins at `position`. Offsets must grow; one that does not is left out.
    pub(crate) fn append(&mut self, offset: i64, position: u32) -> io::Result<()> {
        let relative_offset = offset - self.base_offset;
        debug_assert!((0..=i64::from(i32::MAX)).contains(&relative_offset), "callers roll before an offset overflows");
        self.entries.push(RawEntry { relative_offset: relative_offset as u32, position })
    }

    /// Forgets entries of batches that end at or after the offset.
    pub(crate) fn truncate_to(&mut self, offset: i64) -> io::Result<()> {
        let kept = self.count_offsets(offset, |indexed| indexed < offset)?;
        self.entries.truncate(kept)
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.entries.truncate(0)?;
        self.entries.cut_file()
    }

    /// Whether the entries ascend and stay within a segment of so many bytes: what a damaged file does not do.
    pub(crate) fn is_sane(&self, segment_size: u32) -> io::Result<bool> {
        let Some(last) = self.entries.last()? else { return Ok(true) };
        let first = self.entries.get(0)?;
        let ascending = self.entries.len() == 1 || (first.relative_offset < last.relative_offset && first.position < last.position);
        Ok(ascending && last.position < segment_size && last.relative_offset <= i32::MAX as u32)
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

    fn index() -> (MemoryDisk, OffsetIndex) {
        let disk = MemoryDisk::new();
        let index = OffsetIndex::create(&disk, PathBuf::from("/i"), 100).unwrap();
        (disk, index)
    }

    fn position(index: &OffsetIndex, offset: i64) -> u32 {
        index.lookup(offset).unwrap().position
    }

    #[test]
    fn has_kafkas_bytes() {
        let (disk, mut index) = index();
        index.append(105, 4200).unwrap();
        index.append(0x1_0000 + 100, 0x0102_0304).unwrap();
        index.write_tail().unwrap();
        let bytes = read_file(&disk, Path::new("/i")).unwrap().unwrap();
        assert_eq!(bytes, [0, 0, 0, 5, 0, 0, 0x10, 0x68, 0, 1, 0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn finds_the_largest_lower_bound_in_memory_and_on_disk() {
        let (disk, mut index) = index();
        assert_eq!(index.lookup(150).unwrap(), OffsetPosition { offset: 100, position: 0 });
        for number in 1..=5000 {
            index.append(100 + 2 * number, 10 * number as u32).unwrap();
        }
        let check = |index: &OffsetIndex| {
            assert_eq!(position(index, 101), 0);
            assert_eq!(position(index, 102), 10);
            assert_eq!(position(index, 103), 10);
            assert_eq!(position(index, 100 + 2 * 2500), 25_000);
            assert_eq!(position(index, 100 + 2 * 4999 + 1), 49_990);
            assert_eq!(position(index, 1_000_000), 50_000);
            assert_eq!(index.lookup_position(25_009).unwrap().position, 25_000);
            assert_eq!(index.first_from_position(25_001).unwrap().unwrap().position, 25_010);
            assert_eq!(index.first_from_position(50_001).unwrap(), None);
        };
        check(&index);
        index.write_tail().unwrap();
        check(&index);
        check(&OffsetIndex::open(&disk, PathBuf::from("/i"), 100, 5000 * 8 + 3).unwrap());
    }

    #[test]
    fn uneven_entries_are_found_too() {
        let (disk, mut index) = index();
        let entries: Vec<(i64, u32)> = (1..2000i64).map(|number| (100 + number * number, (7 * number + number % 5) as u32)).collect();
        for &(offset, position) in &entries {
            index.append(offset, position).unwrap();
        }
        index.write_tail().unwrap();
        let index = OffsetIndex::open(&disk, PathBuf::from("/i"), 100, 1999 * 8).unwrap();
        for target in (100..4_000_200).step_by(997) {
            let expected = entries.iter().rfind(|(offset, _)| *offset <= target).map_or(0, |(_, position)| *position);
            assert_eq!(position(&index, target), expected, "offset {target}");
        }
        for target in 0..14_100 {
            let expected = entries.iter().rfind(|(_, position)| *position <= target).map_or(0, |(_, position)| *position);
            assert_eq!(index.lookup_position(target).unwrap().position, expected, "position {target}");
        }
    }

    #[test]
    fn truncation_and_fullness() {
        let (disk, mut index) = index();
        for number in 1..=200 {
            index.append(100 + number, number as u32).unwrap();
        }
        assert!(index.is_full(200 * 8 + 7) && !index.is_full(201 * 8));
        index.truncate_to(150).unwrap();
        assert_eq!((index.entries.len(), index.last().unwrap().offset), (49, 149));
        index.append(160, 60).unwrap();
        index.write_tail().unwrap();
        assert_eq!(read_file(&disk, Path::new("/i")).unwrap().unwrap().len(), 50 * 8);
        assert!(index.is_sane(61).unwrap());
        assert!(!index.is_sane(60).unwrap());
    }
}
