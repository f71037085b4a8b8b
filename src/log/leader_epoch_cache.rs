//! Which leader epoch wrote which offsets of a partition (`LeaderEpochFileCache`). Kept in memory; whoever owns it writes the
//! checkpoint when [`LeaderEpochCache::take_dirty`] says that it changed.

use crate::checkpoint::EpochEntry;

/// The epoch of who does not know one. Other negative ones are merely smaller than any that the log knows.
const NO_EPOCH: i32 = -1;

/// The leader epochs of one log, epochs and start offsets both ascending.
#[derive(Debug, Default)]
pub(crate) struct LeaderEpochCache {
    entries: Vec<EpochEntry>,
    dirty: bool,
}

impl LeaderEpochCache {
    pub(crate) fn new(entries: Vec<EpochEntry>) -> LeaderEpochCache {
        let mut cache = LeaderEpochCache::default();
        for entry in entries {
            cache.assign(entry);
        }
        cache.dirty = false;
        cache
    }

    pub(crate) fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    pub(crate) fn latest(&self) -> Option<EpochEntry> {
        self.entries.last().copied()
    }

    pub(crate) fn earliest(&self) -> Option<EpochEntry> {
        self.entries.first().copied()
    }

    /// Whether the checkpoint on disk is older than this, once.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    pub(crate) fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// Notes that an epoch began. An entry that contradicts later ones replaces them: it comes from a newer truth.
    pub(crate) fn assign(&mut self, entry: EpochEntry) {
        let known = self.latest().is_some_and(|latest| latest.epoch == entry.epoch && latest.start_offset <= entry.start_offset);
        if known || entry.epoch < 0 || entry.start_offset < 0 {
            return;
        }
        let kept = self
            .entries
            .iter()
            .rposition(|existing| existing.epoch < entry.epoch && existing.start_offset < entry.start_offset)
            .map_or(0, |last| last + 1);
        self.entries.truncate(kept);
        self.entries.push(entry);
        self.dirty = true;
    }

    /// The end of an epoch: the largest known epoch not above the requested one, and the offset where the next one begins
    /// (KIP-101, `LeaderEpochFileCache.endOffsetFor`). `None` when the log cannot know.
    pub(crate) fn end_offset_for(&self, epoch: i32, log_end_offset: i64) -> Option<(i32, i64)> {
        if epoch == NO_EPOCH {
            return None;
        }
        if self.latest().is_some_and(|latest| latest.epoch == epoch) {
            return Some((epoch, log_end_offset));
        }
        let higher = self.entries.iter().position(|entry| entry.epoch > epoch)?;
        let floor = self.entries[..higher].last().map_or(epoch, |entry| entry.epoch);
        Some((floor, self.entries[higher].start_offset))
    }

    /// The epoch that wrote an offset.
    pub(crate) fn epoch_for_offset(&self, offset: i64) -> Option<i32> {
        self.entries.iter().rfind(|entry| entry.start_offset <= offset).map(|entry| entry.epoch)
    }

    /// Forgets epochs that begin at or after the new end of the log.
    pub(crate) fn truncate_from_end(&mut self, end_offset: i64) {
        let kept = self.entries.iter().rposition(|entry| entry.start_offset < end_offset).map_or(0, |last| last + 1);
        if kept < self.entries.len() {
            self.entries.truncate(kept);
            self.dirty = true;
        }
    }

    /// Forgets epochs that end before the new start of the log; the one that it cuts now begins there.
    pub(crate) fn truncate_from_start(&mut self, start_offset: i64) {
        let covered = self.entries.iter().take_while(|entry| entry.start_offset <= start_offset).count();
        let Some(first) = covered.checked_sub(1) else { return };
        if covered > 1 || self.entries[first].start_offset != start_offset {
            self.entries.drain(..first);
            self.entries[0].start_offset = start_offset;
            self.dirty = true;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.dirty |= !self.entries.is_empty();
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> LeaderEpochCache {
        LeaderEpochCache::new(entries.iter().map(|&(epoch, start_offset)| EpochEntry { epoch, start_offset }).collect())
    }

    fn entries(cache: &LeaderEpochCache) -> Vec<(i32, i64)> {
        cache.entries().iter().map(|entry| (entry.epoch, entry.start_offset)).collect()
    }

    #[test]
    fn epochs_only_go_up() {
        let mut cache = cache(&[(1, 0), (3, 10)]);
        cache.assign(EpochEntry { epoch: 3, start_offset: 12 });
        assert!(!cache.take_dirty(), "known");
        cache.assign(EpochEntry { epoch: 5, start_offset: 20 });
        assert_eq!(entries(&cache), [(1, 0), (3, 10), (5, 20)]);
        assert!(cache.take_dirty());
        cache.assign(EpochEntry { epoch: 4, start_offset: 15 });
        assert_eq!(entries(&cache), [(1, 0), (3, 10), (4, 15)]);
        cache.assign(EpochEntry { epoch: 6, start_offset: 10 });
        assert_eq!(entries(&cache), [(1, 0), (6, 10)], "an epoch without records is replaced");
    }

    #[test]
    fn ends_of_epochs() {
        let cache = cache(&[(2, 0), (4, 10), (7, 30)]);
        for (epoch, expected) in [
            (-1, None),
            (1, Some((1, 0))),
            (2, Some((2, 10))),
            (3, Some((2, 10))),
            (4, Some((4, 30))),
            (6, Some((4, 30))),
            (7, Some((7, 40))),
            (8, None),
        ] {
            assert_eq!(cache.end_offset_for(epoch, 40), expected, "epoch {epoch}");
        }
        assert_eq!(cache.epoch_for_offset(29), Some(4));
        assert_eq!(cache.epoch_for_offset(30), Some(7));
        assert_eq!(super::LeaderEpochCache::default().end_offset_for(0, 40), None);
    }

    #[test]
    fn truncation_at_both_ends() {
        let mut cache = cache(&[(2, 0), (4, 10), (7, 30)]);
        cache.truncate_from_end(31);
        assert!(!cache.take_dirty());
        cache.truncate_from_end(30);
        assert_eq!(entries(&cache), [(2, 0), (4, 10)]);
        cache.truncate_from_start(15);
        assert_eq!(entries(&cache), [(4, 15)]);
        assert!(cache.take_dirty());
        cache.truncate_from_start(15);
        cache.truncate_from_start(3);
        assert!(!cache.take_dirty());
    }
}
