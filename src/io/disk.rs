//! What the broker needs of a disk: positioned reads and writes of files, and names that can be created, renamed and removed.

use std::fmt;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use crate::PinnedFile;

/// How [`Disk::open`] treats a file that is, or is not, there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// The file exists. Implementations may put off opening it, so a missing file shows only at its first use.
    Existing,
    /// The file is created when it is missing and kept as it is otherwise.
    CreateIfMissing,
    /// The file is created, or emptied when it exists.
    CreateEmpty,
}

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A socket, a device, a dangling link.
    Other,
}

/// What the file system says of a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// File or directory.
    pub kind: EntryKind,
    /// The size in bytes; of no meaning for directories.
    pub len: u64,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name within its directory. Names that are not UTF-8 are left out of listings: Kafka never makes such.
    pub name: String,
    /// What it stands for.
    pub kind: EntryKind,
}

/// The room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// The size of the file system in bytes.
    pub total_bytes: u64,
    /// What may still be used by this process, in bytes.
    pub usable_bytes: u64,
}

/// A lock that lasts as long as this value.
pub trait LockFile: Send + Sync + fmt::Debug {}

/// Directories and names. Changes of names survive a crash only once [`Disk::sync_dir`] of the directory has returned.
pub trait Disk: Send + Sync + fmt::Debug {
    /// A handle of a file. Its directory must exist.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>>;
    /// What is known of a path; `None` when nothing is there.
    fn metadata(&self, path: &Path) -> io::Result<Option<FileMetadata>>;
    /// Names in a directory, in no particular order.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Renames a file or a directory, replacing a file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Handles that are pinned stay readable.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and all that is in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and its missing parents.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes everything durable that was written to the file system of a directory: cheaper than file by file when there are many.
    fn sync_all(&self, path: &Path) -> io::Result<()>;
    /// Takes an exclusive lock on a file, creating it when missing; `None` when somebody else has it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn LockFile>>>;
    /// The room of the file system that holds a directory.
    fn space(&self, path: &Path) -> io::Result<DiskSpace>;
}

/// A file with positioned reads and writes. Handles are shared between threads; two writers must not overlap.
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Reads until the buffer is full or the file ends; returns how much was read.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;
    /// Writes all parts one after the other, in one system call where the operating system takes it as one.
    fn write_all_at(&self, parts: &mut [IoSlice<'_>], position: u64) -> io::Result<()>;
    /// Makes the content (not the name) durable. After an error the state of the file on disk is unknown: do not retry.
    fn sync_data(&self) -> io::Result<()>;
    /// The size in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Starts writing a range back without waiting for it; a hint that may do nothing.
    fn start_writeback(&self, position: u64, len: u64) -> io::Result<()>;
    /// The open file itself: what is read through the pin stays readable when the file is renamed, removed, or its handle closed.
    fn pin(&self) -> io::Result<Arc<PinnedFile>>;

    /// Reads exactly the buffer; a file that ends before is an `UnexpectedEof` error.
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        let wanted = buffer.len();
        let read = self.read_at(buffer, position)?;
        if read == wanted {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{read} of {wanted} bytes at position {position}")))
    }
}
