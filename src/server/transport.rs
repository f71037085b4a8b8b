//! A connection's socket: non-blocking reads into two buffers at once, gathered writes, and file ranges sent by the kernel. Encrypted
//! listeners will have their own transport beside this one, which reads file ranges into memory.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};

use rustix::net::{SendAncillaryBuffer, SendFlags};
use socket2::{MaybeUninitSlice, SockRef};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Whether more bytes of the same answer follow at once, so that the kernel may wait for them before it sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// They follow.
    Follows,
    /// This is the end.
    Ends,
}

/// A plaintext connection.
#[derive(Debug)]
pub struct Plaintext {
    stream: TcpStream,
}

impl Plaintext {
    /// A connection of an accepted socket.
    pub fn new(stream: TcpStream) -> Plaintext {
        Plaintext { stream }
    }

    /// Waits until there may be something to read.
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_read_ready(context)
    }

    /// Waits until there may be room to write.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.poll_write_ready(context)
    }

    /// Reads what is there, first into `first` and then into `second`; 0 is the end, `None` means that nothing is there now.
    pub fn try_read(&self, first: &mut [MaybeUninit<u8>], second: &mut [MaybeUninit<u8>]) -> io::Result<Option<usize>> {
        let wanted = first.len() + second.len();
        let mut read = None;
        let outcome = self.stream.try_io(Interest::READABLE, || {
            let mut buffers = [MaybeUninitSlice::new(first), MaybeUninitSlice::new(second)];
            let skipped = usize::from(buffers[0].is_empty());
            let (count, _) = SockRef::from(&self.stream).recv_vectored(&mut buffers[skipped..])?;
            read = Some(count);
            // A short read has emptied the socket: saying so saves the call that would find that out.
            if count > 0 && count < wanted { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        retryable(outcome)?;
        Ok(read)
    }

    /// Writes what there is room for; `None` means that there is none now.
    pub fn try_write(&self, slices: &[IoSlice<'_>], more: More) -> io::Result<Option<usize>> {
        let mut flags = SendFlags::NOSIGNAL;
        flags.set(SendFlags::MORE, more == More::Follows);
        let outcome = self.stream.try_io(Interest::WRITABLE, || {
            Ok(rustix::net::sendmsg(self.stream.as_fd(), slices, &mut SendAncillaryBuffer::default(), flags)?)
        });
        retryable(outcome)
    }

    /// Sends a range of a file as far as there is room; `Some(0)` means that the file ends before the range.
    pub fn try_send_file(&self, file: BorrowedFd<'_>, position: u64, length: usize) -> io::Result<Option<usize>> {
        let outcome = self.stream.try_io(Interest::WRITABLE, || {
            let mut offset = position;
            Ok(rustix::fs::sendfile(self.stream.as_fd(), file, Some(&mut offset), length)?)
        });
        retryable(outcome)
    }
}

fn retryable<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
