//! The memory that decompressed bytes pass through: a decoder appends at the end, a reader takes from the front.

/// How much a decoder is offered at once, and what a window keeps between batches.
pub(super) const CHUNK: usize = 64 * 1024;
/// A window that grew beyond this for one batch does not keep its memory.
const KEPT_MAX: usize = 1024 * 1024;

/// Bytes that are decompressed and not yet read.
#[derive(Debug)]
pub(crate) struct Window {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Window {
    pub(super) const fn new() -> Window {
        Window { bytes: Vec::new(), start: 0, end: 0 }
    }

    #[inline(always)]
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    #[inline(always)]
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        debug_assert!(length <= self.end - self.start);
        let taken = self.start;
        self.start += length;
        &self.bytes[taken..self.start]
    }

    /// Room for at least `length` more bytes behind the unread ones. The caller says with [`Window::commit`] how many it wrote.
    pub(super) fn spare(&mut self, length: usize) -> &mut [u8] {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() < self.end + length {
            self.bytes.resize(self.end + length, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// The first `length` bytes of the room that was offered are now unread bytes.
    pub(super) fn commit(&mut self, length: usize) {
        debug_assert!(self.end + length <= self.bytes.len());
        self.end += length;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets what is unread, and memory beyond what is worth keeping.
    pub(super) fn reset(&mut self) {
        self.start = 0;
        self.end = 0;
        if self.bytes.len() > KEPT_MAX {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_bytes_survive_growth() {
        let mut window = Window::new();
        window.spare(4)[..4].copy_from_slice(b"abcd");
        window.commit(4);
        assert_eq!(window.take(1), b"a");
        let spare = window.spare(10);
        assert!(spare.len() >= 10);
        spare[0] = b'e';
        window.commit(1);
        assert_eq!(window.unread(), b"bcde");
    }

    #[test]
    fn a_large_window_is_given_back() {
        let mut window = Window::new();
        window.spare(KEPT_MAX + 1);
        window.reset();
        assert_eq!(window.capacity(), 0);
        window.spare(CHUNK);
        window.reset();
        assert_eq!(window.bytes.len(), CHUNK);
    }
}
