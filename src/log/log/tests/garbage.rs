//! Damaged files: whatever is in them, a log opens without panicking, and what recovery looks at is a prefix of what was written.

use std::path::Path;
use std::sync::Arc;

use ottla_io::{Disk, OpenMode, Rng, SeededRng};
use ottla_model::TopicPartition;
use ottla_record::Batches;
use proptest::prelude::*;

use crate::log::harness::{DIR, Harness};
use crate::log::{Log, LogOpen, ReadRequest};
use crate::test_batches::TestBatch;

/// A log with several segments, producers and transactions.
fn filled(clean: bool) -> Harness {
    let mut harness = Harness::small();
    for number in 0..40 {
        let batch = TestBatch::at(0).timestamps(&[1000 + i64::from(number)]);
        let batch = if number % 3 == 0 { batch.producer(5, 0, number / 3) } else { batch };
        harness.append(&batch.leader_epoch(number / 15)).unwrap();
    }
    harness.flush();
    if clean {
        harness.log.close(0).unwrap();
    }
    harness
}

/// Overwrites, cuts or lengthens some of the files.
fn damage(harness: &Harness, seed: u64) {
    let mut rng = SeededRng::new(seed);
    let mut names: Vec<String> = harness.disk.read_dir(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name).collect();
    names.sort();
    for _ in 0..=rng.below(3) {
        let path = Path::new(DIR).join(&names[rng.below(names.len() as u64) as usize]);
        let len = harness.disk.metadata(&path).unwrap().unwrap().len;
        let position = rng.below(len + 1);
        let mut bytes = vec![0; 1 + rng.below(40) as usize];
        match rng.below(4) {
            0 => harness.disk.open(&path, OpenMode::Existing).unwrap().set_len(position).unwrap(),
            1 => harness.disk.open(&path, OpenMode::Existing).unwrap().set_len(len + position).unwrap(),
            2 => harness.disk.corrupt(&path, position, &bytes).unwrap(),
            _ => {
                rng.fill(&mut bytes);
                harness.disk.corrupt(&path, position, &bytes).unwrap();
            }
        }
    }
}

fn reopen(harness: &Harness, clean: bool, recovery_point: i64) -> Result<Log, crate::StorageError> {
    let open = LogOpen { clean, recovery_point, ..LogOpen::new(TopicPartition::new("t", 0), harness.config.clone()) };
    Log::open(Arc::new(harness.disk.clone()), Path::new(DIR), open, 0)
}

fn max_timestamps(harness: &Harness) -> Vec<i64> {
    let mut timestamps = Vec::new();
    let mut offset = harness.log.log_start_offset();
    while offset < harness.log.log_end_offset() {
        let bytes = harness.read(offset, usize::MAX).unwrap().records.unwrap().read().unwrap();
        for batch in Batches::new(&bytes) {
            let header = batch.unwrap().header;
            timestamps.push(header.max_timestamp);
            offset = header.next_offset();
        }
    }
    timestamps
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recovery_keeps_a_prefix(seed in any::<u64>(), clean in any::<bool>()) {
        let mut harness = filled(clean);
        damage(&harness, seed);
        harness.log = reopen(&harness, false, 0).unwrap();
        // No CRC covers the offsets, but the timestamps tell which batches these are.
        let timestamps = max_timestamps(&harness);
        prop_assert_eq!(&timestamps, &(1000..1000 + timestamps.len() as i64).collect::<Vec<i64>>());
        harness.append_many(1);
        prop_assert_eq!(max_timestamps(&harness).len(), timestamps.len() + 1);
    }

    #[test]
    fn trusted_damage_is_survived(seed in any::<u64>(), clean in any::<bool>(), recovery_point in 0..50i64) {
        let harness = filled(clean);
        damage(&harness, seed);
        // Below the recovery point nothing is checked, so anything may come out, but as an error or as records.
        if let Ok(log) = reopen(&harness, clean, recovery_point) {
            for offset in 0..45 {
                let request =
                    ReadRequest { offset, max_bytes: 500, end_offset: i64::MAX, at_least_one_batch: true, include_aborted: true };
                drop(log.read(request));
                drop(log.fetch_offset_by_timestamp(1000 + offset));
            }
        }
    }
}
