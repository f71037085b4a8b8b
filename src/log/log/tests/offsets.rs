//! Offsets by time, high watermark, truncation, DeleteRecords.

use crate::LogConfig;
use crate::log::harness::Harness;
use crate::log::{TimestampedOffset, special_timestamp};
use crate::test_batches::TestBatch;

fn by_time(harness: &Harness, timestamp: i64) -> Option<(i64, i64)> {
    let found = harness.log.fetch_offset_by_timestamp(timestamp).unwrap();
    found.map(|TimestampedOffset { timestamp, offset, .. }| (timestamp, offset))
}

fn with_timestamps() -> Harness {
    let mut harness = Harness::small();
    for number in 0..20i64 {
        let base = 1000 + 100 * number;
        harness.append(&TestBatch::at(0).timestamps(&[base, base + 50, base + 20])).unwrap();
    }
    harness.log.update_high_watermark(60);
    harness
}

#[test]
fn times_are_found_to_the_record() {
    let mut harness = with_timestamps();
    let check = |harness: &Harness| {
        assert_eq!(by_time(harness, 0), Some((1000, 0)));
        assert_eq!(by_time(harness, 1001), Some((1050, 1)));
        assert_eq!(by_time(harness, 1051), Some((1100, 3)));
        assert_eq!(by_time(harness, 2125), Some((2150, 34)));
        assert_eq!(by_time(harness, 2950), Some((2950, 58)));
        assert_eq!(by_time(harness, 2951), None);
    };
    check(&harness);
    harness.reopen(false);
    check(&harness);
    harness.log.close(0).unwrap();
    harness.reopen(true);
    check(&harness);
    harness.log.update_high_watermark(60);
    harness.log.delete_records_before(34).unwrap();
    assert_eq!(by_time(&harness, 0), Some((2150, 34)));
}

#[test]
fn special_timestamps() {
    let mut harness = with_timestamps();
    harness.append(&TestBatch::at(0).timestamps(&[5]).leader_epoch(3)).unwrap();
    let special = |harness: &Harness, timestamp| harness.log.fetch_offset_by_timestamp(timestamp).unwrap().unwrap();
    let place = |offset, leader_epoch| TimestampedOffset { timestamp: -1, offset, leader_epoch };
    assert_eq!(special(&harness, special_timestamp::LATEST), place(61, Some(3)));
    assert_eq!(special(&harness, special_timestamp::EARLIEST), place(0, Some(0)));
    let largest = TimestampedOffset { timestamp: 2950, offset: 58, leader_epoch: Some(0) };
    assert_eq!(special(&harness, special_timestamp::MAX_TIMESTAMP), largest);
    assert_eq!(special(&harness, special_timestamp::LATEST_TIERED), place(-1, Some(-1)));
    assert_eq!(special(&harness, special_timestamp::EARLIEST_PENDING_UPLOAD), place(-1, Some(-1)));
    harness.log.delete_records_before(7).unwrap();
    assert_eq!(special(&harness, special_timestamp::EARLIEST_LOCAL), place(7, Some(0)));
    let empty = Harness::new(LogConfig::default());
    assert_eq!(empty.log.fetch_offset_by_timestamp(special_timestamp::MAX_TIMESTAMP).unwrap(), None);
    assert_eq!(special(&empty, special_timestamp::EARLIEST), place(0, None));
}

#[test]
fn the_high_watermark_stays_within_the_log() {
    let mut harness = Harness::small();
    harness.append_many(10);
    assert_eq!(harness.log.high_watermark(), 0);
    assert_eq!(harness.log.update_high_watermark(7), 7);
    assert_eq!(harness.log.update_high_watermark(70), 10);
    harness.log.delete_records_before(5).unwrap();
    assert_eq!(harness.log.update_high_watermark(2), 5);
    assert!(harness.log.maybe_increment_high_watermark(8));
    assert!(!harness.log.maybe_increment_high_watermark(7));
    assert_eq!(harness.log.high_watermark(), 8);
}

#[test]
fn records_are_deleted_up_to_the_high_watermark() {
    let mut harness = Harness::small();
    harness.append_many(40);
    harness.log.update_high_watermark(30);
    assert!(harness.log.delete_records_before(31).is_err());
    assert_eq!(harness.log.delete_records_before(30).unwrap(), 30);
    assert_eq!(harness.log.delete_records_before(10).unwrap(), 30, "never back");
    assert!(harness.read(29, 1).is_err());
    assert_eq!(harness.offsets(30, 1), [30]);
    assert_eq!(harness.log.delete_old_segments(0).unwrap(), 2);
    assert_eq!(harness.log.number_of_segments(), 2);
}

#[test]
fn truncation_removes_the_end() {
    let mut harness = Harness::small();
    for epoch in 0..4 {
        for _ in 0..10 {
            harness.append(&TestBatch::at(0).leader_epoch(epoch)).unwrap();
        }
    }
    harness.flush();
    assert!(!harness.log.truncate_to(40, 0).unwrap());
    assert!(harness.log.truncate_to(17, 0).unwrap());
    assert_eq!((harness.log.log_end_offset(), harness.log.recovery_point()), (17, 17));
    assert_eq!(harness.log.latest_epoch(), Some(1));
    assert_eq!(harness.all_offsets(), (0..17).collect::<Vec<i64>>());
    harness.append_many(3);
    harness.flush();
    harness.log.close(0).unwrap();
    harness.reopen(true);
    assert_eq!(harness.all_offsets(), (0..20).collect::<Vec<i64>>());
    harness.log.truncate_fully_and_start_at(100, 0).unwrap();
    harness.append_many(1);
    assert_eq!((harness.log.log_start_offset(), harness.all_offsets()), (100, vec![100]));
}

#[test]
fn a_flush_from_before_a_truncation_vouches_for_nothing() {
    let mut harness = Harness::small();
    harness.append_many(5);
    let task = harness.log.prepare_flush().unwrap().unwrap();
    harness.log.truncate_to(2, 0).unwrap();
    harness.append_many(3);
    task.run().unwrap();
    harness.log.flushed(&task, 0);
    assert!(harness.log.recovery_point() <= 2);
}
