//! An open file that stays readable whatever happens to its name: what a response holds while it is sent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use crate::memory::Content;
use crate::real;

/// A pinned file. Readers of a response reach it by downcasting from `dyn Any`.
#[derive(Debug)]
pub struct PinnedFile {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Descriptor(OwnedFd),
    Memory(Arc<Content>),
}

impl PinnedFile {
    pub(crate) fn from_descriptor(descriptor: OwnedFd) -> PinnedFile {
        PinnedFile { source: Source::Descriptor(descriptor) }
    }

    pub(crate) fn from_memory(content: Arc<Content>) -> PinnedFile {
        PinnedFile { source: Source::Memory(content) }
    }

    /// The file descriptor, for `sendfile`; `None` for a file that is not the operating system's.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Descriptor(descriptor) => Some(descriptor.as_fd()),
            Source::Memory(_) => None,
        }
    }

    /// Reads until the buffer is full or the file ends; returns how much was read.
    pub fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        match &self.source {
            Source::Descriptor(descriptor) => real::read_full(descriptor.as_fd(), buffer, position),
            Source::Memory(content) => content.read_at(buffer, position),
        }
    }
}
