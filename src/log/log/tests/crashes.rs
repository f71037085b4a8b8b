//! What is left after a crash.

use std::path::Path;

use ottla_io::{Crash, Disk, read_file};

use crate::LogConfig;
use crate::log::harness::{DIR, Harness};
use crate::paths::segment_file;
use crate::test_batches::TestBatch;

fn corrupt(harness: &Harness, base_offset: i64, suffix: &str, position: u64) {
    let path = segment_file(Path::new(DIR), base_offset, suffix);
    harness.disk.corrupt(&path, position, &[0xee; 8]).unwrap();
}

#[test]
fn what_was_flushed_survives_power_loss() {
    let mut harness = Harness::small();
    harness.append_many(20);
    harness.flush();
    harness.append_many(20);
    harness.crash(Crash::LoseUnsynced);
    assert_eq!(harness.all_offsets(), (0..20).collect::<Vec<i64>>());
    assert_eq!(harness.log.recovery_point(), 20);
    harness.append_many(1);
    assert_eq!(harness.log.log_end_offset(), 21);
}

#[test]
fn all_survives_a_kill() {
    let mut harness = Harness::small();
    for epoch in 0..4 {
        for number in 0..10 {
            harness.append(&TestBatch::at(0).leader_epoch(epoch).producer(3, 0, epoch * 10 + number)).unwrap();
        }
    }
    harness.crash(Crash::KeepAll);
    assert_eq!(harness.all_offsets(), (0..40).collect::<Vec<i64>>());
    assert_eq!(harness.log.end_offset_for_epoch(1).unwrap().end_offset, 20);
    assert_eq!(harness.log.producer_states()[0].last_sequence, 39);
    assert!(harness.append(&TestBatch::at(0).producer(3, 0, 39)).unwrap().duplicate);
}

#[test]
fn a_damaged_tail_is_cut_at_the_last_whole_batch() {
    let size = TestBatch::at(0).bytes().len() as u64;
    for position in [5 * size, 5 * size + 10, 5 * size + 70] {
        let mut harness = Harness::new(LogConfig::default());
        harness.append_many(10);
        corrupt(&harness, 0, ".log", position);
        harness.crash(Crash::KeepAll);
        assert_eq!(harness.all_offsets(), (0..5).collect::<Vec<i64>>(), "position {position}");
        assert_eq!(harness.log.size_in_bytes(), 5 * size);
        harness.append_many(1);
        assert_eq!(harness.log.log_end_offset(), 6);
    }
}

#[test]
fn a_gap_takes_later_segments_with_it() {
    let mut harness = Harness::small();
    harness.append_many(40);
    corrupt(&harness, 12, ".log", 0);
    harness.crash(Crash::KeepAll);
    assert_eq!(harness.log.log_end_offset(), 12);
    assert_eq!(harness.all_offsets(), (0..12).collect::<Vec<i64>>());
}

#[test]
fn a_missing_segment_takes_later_ones_with_it_unless_the_log_was_compacted() {
    for once_compacted in [false, true] {
        let mut harness = Harness::small();
        // Twelve batches fill a segment; what follows begins another one, as a replica does when it copies a log with gaps.
        let second = if once_compacted { 2 } else { 1 };
        for offset in [0].into_iter().chain(second..second + 11).chain(20..40) {
            harness.log.append_as_follower(&TestBatch::at(offset).bytes(), 0, 0).unwrap();
        }
        harness.crash(Crash::KeepAll);
        assert_eq!(harness.log.log_end_offset(), if once_compacted { 40 } else { 12 });
    }
}

#[test]
fn below_the_recovery_point_nothing_is_looked_at() {
    let mut harness = Harness::new(LogConfig { index_interval_bytes: 100, ..LogConfig::default() });
    harness.append_many(20);
    harness.flush();
    harness.append_many(5);
    let size = TestBatch::at(0).bytes().len() as u64;
    // Damage that a scan of the whole segment would stumble over.
    corrupt(&harness, 0, ".log", 3 * size + 65);
    harness.crash(Crash::KeepAll);
    assert_eq!(harness.log.log_end_offset(), 25);
}

#[test]
fn lost_and_damaged_indexes_are_rebuilt() {
    for clean in [true, false] {
        for damage in ["lost", "garbage"] {
            let mut harness = Harness::small();
            for number in 0..40 {
                harness.append(&TestBatch::at(0).timestamps(&[1000 + number])).unwrap();
            }
            harness.log.close(0).unwrap();
            let last = 36;
            let before = read_file(&harness.disk, &segment_file(Path::new(DIR), last, ".index")).unwrap();
            for suffix in [".index", ".timeindex"] {
                let path = segment_file(Path::new(DIR), last, suffix);
                if damage == "lost" {
                    harness.disk.remove_file(&path).unwrap();
                } else {
                    harness.disk.corrupt(&path, 0, &[0xff; 16]).unwrap();
                }
            }
            harness.reopen(clean);
            assert_eq!(harness.all_offsets(), (0..40).collect::<Vec<i64>>(), "{damage}, clean {clean}");
            let found = harness.log.fetch_offset_by_timestamp(1038).unwrap().unwrap();
            assert_eq!(found.offset, 38, "{damage}, clean {clean}");
            let after = read_file(&harness.disk, &segment_file(Path::new(DIR), last, ".index")).unwrap();
            assert_eq!(before, after, "{damage}, clean {clean}");
        }
    }
}

#[test]
fn a_log_that_ends_before_its_start_begins_anew() {
    let mut harness = Harness::small();
    harness.append_many(20);
    harness.reopen_from(50);
    assert_eq!((harness.log.log_start_offset(), harness.log.log_end_offset()), (50, 50));
    assert_eq!(harness.log.number_of_segments(), 1);
}

#[test]
fn preallocated_segments_are_trimmed() {
    let mut harness = Harness::new(LogConfig { preallocate: true, segment_bytes: 10_000, ..LogConfig::default() });
    harness.append_many(3);
    let size = || harness.disk.metadata(&segment_file(Path::new(DIR), 0, ".log")).unwrap().unwrap().len;
    assert_eq!(size(), 10_000);
    harness.log.close(0).unwrap();
    assert_eq!(size(), 3 * TestBatch::at(0).bytes().len() as u64);
    harness.reopen(false);
    assert_eq!(harness.log.log_end_offset(), 3);
}
