//! Offsets, epochs, rolling, and what is refused.

use ottla_io::Fault;
use ottla_model::ErrorCode;

use crate::LogConfig;
use crate::append::AppendError;
use crate::log::harness::Harness;
use crate::test_batches::TestBatch;

#[test]
fn the_leader_assigns_offsets_and_its_epoch() {
    let mut harness = Harness::new(LogConfig::default());
    let first = harness.append(&TestBatch::at(0).records(3).leader_epoch(4)).unwrap();
    assert_eq!((first.first_offset, first.last_offset, first.log_append_time_ms), (0, 2, -1));
    let second = harness.append(&TestBatch::at(0).leader_epoch(4)).unwrap();
    assert_eq!((second.first_offset, second.last_offset), (3, 3));
    assert_eq!(harness.log.log_end_offset(), 4);
    assert_eq!(harness.log.latest_epoch(), Some(4));
    assert_eq!(harness.log.epoch_for_offset(2), Some(4));
    assert_eq!(harness.all_offsets(), [0, 3]);
}

#[test]
fn followers_take_offsets_as_they_come() {
    let mut harness = Harness::new(LogConfig::default());
    let leaders = [TestBatch::at(10).records(2).leader_epoch(1).bytes(), TestBatch::at(20).leader_epoch(2).bytes()].concat();
    let info = harness.log.append_as_follower(&leaders, 5, 0).unwrap();
    assert_eq!((info.first_offset, info.last_offset, harness.log.log_end_offset()), (10, 20, 21));
    assert_eq!(harness.log.end_offset_for_epoch(1).unwrap().end_offset, 20);
    let again = harness.log.append_as_follower(&leaders, 5, 0);
    assert!(matches!(again, Err(AppendError::UnexpectedOffset { first_offset: 10, log_end_offset: 21 })));
    let newer = TestBatch::at(21).leader_epoch(6).bytes();
    harness.log.append_as_follower(&newer, 5, 0).unwrap();
    assert_eq!(harness.log.log_end_offset(), 21, "a batch of a leader that is not followed yet is left out");
    let mut damaged = TestBatch::at(21).leader_epoch(2).bytes();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(matches!(harness.log.append_as_follower(&damaged, 5, 0), Err(AppendError::Corrupt { .. })));
    let backwards = [TestBatch::at(30).bytes(), TestBatch::at(25).bytes()].concat();
    assert!(matches!(harness.log.append_as_follower(&backwards, 5, 0), Err(AppendError::InvalidBatch { offset: 25, .. })));
}

#[test]
fn the_raft_leader_writes_only_its_own_epoch() {
    let mut harness = Harness::new(LogConfig::default());
    let batch = TestBatch::at(0).leader_epoch(3).bytes();
    assert!(harness.log.append_as_raft_leader(&batch, 4, 0).is_err());
    assert_eq!(harness.log.append_as_raft_leader(&batch, 3, 0).unwrap().last_offset, 0);
}

#[test]
fn sizes_have_limits() {
    let config = LogConfig { max_message_bytes: 200, segment_bytes: 150, ..LogConfig::default() };
    let mut harness = Harness::new(config);
    let too_large = harness.append(&TestBatch::at(0).value_size(300)).unwrap_err();
    assert_eq!(too_large.code(), ErrorCode::MessageTooLarge);
    let larger_than_a_segment = harness.append(&TestBatch::at(0).value_size(100)).unwrap_err();
    assert_eq!(larger_than_a_segment.code(), ErrorCode::RecordListTooLarge);
    assert_eq!(harness.log.log_end_offset(), 0);
}

#[test]
fn segments_roll_by_size() {
    let mut harness = Harness::small();
    // A batch has 61 + 17 bytes: twelve of them fit 1000.
    harness.append_many(12);
    assert_eq!(harness.log.number_of_segments(), 1);
    harness.append_many(1);
    assert_eq!(harness.log.number_of_segments(), 2);
    harness.append_many(40);
    assert_eq!(harness.log.number_of_segments(), 5);
    assert_eq!(harness.all_offsets(), (0..53).collect::<Vec<i64>>());
}

#[test]
fn segments_roll_by_the_time_of_their_records() {
    let mut harness = Harness::new(LogConfig { segment_ms: 100, ..LogConfig::default() });
    for (timestamp, segments) in [(1000, 1), (1100, 1), (1101, 2), (1050, 2), (1202, 3)] {
        harness.append(&TestBatch::at(0).timestamps(&[timestamp])).unwrap();
        assert_eq!(harness.log.number_of_segments(), segments, "at {timestamp}");
    }
}

#[test]
fn segments_roll_when_an_index_is_full_or_an_offset_does_not_fit() {
    let mut harness = Harness::new(LogConfig { segment_index_bytes: 36, index_interval_bytes: 0, ..LogConfig::default() });
    // The time index keeps its last of three entries for the segment's end.
    for number in 0..4 {
        harness.append(&TestBatch::at(0).timestamps(&[1000 + number])).unwrap();
    }
    assert_eq!(harness.log.number_of_segments(), 2);
    let far = TestBatch::at(i64::from(i32::MAX) + 10).bytes();
    harness.log.append_as_follower(&far, 0, 0).unwrap();
    assert_eq!(harness.log.number_of_segments(), 3);
}

#[test]
fn a_failing_disk_takes_the_log_offline() {
    let mut harness = Harness::new(LogConfig::default());
    harness.append_many(1);
    harness.disk.fail_after(0, Fault::DiskFull);
    let error = harness.append(&TestBatch::at(0)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::KafkaStorageError);
    harness.disk.heal();
    let error = harness.append(&TestBatch::at(0)).unwrap_err();
    assert!(error.to_string().contains("offline"), "{error}");
    assert!(harness.read(0, 1000).is_err());
}

#[test]
fn flush_messages_is_told_to_the_caller() {
    let mut harness = Harness::new(LogConfig { flush_messages: 3, ..LogConfig::default() });
    let due: Vec<bool> = (0..4).map(|_| harness.append(&TestBatch::at(0)).unwrap().flush_due).collect();
    assert_eq!(due, [false, false, true, true]);
    harness.flush();
    assert_eq!(harness.log.recovery_point(), 4);
    assert!(!harness.append(&TestBatch::at(0)).unwrap().flush_due);
}

#[test]
fn flush_to_makes_an_offset_durable() {
    let mut harness = Harness::new(LogConfig::default());
    harness.append_many(3);
    let shared = std::sync::Arc::new(parking_lot::Mutex::new(harness.log));
    crate::flush_to(&shared, 2, 0).unwrap();
    assert_eq!(shared.lock().recovery_point(), 3, "all that was there is flushed at once");
    crate::flush_to(&shared, 3, 0).unwrap();
}
