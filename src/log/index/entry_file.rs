//! A file of entries of one size, of which the newest are still in memory. The shape that the offset and the time index share.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile, OpenMode};

/// One entry of an index file.
pub(super) trait Entry: Copy + std::fmt::Debug {
    /// Its size in bytes.
    const SIZE: usize;
    fn encode(self, into: &mut Vec<u8>);
    fn decode(bytes: &[u8]) -> Self;
}

/// So many entries are collected before they are written.
const TAIL_ENTRIES_MAX: usize = 128;

/// So many entries are read at once when one is looked for.
const BLOCK_ENTRIES: u32 = 128;

/// The entries of an index file. Those in `tail` are not in the file yet.
#[derive(Debug)]
pub(super) struct EntryFile<E: Copy> {
    file: Arc<dyn DiskFile>,
    written: u32,
    /// The file's size, which may be more than its entries need.
    file_len: u64,
    tail: Vec<E>,
    /// The last entry, once it was looked at.
    last: Cell<Option<E>>,
}

impl<E: Entry> EntryFile<E> {
    /// A new, empty index file.
    pub(super) fn create(disk: &dyn Disk, path: PathBuf) -> io::Result<EntryFile<E>> {
        Ok(EntryFile { file: disk.open(&path, OpenMode::CreateEmpty)?, written: 0, file_len: 0, tail: Vec::new(), last: Cell::new(None) })
    }

    /// The index in an existing file of so many bytes. What does not make a whole entry at its end is ignored.
    pub(super) fn open(disk: &dyn Disk, path: PathBuf, len: u64) -> io::Result<EntryFile<E>> {
        let written = u32::try_from(len / E::SIZE as u64).unwrap_or(u32::MAX);
        Ok(EntryFile { file: disk.open(&path, OpenMode::Existing)?, written, file_len: len, tail: Vec::new(), last: Cell::new(None) })
    }

    pub(super) fn len(&self) -> u32 {
        self.written + self.tail.len() as u32
    }

    pub(super) fn get(&self, index: u32) -> io::Result<E> {
        if let Some(in_tail) = index.checked_sub(self.written) {
            return Ok(self.tail[in_tail as usize]);
        }
        let mut bytes = vec![0; E::SIZE];
        self.file.read_exact_at(&mut bytes, u64::from(index) * E::SIZE as u64)?;
        Ok(E::decode(&bytes))
    }

    pub(super) fn last(&self) -> io::Result<Option<E>> {
        if self.last.get().is_none() && self.len() > 0 {
            self.last.set(Some(self.get(self.len() - 1)?));
        }
        Ok(self.last.get())
    }

    pub(super) fn push(&mut self, entry: E) -> io::Result<()> {
        self.tail.push(entry);
        self.last.set(Some(entry));
        if self.tail.len() >= TAIL_ENTRIES_MAX { self.write_tail() } else { Ok(()) }
    }

    /// Writes what is only in memory, and frees it.
    pub(super) fn write_tail(&mut self) -> io::Result<()> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.tail.len() * E::SIZE);
        for entry in &self.tail {
            entry.encode(&mut bytes);
        }
        self.file.write_all_at(&mut [IoSlice::new(&bytes)], self.written_len())?;
        self.written += self.tail.len() as u32;
        self.file_len = self.file_len.max(self.written_len());
        self.tail = Vec::new();
        Ok(())
    }

    /// Keeps the first `len` entries.
    pub(super) fn truncate(&mut self, len: u32) -> io::Result<()> {
        self.last.set(None);
        if len >= self.written {
            self.tail.truncate((len - self.written) as usize);
            return Ok(());
        }
        self.tail = Vec::new();
        self.written = len;
        self.cut_file()
    }

    /// Cuts the file to its entries: Kafka leaves space for more at its end until the segment is closed.
    pub(super) fn cut_file(&mut self) -> io::Result<()> {
        let written_len = self.written_len();
        if self.file_len != written_len {
            self.file.set_len(written_len)?;
            self.file_len = written_len;
        }
        Ok(())
    }

    fn written_len(&self) -> u64 {
        u64::from(self.written) * E::SIZE as u64
    }

    /// How many entries, from the first, satisfy the predicate, given that those that do come first. `guess` is where the answer may be:
    /// entries are spread so evenly that one read around it nearly always finds it.
    pub(super) fn partition_point(&self, guess: u32, predicate: impl Fn(&E) -> bool) -> io::Result<u32> {
        if self.tail.first().is_some_and(&predicate) {
            return Ok(self.written + self.tail.partition_point(&predicate) as u32);
        }
        let (mut low, mut high) = (0, self.written);
        let mut middle = guess;
        while low < high {
            let start = middle.saturating_sub(BLOCK_ENTRIES / 2).clamp(low, high.saturating_sub(BLOCK_ENTRIES).max(low));
            let block = self.read_block(start, (high - start).min(BLOCK_ENTRIES))?;
            let within = block.partition_point(&predicate) as u32;
            if within == 0 && start > low {
                high = start;
            } else if within == block.len() as u32 && start + within < high {
                low = start + within;
            } else {
                return Ok(start + within);
            }
            middle = low + (high - low) / 2;
        }
        Ok(low)
    }

    fn read_block(&self, start: u32, count: u32) -> io::Result<Vec<E>> {
        let mut bytes = vec![0; count as usize * E::SIZE];
        self.file.read_exact_at(&mut bytes, u64::from(start) * E::SIZE as u64)?;
        Ok(bytes.chunks_exact(E::SIZE).map(E::decode).collect())
    }

    /// Where an entry with `value` would be if values grew evenly from 0 at the beginning to the last entry's.
    pub(super) fn guess(&self, value: i64, value_of: impl Fn(&E) -> i64) -> io::Result<u32> {
        let last = self.last()?.map_or(0, |last| value_of(&last));
        if last <= 0 || value <= 0 {
            return Ok(0);
        }
        Ok((i128::from(self.len()) * i128::from(value.min(last)) / i128::from(last)) as u32)
    }

    pub(super) fn file(&self) -> &Arc<dyn DiskFile> {
        &self.file
    }
}
