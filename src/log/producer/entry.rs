//! One producer as a log knows it (`ProducerStateEntry`). Decides nothing.

use ottla_record::{BatchHeader, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, increment_sequence};
use smallvec::SmallVec;

/// So many of a producer's last batches are remembered: as many as a client may have in flight.
pub(crate) const BATCHES_RETAINED: usize = 5;

/// A batch that was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchMetadata {
    pub(crate) last_sequence: i32,
    pub(crate) last_offset: i64,
    /// Last offset minus first offset; the same for the sequences.
    pub(crate) offset_delta: i32,
    /// The batch's max timestamp.
    pub(crate) timestamp: i64,
}

impl BatchMetadata {
    pub(crate) fn first_sequence(&self) -> i32 {
        // Sequences wrap from i32::MAX to 0, so going back is going forth by the rest of the circle.
        if self.last_sequence >= self.offset_delta {
            self.last_sequence - self.offset_delta
        } else {
            increment_sequence(i32::MAX - (self.offset_delta - self.last_sequence), 1)
        }
    }

    pub(crate) fn first_offset(&self) -> i64 {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// What is known of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProducerEntry {
    pub(crate) producer_epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: i64,
    /// Where the open transaction began.
    pub(crate) transaction_first_offset: Option<i64>,
    /// The last batches of `producer_epoch`, oldest first.
    batches: SmallVec<[BatchMetadata; BATCHES_RETAINED]>,
}

impl ProducerEntry {
    /// A producer of which nothing is known.
    pub(crate) fn unknown() -> ProducerEntry {
        ProducerEntry {
            producer_epoch: NO_PRODUCER_EPOCH,
            coordinator_epoch: -1,
            last_timestamp: NO_TIMESTAMP,
            transaction_first_offset: None,
            batches: SmallVec::new(),
        }
    }

    /// The same producer without its batches: what an append starts from.
    pub(crate) fn without_batches(&self) -> ProducerEntry {
        ProducerEntry { batches: SmallVec::new(), ..*self }
    }

    pub(crate) fn has_batches(&self) -> bool {
        !self.batches.is_empty()
    }

    pub(crate) fn last_batch(&self) -> Option<&BatchMetadata> {
        self.batches.last()
    }

    /// The last batch's last sequence; -1 when no batch is known.
    pub(crate) fn last_sequence(&self) -> i32 {
        self.last_batch().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    pub(crate) fn add_batch(&mut self, producer_epoch: i16, batch: BatchMetadata) {
        self.set_epoch(producer_epoch);
        self.push(batch);
        self.last_timestamp = batch.timestamp;
    }

    fn set_epoch(&mut self, producer_epoch: i16) {
        if self.producer_epoch != producer_epoch {
            self.batches.clear();
            self.producer_epoch = producer_epoch;
        }
    }

    fn push(&mut self, batch: BatchMetadata) {
        if self.batches.len() == BATCHES_RETAINED {
            self.batches.remove(0);
        }
        self.batches.push(batch);
    }

    /// Takes over what an append made of it.
    pub(crate) fn update(&mut self, next: &ProducerEntry) {
        self.set_epoch(next.producer_epoch);
        for batch in &next.batches {
            self.push(*batch);
        }
        self.coordinator_epoch = next.coordinator_epoch;
        self.transaction_first_offset = next.transaction_first_offset;
        self.last_timestamp = next.last_timestamp;
    }

    /// Ends the open transaction.
    pub(crate) fn end_transaction(&mut self, producer_epoch: i16, coordinator_epoch: i32, timestamp: i64) {
        self.set_epoch(producer_epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.transaction_first_offset = None;
        self.last_timestamp = timestamp;
    }

    /// The remembered batch that this one repeats.
    pub(crate) fn find_duplicate(&self, header: &BatchHeader) -> Option<BatchMetadata> {
        if header.producer_epoch != self.producer_epoch {
            return None;
        }
        self.batches
            .iter()
            .find(|batch| batch.first_sequence() == header.base_sequence && batch.last_sequence == header.last_sequence())
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_back_over_the_wrap() {
        let batch = |last_sequence, offset_delta| BatchMetadata { last_sequence, last_offset: 100, offset_delta, timestamp: 0 };
        assert_eq!(batch(9, 9).first_sequence(), 0);
        assert_eq!(batch(2, 5).first_sequence(), i32::MAX - 2);
        assert_eq!(batch(0, 1).first_sequence(), i32::MAX);
        assert_eq!(batch(i32::MAX, 0).first_sequence(), i32::MAX);
        assert_eq!(increment_sequence(batch(2, 5).first_sequence(), 5), 2);
    }

    #[test]
    fn five_batches_are_remembered_and_a_new_epoch_forgets_them() {
        let mut entry = ProducerEntry::unknown();
        for number in 0..7 {
            entry.add_batch(0, BatchMetadata { last_sequence: number, last_offset: i64::from(number), offset_delta: 0, timestamp: 1 });
        }
        assert_eq!(entry.batches.iter().map(|batch| batch.last_sequence).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
        entry.add_batch(1, BatchMetadata { last_sequence: 0, last_offset: 7, offset_delta: 0, timestamp: 1 });
        assert_eq!((entry.batches.len(), entry.producer_epoch), (1, 1));
    }
}
