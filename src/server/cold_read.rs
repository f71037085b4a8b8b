//! Keeps a slow disk from stopping a worker: before the kernel is asked to send a piece of a file, it is asked whether it has the piece in
//! memory, and if not, the piece is read there by a thread that may wait.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ottla_io::PinnedFile;
use rustix::io::{Errno, ReadWriteFlags};
use tokio::task::JoinHandle;

/// What the reading thread reads at once; the bytes themselves are thrown away.
const READ_BYTES: usize = 128 * 1024;

/// A piece that is being read into the kernel's memory.
#[derive(Debug)]
pub struct ColdRead {
    thread: JoinHandle<io::Result<()>>,
}

/// Whether a piece of a file can be read without waiting. Only its first and its last byte are looked at: what is in between was nearly
/// always read or written together with them.
pub fn is_in_memory(file: BorrowedFd<'_>, position: u64, length: usize) -> bool {
    let last = position + length.saturating_sub(1) as u64;
    byte_is_in_memory(file, position) && (last == position || byte_is_in_memory(file, last))
}

fn byte_is_in_memory(file: BorrowedFd<'_>, position: u64) -> bool {
    let mut byte = [0];
    // Any other error, not being supported among them, is left to whoever really reads.
    rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT) != Err(Errno::AGAIN)
}

impl ColdRead {
    /// Begins to read. To be called within a tokio runtime.
    pub fn start(file: Arc<PinnedFile>, position: u64, length: usize) -> ColdRead {
        ColdRead { thread: tokio::task::spawn_blocking(move || read_through(&file, position, length)) }
    }

    /// Waits until the piece is in memory.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.thread).poll(context).map(|joined| joined.map_err(io::Error::other)?)
    }
}

fn read_through(file: &PinnedFile, position: u64, length: usize) -> io::Result<()> {
    let mut buffer = vec![0; length.min(READ_BYTES)];
    let mut read = 0;
    while read < length {
        let wanted = READ_BYTES.min(length - read);
        let count = file.read_at(&mut buffer[..wanted], position + read as u64)?;
        if count == 0 {
            break;
        }
        read += count;
    }
    Ok(())
}
