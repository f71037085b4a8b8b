//! `.txnindex`: the aborted transactions that end within a segment (`TransactionIndex`). Most segments have none, and no file.
//!
//! An entry is 34 bytes, big-endian: a version (0), the producer id, the first and last offset, the last stable offset at the abort.

use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile, OpenMode};

/// A transaction that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// The producer.
    pub producer_id: i64,
    /// The offset of the transaction's first record in this partition.
    pub first_offset: i64,
    /// The offset of the abort marker.
    pub last_offset: i64,
    /// The last stable offset when the marker was written.
    pub last_stable_offset: i64,
}

const ENTRY_BYTES: usize = 34;

impl AbortedTransaction {
    fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let numbers = [self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset];
        for (slot, number) in bytes[2..].chunks_exact_mut(8).zip(numbers) {
            slot.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<AbortedTransaction> {
        if bytes[..2] != [0, 0] {
            return None;
        }
        let number = |index: usize| i64::from_be_bytes(bytes[2 + 8 * index..][..8].try_into().expect("eight bytes"));
        Some(AbortedTransaction { producer_id: number(0), first_offset: number(1), last_offset: number(2), last_stable_offset: number(3) })
    }
}

/// The transaction index of one segment; the file appears with the first aborted transaction.
#[derive(Clone, Debug)]
pub(crate) struct TransactionIndex {
    file: Option<(Arc<dyn DiskFile>, u64)>,
}

impl TransactionIndex {
    /// An index without a file.
    pub(crate) fn empty() -> TransactionIndex {
        TransactionIndex { file: None }
    }

    pub(crate) fn open(disk: &dyn Disk, path: PathBuf, len: u64) -> io::Result<TransactionIndex> {
        let whole = len - len % ENTRY_BYTES as u64;
        Ok(TransactionIndex { file: Some((disk.open(&path, OpenMode::Existing)?, whole)) })
    }

    pub(crate) fn append(&mut self, disk: &dyn Disk, path: PathBuf, transaction: &AbortedTransaction) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some((disk.open(&path, OpenMode::CreateEmpty)?, 0));
        }
        let Some((file, len)) = &mut self.file else { return Ok(()) };
        file.write_all_at(&mut [IoSlice::new(&transaction.encode())], *len)?;
        *len += ENTRY_BYTES as u64;
        Ok(())
    }

    /// The bytes of its entries; `None` without a file.
    pub(crate) fn size_in_bytes(&self) -> Option<u64> {
        self.file.as_ref().map(|(_, len)| *len)
    }

    /// All entries, in the order of their last offsets. An entry of an unknown version is an `InvalidData` error.
    pub(crate) fn entries(&self) -> io::Result<Vec<AbortedTransaction>> {
        let Some((file, len)) = &self.file else { return Ok(Vec::new()) };
        let mut bytes = vec![0; *len as usize];
        file.read_exact_at(&mut bytes, 0)?;
        bytes
            .chunks_exact(ENTRY_BYTES)
            .map(|entry| {
                AbortedTransaction::decode(entry)
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "aborted transaction of an unknown version"))
            })
            .collect()
    }

    /// Adds the transactions that overlap `fetch_offset..upper_bound_offset`; returns whether later segments need not be asked.
    pub(crate) fn collect(&self, fetch_offset: i64, upper_bound_offset: i64, into: &mut Vec<AbortedTransaction>) -> io::Result<bool> {
        for transaction in self.entries()? {
            if transaction.last_offset >= fetch_offset && transaction.first_offset < upper_bound_offset {
                into.push(transaction);
            }
            if transaction.last_stable_offset >= upper_bound_offset {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Forgets transactions that end at or after the offset.
    pub(crate) fn truncate_to(&mut self, offset: i64) -> io::Result<()> {
        let kept = self.entries()?.iter().take_while(|transaction| transaction.last_offset < offset).count();
        if let Some((file, len)) = &mut self.file {
            *len = (kept * ENTRY_BYTES) as u64;
            file.set_len(*len)?;
        }
        Ok(())
    }

    /// Whether all entries can be read and end within the segment (`TransactionIndex.sanityCheck`).
    pub(crate) fn is_sane(&self, base_offset: i64) -> io::Result<bool> {
        match self.entries() {
            Ok(entries) => Ok(entries.iter().all(|transaction| transaction.last_offset >= base_offset)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if let Some((file, len)) = &mut self.file {
            *len = 0;
            file.set_len(0)?;
        }
        Ok(())
    }

    pub(crate) fn file(&self) -> Option<&Arc<dyn DiskFile>> {
        self.file.as_ref().map(|(file, _)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::{MemoryDisk, read_file};
    use std::path::Path;

    fn aborted(producer_id: i64, first_offset: i64, last_offset: i64, last_stable_offset: i64) -> AbortedTransaction {
        AbortedTransaction { producer_id, first_offset, last_offset, last_stable_offset }
    }

    #[test]
    fn collects_what_overlaps() {
        let disk = MemoryDisk::new();
        let path = Path::new("/x");
        let mut index = TransactionIndex::empty();
        let transactions = [aborted(1, 0, 10, 11), aborted(2, 5, 20, 15), aborted(3, 12, 30, 31)];
        for transaction in &transactions {
            index.append(&disk, path.to_owned(), transaction).unwrap();
        }
        let bytes = read_file(&disk, path).unwrap().unwrap();
        assert_eq!(bytes.len(), 3 * 34);
        assert_eq!(bytes[..10], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let index = TransactionIndex::open(&disk, path.to_owned(), bytes.len() as u64).unwrap();
        for (fetch, bound, expected, complete) in [
            (0, 11, &transactions[..1], true),
            (0, 12, &transactions[..2], true),
            (11, 16, &transactions[1..], true),
            (31, 40, &[][..], false),
        ] {
            let mut found = Vec::new();
            assert_eq!(index.collect(fetch, bound, &mut found).unwrap(), complete, "{fetch}..{bound}");
            assert_eq!(found, expected, "{fetch}..{bound}");
        }
    }

    #[test]
    fn truncation_and_sanity() {
        let disk = MemoryDisk::new();
        let path = Path::new("/x");
        let mut index = TransactionIndex::empty();
        index.append(&disk, path.to_owned(), &aborted(1, 0, 10, 11)).unwrap();
        index.append(&disk, path.to_owned(), &aborted(2, 5, 20, 15)).unwrap();
        assert!(index.is_sane(10).unwrap() && !index.is_sane(11).unwrap());
        index.truncate_to(20).unwrap();
        assert_eq!(index.entries().unwrap(), [aborted(1, 0, 10, 11)]);
        disk.corrupt(path, 1, &[9]).unwrap();
        assert!(!index.is_sane(0).unwrap());
    }
}
