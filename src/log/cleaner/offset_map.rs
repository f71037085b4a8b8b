//! The last offset of each key, in a bounded table of hashes (`SkimpyOffsetMap`). Keys themselves are not kept: two that share the first
//! 128 bits of their SHA-256 count as one. Knows nothing of records.

use sha2::{Digest, Sha256};

/// A hash and an offset.
const ENTRY_BYTES: u64 = 24;

type Slot = Option<(u128, i64)>;

/// See the module.
#[derive(Debug)]
pub(super) struct OffsetMap {
    slots: Vec<Slot>,
    entries: usize,
    entries_max: usize,
    latest_offset: i64,
}

impl OffsetMap {
    /// A map that takes at most `memory_bytes`, is never fuller than `load_factor`, and no larger than `keys_max` keys need. It takes at
    /// least one key.
    pub(super) fn new(memory_bytes: u64, load_factor: f64, keys_max: u64) -> OffsetMap {
        let bound = (memory_bytes / ENTRY_BYTES).max(2);
        let wanted = ((keys_max as f64 / load_factor).ceil() as u64).saturating_add(1);
        let slots = bound.min(wanted).max(2) as usize;
        // One slot stays free, so that the search for an absent key ends.
        let entries_max = ((slots as f64 * load_factor) as usize).clamp(1, slots - 1);
        OffsetMap { slots: vec![None; slots], entries: 0, entries_max, latest_offset: -1 }
    }

    /// Notes the offset of a key; `false` when the map is full.
    pub(super) fn put(&mut self, key: &[u8], offset: i64) -> bool {
        if self.entries >= self.entries_max {
            return false;
        }
        let hash = hash(key);
        let index = self.find(hash);
        self.entries += usize::from(self.slots[index].is_none());
        self.slots[index] = Some((hash, offset));
        self.latest_offset = offset;
        true
    }

    /// The last offset of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<i64> {
        self.slots[self.find(hash(key))].map(|(_, offset)| offset)
    }

    /// Up to which offset, inclusive, the map covers the log; -1 when nothing.
    pub(super) fn latest_offset(&self) -> i64 {
        self.latest_offset
    }

    pub(super) fn update_latest_offset(&mut self, offset: i64) {
        self.latest_offset = offset;
    }

    /// The slot that holds the hash, or where it would go.
    fn find(&self, hash: u128) -> usize {
        let mut index = (hash % self.slots.len() as u128) as usize;
        while self.slots[index].is_some_and(|(other, _)| other != hash) {
            index = (index + 1) % self.slots.len();
        }
        index
    }
}

fn hash(key: &[u8]) -> u128 {
    let digest = Sha256::digest(key);
    u128::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_offset_until_it_is_full() {
        let mut map = OffsetMap::new(24 * 10, 0.5, 1000);
        for key in 0..5_u8 {
            assert!(map.put(&[key], i64::from(key)));
        }
        assert!(!map.put(&[9], 9), "five of ten slots is what the load factor allows");
        assert_eq!((map.get(&[3]), map.get(&[9]), map.latest_offset()), (Some(3), None, 4));
    }

    #[test]
    fn takes_no_more_memory_than_the_keys_need() {
        let map = OffsetMap::new(1 << 40, 0.9, 90);
        assert_eq!((map.slots.len(), map.entries_max), (101, 90));
        let mut least = OffsetMap::new(0, 0.9, 0);
        assert!(least.put(b"a", 7) && least.get(b"a") == Some(7) && least.get(b"b").is_none());
    }
}
