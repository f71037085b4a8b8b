//! The bytes of one file, and what of them a crash would leave.

use std::io;

use parking_lot::Mutex;

use crate::Rng;

/// A change that was not synced yet.
#[derive(Debug)]
enum Change {
    Write { position: u64, bytes: Vec<u8> },
    SetLen(u64),
}

/// A file's content.
#[derive(Debug)]
pub(crate) struct Content {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// What was done since `synced`, in order.
    unsynced: Vec<Change>,
    modified_ms: i64,
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::SetLen(len) => bytes.resize(*len as usize, 0),
            Change::Write { position, bytes: written } => {
                let start = *position as usize;
                let end = start + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[start..end].copy_from_slice(written);
            }
        }
    }
}

impl Content {
    pub(crate) fn new(now_ms: i64) -> Content {
        Content { inner: Mutex::new(Inner { bytes: Vec::new(), synced: Vec::new(), unsynced: Vec::new(), modified_ms: now_ms }) }
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let inner = self.inner.lock();
        let start = (position as usize).min(inner.bytes.len());
        let count = buffer.len().min(inner.bytes.len() - start);
        buffer[..count].copy_from_slice(&inner.bytes[start..start + count]);
        Ok(count)
    }

    pub(super) fn len(&self) -> u64 {
        self.inner.lock().bytes.len() as u64
    }

    pub(super) fn modified_ms(&self) -> i64 {
        self.inner.lock().modified_ms
    }

    pub(super) fn write(&self, position: u64, bytes: Vec<u8>, now_ms: i64) {
        self.change(Change::Write { position, bytes }, now_ms);
    }

    pub(super) fn set_len(&self, len: u64, now_ms: i64) {
        self.change(Change::SetLen(len), now_ms);
    }

    fn change(&self, change: Change, now_ms: i64) {
        let inner = &mut *self.inner.lock();
        change.apply(&mut inner.bytes);
        inner.unsynced.push(change);
        inner.modified_ms = now_ms;
    }

    pub(super) fn sync(&self) {
        let inner = &mut *self.inner.lock();
        for change in inner.unsynced.drain(..) {
            change.apply(&mut inner.synced);
        }
    }

    /// Bytes change on the medium itself: a crash does not bring the old ones back.
    pub(super) fn corrupt(&self, position: u64, bytes: &[u8]) {
        let inner = &mut *self.inner.lock();
        let change = Change::Write { position, bytes: bytes.to_vec() };
        change.apply(&mut inner.bytes);
        if inner.synced.len() as u64 >= position + bytes.len() as u64 {
            change.apply(&mut inner.synced);
        }
    }

    /// Leaves what was synced and, when there is a choice to make, some of the rest: each write is kept, lost or torn.
    pub(super) fn crash(&self, rng: Option<&mut (dyn Rng + '_)>) {
        let inner = &mut *self.inner.lock();
        let mut left = std::mem::take(&mut inner.synced);
        if let Some(rng) = rng {
            for change in &mut inner.unsynced {
                let fate = rng.below(4);
                if let (Change::Write { bytes, .. }, 0) = (&mut *change, fate) {
                    bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
                }
                if fate < 3 {
                    change.apply(&mut left);
                }
            }
        }
        inner.unsynced.clear();
        inner.synced.clone_from(&left);
        inner.bytes = left;
    }
}
