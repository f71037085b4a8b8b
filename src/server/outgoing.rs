//! The answers that a connection is sending: parts in memory are gathered into few calls, ranges of files go straight from the file to
//! the socket. It knows nothing of requests.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use ottla_io::PinnedFile;
use ottla_protocol::{FileRange, Part};

use crate::cold_read::{ColdRead, is_in_memory};
use crate::transport::{More, Plaintext};

/// Parts that are gathered into one call.
const GATHERED_PARTS_MAX: usize = 64;

/// What is offered to the kernel at once of a file: enough to fill any socket buffer, little enough to let others have a turn.
const PIECE_BYTES_MAX: usize = 1 << 20;

/// What is read at once of a file that the kernel cannot send.
const COPIED_BYTES_MAX: usize = 64 * 1024;

/// How far a call of [`Outgoing::send`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were in memory and are no longer.
    pub memory_bytes: usize,
    /// Whether anything was sent.
    pub moved: bool,
}

/// Parts in the order in which they leave.
#[derive(Debug, Default)]
pub struct Outgoing {
    parts: VecDeque<Part>,
    /// Bytes at the start of the first part, if it is a range of a file, that need no waiting for the disk.
    in_memory_bytes: usize,
    cold_read: Option<ColdRead>,
}

impl Outgoing {
    /// Adds an answer.
    pub fn push(&mut self, parts: Vec<Part>) {
        self.parts.extend(parts.into_iter().filter(|part| !part.is_empty()));
    }

    /// Whether everything was sent.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Frees what memory an empty one still has.
    pub fn release(&mut self) {
        if self.parts.is_empty() {
            self.parts = VecDeque::new();
        }
    }

    /// Waits until what comes next can be sent without waiting for the disk.
    pub fn poll_in_memory(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(Part::File(range)) = self.parts.front() else { return Poll::Ready(Ok(())) };
        let piece_bytes = range.length.min(PIECE_BYTES_MAX);
        if self.in_memory_bytes == 0 && self.cold_read.is_none() {
            let file = pinned(range)?;
            if file.descriptor().is_some_and(|descriptor| !is_in_memory(descriptor, range.position, piece_bytes)) {
                self.cold_read = Some(ColdRead::start(file, range.position, piece_bytes));
            } else {
                self.in_memory_bytes = piece_bytes;
            }
        }
        if let Some(read) = &mut self.cold_read {
            ready!(read.poll(context))?;
            self.cold_read = None;
            self.in_memory_bytes = piece_bytes;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends until the socket is full, everything is sent, or one piece of a file was offered to the kernel.
    pub fn send(&mut self, transport: &Plaintext) -> io::Result<Progress> {
        let mut progress = Progress { memory_bytes: 0, moved: false };
        match self.parts.front_mut() {
            None => {}
            Some(Part::Memory(_)) => {
                if let Some(sent) = self.send_gathered(transport)? {
                    progress.moved = true;
                    progress.memory_bytes = self.advance_memory(sent);
                }
            }
            Some(Part::File(range)) => {
                let piece = FileRange { length: self.in_memory_bytes, ..range.clone() };
                if let Some(sent) = send_piece(transport, &piece)? {
                    progress.moved = true;
                    self.in_memory_bytes -= sent;
                    range.position += sent as u64;
                    range.length -= sent;
                    if range.length == 0 {
                        self.parts.pop_front();
                    }
                }
            }
        }
        Ok(progress)
    }

    fn send_gathered(&self, transport: &Plaintext) -> io::Result<Option<usize>> {
        let mut slices = [IoSlice::new(&[]); GATHERED_PARTS_MAX];
        let mut count = 0;
        for (slice, part) in slices.iter_mut().zip(&self.parts) {
            let Part::Memory(bytes) = part else { break };
            *slice = IoSlice::new(bytes);
            count += 1;
        }
        let more = if count < self.parts.len() { More::Follows } else { More::Ends };
        transport.try_write(&slices[..count], more)
    }

    fn advance_memory(&mut self, sent: usize) -> usize {
        let mut left = sent;
        while let Some(Part::Memory(bytes)) = self.parts.front_mut() {
            if left < bytes.len() {
                bytes.advance(left);
                break;
            }
            left -= bytes.len();
            self.parts.pop_front();
        }
        sent
    }
}

fn pinned(range: &FileRange) -> io::Result<Arc<PinnedFile>> {
    range.file.clone().downcast().map_err(|_| io::Error::other("an answer holds a file of an unknown kind"))
}

fn send_piece(transport: &Plaintext, piece: &FileRange) -> io::Result<Option<usize>> {
    let file = pinned(piece)?;
    let sent = match file.descriptor() {
        Some(descriptor) => transport.try_send_file(descriptor, piece.position, piece.length)?,
        None => {
            let mut buffer = vec![0; piece.length.min(COPIED_BYTES_MAX)];
            let read = file.read_at(&mut buffer, piece.position)?;
            if read == 0 { Some(0) } else { transport.try_write(&[IoSlice::new(&buffer[..read])], More::Ends)? }
        }
    };
    if sent == Some(0) {
        let message = format!("a file ends before position {} of an answer", piece.position);
        return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
    }
    Ok(sent)
}
