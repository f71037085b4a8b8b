//! Operations that wait, ordered by when they have waited long enough. The queue knows nothing of what they wait for: whoever completes one
//! early takes it out, the rest are handed out by [`Deadlines::take_expired`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

/// The place of an operation in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadlineKey {
    deadline_ms: i64,
    number: u64,
}

#[derive(Debug)]
struct Queue<T> {
    waiting: BTreeMap<DeadlineKey, Arc<T>>,
    next_number: u64,
}

/// Waiting operations of one kind.
#[derive(Debug)]
pub struct Deadlines<T> {
    queue: Mutex<Queue<T>>,
    /// The earliest deadline, `i64::MAX` for none: read without the lock by those who plan their sleep.
    earliest_ms: AtomicI64,
}

impl<T> Default for Deadlines<T> {
    fn default() -> Deadlines<T> {
        Deadlines { queue: Mutex::new(Queue { waiting: BTreeMap::new(), next_number: 0 }), earliest_ms: AtomicI64::new(i64::MAX) }
    }
}

impl<T> Deadlines<T> {
    /// Adds the operation that `make` builds around its own key; the second value tells whether its deadline is now the earliest.
    pub fn insert(&self, deadline_ms: i64, make: impl FnOnce(DeadlineKey) -> T) -> (Arc<T>, bool) {
        let mut queue = self.queue.lock();
        let key = DeadlineKey { deadline_ms, number: queue.next_number };
        queue.next_number += 1;
        let operation = Arc::new(make(key));
        queue.waiting.insert(key, operation.clone());
        let is_earliest = deadline_ms < self.earliest_ms.load(Ordering::Relaxed);
        self.note_earliest(&queue);
        (operation, is_earliest)
    }

    /// Takes out an operation that needs no deadline any more.
    pub fn remove(&self, key: DeadlineKey) {
        let mut queue = self.queue.lock();
        queue.waiting.remove(&key);
        self.note_earliest(&queue);
    }

    /// Takes out the operations whose deadline is not after `now_ms`, earliest first.
    pub fn take_expired(&self, now_ms: i64) -> Vec<Arc<T>> {
        if self.earliest_ms.load(Ordering::Relaxed) > now_ms {
            return Vec::new();
        }
        let mut queue = self.queue.lock();
        let later = queue.waiting.split_off(&DeadlineKey { deadline_ms: now_ms + 1, number: 0 });
        let expired = std::mem::replace(&mut queue.waiting, later);
        self.note_earliest(&queue);
        expired.into_values().collect()
    }

    /// The earliest deadline, if anything waits.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        Some(self.earliest_ms.load(Ordering::Relaxed)).filter(|&earliest_ms| earliest_ms != i64::MAX)
    }

    /// How many operations wait.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    fn note_earliest(&self, queue: &Queue<T>) {
        let earliest_ms = queue.waiting.first_key_value().map_or(i64::MAX, |(key, _)| key.deadline_ms);
        self.earliest_ms.store(earliest_ms, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_operations_come_out_in_order_and_once() {
        let deadlines = Deadlines::default();
        assert!(deadlines.insert(20, |_| "b").1);
        assert!(deadlines.insert(10, |_| "a").1);
        assert!(!deadlines.insert(30, |_| "c").1);
        let mut key = None;
        deadlines.insert(15, |own| {
            key = Some(own);
            "taken out"
        });
        deadlines.remove(key.unwrap());
        assert_eq!(deadlines.next_deadline_ms(), Some(10));
        assert_eq!(deadlines.take_expired(9), Vec::<Arc<&str>>::new());
        assert_eq!(deadlines.take_expired(20), [Arc::new("a"), Arc::new("b")]);
        assert_eq!(deadlines.next_deadline_ms(), Some(30));
        assert_eq!(deadlines.len(), 1);
    }
}
