//! Where the last few batches begin: what consumers at the end of the log ask for, found without reading the disk.

use crate::segment::Located;

const BATCHES: usize = 8;

/// The last batches of the active segment, in a ring.
#[derive(Debug, Default)]
pub(super) struct RecentBatches {
    batches: [Option<Located>; BATCHES],
    next: usize,
}

impl RecentBatches {
    pub(super) fn push(&mut self, batch: Located) {
        self.batches[self.next] = Some(batch);
        self.next = (self.next + 1) % BATCHES;
    }

    pub(super) fn clear(&mut self) {
        *self = RecentBatches::default();
    }

    /// The batch that begins with exactly this offset.
    pub(super) fn find(&self, base_offset: i64) -> Option<Located> {
        self.batches.iter().flatten().find(|batch| batch.base_offset == base_offset).copied()
    }
}
