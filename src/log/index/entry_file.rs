//! A file of entries of one size, of which the newest are still in memory. The shape that the offset and the time index share.

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

/// So many bytes of an index are read at once when an entry is looked for.
const BLOCK_BYTES: usize = 4096;

/// The entries of an index file. Those in `tail` are not in the file yet.
#[derive(Debug)]
pub(super) struct EntryFile<E> {
    file: Arc<dyn DiskFile>,
    written: u32,
    /// The file's size, which may be more than its entries need.
    file_len: u64,
    tail: Vec<E>,
}

impl<E: Entry> EntryFile<E> {
    /// A new, empty index file.
    pub(super) fn create(disk: &dyn Disk, path: PathBuf) -> io::Result<EntryFile<E>> {
        Ok(EntryFile { file: disk.open(&path, OpenMode::CreateEmpty)?, written: 0, file_len: 0, tail: Vec::new() })
    }

    /// The index in an existing file of so many bytes. What does not make a whole entry at its end is ignored.
    pub(super) fn open(disk: &dyn Disk, path: PathBuf, len: u64) -> io::Result<EntryFile<E>> {
        let written = u32::try_from(len / E::SIZE as u64).unwrap_or(u32::MAX);
        Ok(EntryFile { file: disk.open(&path, OpenMode::Existing)?, written, file_len: len, tail: Vec::new() })
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
        match self.len() {
            0 => Ok(None),
            len => self.get(len - 1).map(Some),
        }
    }

    pub(super) fn push(&mut self, entry: E) -> io::Result<()> {
        self.tail.push(entry);
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

    /// How many entries, from the first, satisfy the predicate, given that those that do come first.
    pub(super) fn partition_point(&self, predicate: impl Fn(&E) -> bool) -> io::Result<u32> {
        if self.tail.first().is_some_and(&predicate) {
            return Ok(self.written + self.tail.partition_point(&predicate) as u32);
        }
        // Blocks are halved until one is left, which is read as a whole.
        let per_block = (BLOCK_BYTES / E::SIZE) as u32;
        let (mut low, mut high) = (0, self.written);
        while high - low > per_block {
            let middle = low + (high - low) / 2;
            if predicate(&self.get(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == high {
            return Ok(low);
        }
        let mut block = vec![0; (high - low) as usize * E::SIZE];
        self.file.read_exact_at(&mut block, u64::from(low) * E::SIZE as u64)?;
        let within = block.chunks_exact(E::SIZE).take_while(|bytes| predicate(&E::decode(bytes))).count();
        Ok(low + within as u32)
    }

    pub(super) fn file(&self) -> &Arc<dyn DiskFile> {
        &self.file
    }
}
