//! The `records` fields of Produce, Fetch and their like: record batches that this crate carries and never looks into.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// Record batches of one partition.
#[derive(Clone, Debug, PartialEq)]
pub enum Records {
    /// Bytes in memory; of a decoded request, a slice of its frame.
    Memory(Bytes),
    /// What a response is put together from, in this order.
    Parts(Vec<RecordsPart>),
}

/// A run of bytes, wherever it is.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordsPart {
    /// In memory.
    Memory(Bytes),
    /// In a file, to be sent without passing through memory.
    File(FileRange),
}

/// A range of an open file. `file` is opaque here: those who send bytes know what it really is.
#[derive(Clone)]
pub struct FileRange {
    /// Keeps the file open, even when it is deleted meanwhile.
    pub file: Arc<dyn Any + Send + Sync>,
    /// Where the range begins, in bytes.
    pub position: u64,
    /// How many bytes it has.
    pub length: usize,
}

impl Default for Records {
    fn default() -> Records {
        Records::Memory(Bytes::new())
    }
}

impl Records {
    /// The size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Records::Memory(bytes) => bytes.len(),
            Records::Parts(parts) => parts.iter().map(RecordsPart::len).sum(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, if all of them are in memory and in one piece.
    pub fn memory(&self) -> Option<&Bytes> {
        match self {
            Records::Memory(bytes) => Some(bytes),
            Records::Parts(_) => None,
        }
    }
}

impl RecordsPart {
    /// The size in bytes.
    pub fn len(&self) -> usize {
        match self {
            RecordsPart::Memory(bytes) => bytes.len(),
            RecordsPart::File(range) => range.length,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for FileRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileRange({}..{})", self.position, self.position + self.length as u64)
    }
}

impl PartialEq for FileRange {
    fn eq(&self, other: &FileRange) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.position == other.position && self.length == other.length
    }
}
