//! Random histories of a log against the simplest model of one: a list of batches. Crashes lose what was not flushed, or any part of it;
//! what was flushed is always there, and what is there is always a prefix of what was appended.

use ottla_io::{Crash, Rng, SeededRng};
use proptest::prelude::*;

use crate::LogConfig;
use crate::log::harness::Harness;
use crate::test_batches::TestBatch;

#[derive(Clone, Debug)]
enum Step {
    Append { records: i32, producer: bool },
    Flush,
    Roll,
    Truncate(u8),
    DeleteRecords(u8),
    Retention,
    Upkeep,
    CleanRestart,
    Kill,
    PowerLoss(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..6i32, any::<bool>()).prop_map(|(records, producer)| Step::Append { records, producer }),
        3 => Just(Step::Flush),
        1 => Just(Step::Roll),
        1 => any::<u8>().prop_map(Step::Truncate),
        1 => any::<u8>().prop_map(Step::DeleteRecords),
        1 => Just(Step::Retention),
        2 => Just(Step::Upkeep),
        1 => Just(Step::CleanRestart),
        1 => Just(Step::Kill),
        2 => any::<u64>().prop_map(Step::PowerLoss),
    ]
}

/// Batches as (first offset, next offset, sequence of the first record if the producer wrote it).
#[derive(Default)]
struct Model {
    batches: Vec<(i64, i64, Option<i32>)>,
    log_start_offset: i64,
    next_sequence: i32,
}

impl Model {
    fn end(&self) -> i64 {
        self.batches.last().map_or(self.log_start_offset, |batch| batch.1)
    }

    /// Drops the batches that reach beyond an offset.
    fn truncate(&mut self, end: i64) {
        self.batches.retain(|batch| batch.1 <= end);
        self.log_start_offset = self.log_start_offset.min(self.end());
        self.next_sequence =
            self.batches.iter().rev().find_map(|&(first, next, sequence)| Some(sequence? + (next - first) as i32)).unwrap_or(0);
    }
}

struct World {
    harness: Harness,
    model: Model,
}

impl World {
    fn new() -> World {
        let config = LogConfig { segment_bytes: 700, index_interval_bytes: 150, file_delete_delay_ms: 0, ..LogConfig::default() };
        World { harness: Harness::new(config), model: Model::default() }
    }

    fn fraction(&self, of: u8) -> i64 {
        let (start, end) = (self.model.log_start_offset, self.model.end());
        start + (end - start) * i64::from(of) / 255
    }

    fn run(&mut self, step: &Step) {
        self.harness.now_ms += 1;
        match *step {
            Step::Append { records, producer } => self.append(records, producer),
            Step::Flush => self.harness.flush(),
            Step::Roll => {
                if self.harness.log.size_in_bytes() > 0 {
                    self.harness.log.roll(self.harness.now_ms).unwrap();
                }
            }
            Step::Truncate(to) => {
                // Leaders name the ends of batches.
                let wanted = self.fraction(to);
                let ends = self.model.batches.iter().map(|batch| batch.1);
                let offset = ends.filter(|&end| end <= wanted).max().unwrap_or(self.model.log_start_offset);
                self.harness.log.truncate_to(offset, self.harness.now_ms).unwrap();
                self.model.truncate(offset);
            }
            Step::DeleteRecords(to) => {
                let end = self.harness.log.log_end_offset();
                self.harness.log.update_high_watermark(end);
                let offset = self.fraction(to);
                self.model.log_start_offset = self.harness.log.delete_records_before(offset).unwrap();
            }
            Step::Retention => {
                self.harness.log.delete_old_segments(self.harness.now_ms).unwrap();
            }
            Step::Upkeep => {
                self.harness.log.upkeep(self.harness.now_ms).unwrap();
            }
            Step::CleanRestart => {
                self.harness.log.close(self.harness.now_ms).unwrap();
                self.harness.reopen(true);
            }
            Step::Kill => self.harness.crash(Crash::KeepAll),
            Step::PowerLoss(seed) => self.lose_power(seed),
        }
        self.check();
    }

    fn append(&mut self, records: i32, producer: bool) {
        let mut batch = TestBatch::at(0).records(records);
        let sequence = producer.then_some(self.model.next_sequence);
        if let Some(sequence) = sequence {
            batch = batch.producer(9, 0, sequence);
            self.model.next_sequence = sequence + records;
        }
        let info = self.harness.append(&batch).unwrap();
        assert!(!info.duplicate);
        self.model.batches.push((info.first_offset, info.last_offset + 1, sequence));
    }

    fn lose_power(&mut self, seed: u64) {
        let durable = self.harness.log.recovery_point();
        let crash = if SeededRng::new(seed).below(2) == 0 { Crash::LoseUnsynced } else { Crash::KeepSome(seed) };
        self.harness.crash(crash);
        let end = self.harness.log.log_end_offset();
        assert!(end >= durable, "the log ends at {end}, though {durable} was durable");
        self.model.truncate(end);
        self.model.log_start_offset = self.harness.log.log_start_offset();
    }

    fn check(&self) {
        let log = &self.harness.log;
        assert_eq!(log.log_end_offset(), self.model.end().max(log.log_start_offset()));
        assert_eq!(log.log_start_offset(), self.model.log_start_offset);
        let expected: Vec<i64> =
            self.model.batches.iter().filter(|batch| batch.1 > self.model.log_start_offset).map(|batch| batch.0).collect();
        assert_eq!(self.harness.all_offsets(), expected);
        assert!(log.recovery_point() <= log.log_end_offset());
        let sequence = log.producer_states().first().map(|state| state.last_sequence + 1);
        let known = self.model.batches.iter().any(|batch| batch.2.is_some() && batch.0 >= self.model.log_start_offset);
        if known {
            assert_eq!(sequence, Some(self.model.next_sequence));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_a_list_of_batches(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
    }
}
