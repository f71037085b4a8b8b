//! Idempotent producers: the rules of `ProducerStateManager`, as a table of appends and their outcomes.

use ottla_model::ErrorCode;

use crate::LogConfig;
use crate::append::AppendOrigin;
use crate::log::harness::Harness;
use crate::test_batches::TestBatch;

#[derive(Debug, PartialEq)]
enum Outcome {
    Appended(i64),
    Duplicate(i64, i64),
    Refused(ErrorCode),
}

fn append(harness: &mut Harness, (epoch, sequence, records): (i16, i32, i32)) -> Outcome {
    match harness.append(&TestBatch::at(0).records(records).producer(7, epoch, sequence)) {
        Ok(info) if info.duplicate => Outcome::Duplicate(info.first_offset, info.last_offset),
        Ok(info) => Outcome::Appended(info.first_offset),
        Err(error) => Outcome::Refused(error.code()),
    }
}

fn check(steps: &[((i16, i32, i32), Outcome)]) {
    let mut harness = Harness::new(LogConfig::default());
    for (index, (batch, expected)) in steps.iter().enumerate() {
        assert_eq!(append(&mut harness, *batch), *expected, "step {index}: {batch:?}");
    }
}

const GAP: Outcome = Outcome::Refused(ErrorCode::OutOfOrderSequenceNumber);
const FENCED: Outcome = Outcome::Refused(ErrorCode::InvalidProducerEpoch);

#[test]
fn sequences_follow_each_other() {
    check(&[
        ((0, 0, 3), Outcome::Appended(0)),
        ((0, 3, 1), Outcome::Appended(3)),
        ((0, 5, 1), GAP),
        ((0, 2, 1), GAP),
        ((0, 4, 1), Outcome::Appended(4)),
    ]);
}

#[test]
fn an_unknown_producer_may_begin_anywhere() {
    check(&[((5, 100, 1), Outcome::Appended(0)), ((5, 101, 1), Outcome::Appended(1)), ((5, 103, 1), GAP)]);
}

#[test]
fn the_last_five_batches_are_known_as_duplicates() {
    check(&[
        ((0, 0, 2), Outcome::Appended(0)),
        ((0, 2, 1), Outcome::Appended(2)),
        ((0, 3, 1), Outcome::Appended(3)),
        ((0, 4, 1), Outcome::Appended(4)),
        ((0, 5, 1), Outcome::Appended(5)),
        ((0, 0, 2), Outcome::Duplicate(0, 1)),
        ((0, 5, 1), Outcome::Duplicate(5, 5)),
        ((0, 6, 1), Outcome::Appended(6)),
        ((0, 0, 2), GAP),
        ((0, 2, 1), Outcome::Duplicate(2, 2)),
        ((0, 2, 2), GAP),
    ]);
}

#[test]
fn epochs_fence() {
    check(&[
        ((1, 0, 1), Outcome::Appended(0)),
        ((0, 1, 1), FENCED),
        ((2, 1, 1), GAP),
        ((2, 0, 1), Outcome::Appended(1)),
        ((1, 1, 1), FENCED),
        ((2, 0, 1), Outcome::Duplicate(1, 1)),
    ]);
}

#[test]
fn sequences_wrap() {
    check(&[
        ((0, i32::MAX - 1, 2), Outcome::Appended(0)),
        ((0, 0, 1), Outcome::Appended(2)),
        ((0, 1, 1), Outcome::Appended(3)),
        ((0, i32::MAX - 1, 2), Outcome::Duplicate(0, 1)),
    ]);
    check(&[((0, i32::MAX, 3), Outcome::Appended(0)), ((0, 2, 1), Outcome::Appended(3))]);
}

#[test]
fn a_duplicate_answers_its_timestamp() {
    let mut harness = Harness::new(LogConfig::default());
    let batch = TestBatch::at(0).timestamps(&[5, 9, 7]).producer(7, 0, 0);
    harness.append(&batch).unwrap();
    assert_eq!(harness.append(&batch).unwrap().log_append_time_ms, 9);
}

#[test]
fn replicas_take_what_their_leader_accepted() {
    let mut harness = Harness::new(LogConfig::default());
    for (base_offset, epoch, sequence) in [(0, 1, 0), (1, 1, 50), (2, 0, 7)] {
        let bytes = TestBatch::at(base_offset).producer(7, epoch, sequence).bytes();
        harness.log.append_as_follower(&bytes, 0, 0).unwrap();
    }
    assert_eq!(harness.log.log_end_offset(), 3);
    let coordinator = harness.append_as(&TestBatch::at(0).producer(8, 0, 9), AppendOrigin::Coordinator);
    assert!(coordinator.is_ok(), "coordinators have no sequences");
}

#[test]
fn producers_survive_a_restart() {
    for clean in [true, false] {
        let mut harness = Harness::new(LogConfig::default());
        for sequence in 0..4 {
            assert_eq!(append(&mut harness, (0, sequence, 1)), Outcome::Appended(i64::from(sequence)));
        }
        if clean {
            harness.log.close(0).unwrap();
        }
        // A second restart loads the snapshot that the first one left.
        harness.reopen(clean);
        harness.reopen(clean);
        assert_eq!(append(&mut harness, (0, 3, 1)), Outcome::Duplicate(3, 3), "clean {clean}");
        // A snapshot holds the last batch only; what is recovered was read again.
        let earlier = if clean { GAP } else { Outcome::Duplicate(2, 2) };
        assert_eq!(append(&mut harness, (0, 2, 1)), earlier, "clean {clean}");
        assert_eq!(append(&mut harness, (0, 4, 1)), Outcome::Appended(4), "clean {clean}");
    }
}

#[test]
fn producers_survive_rolls_and_truncation() {
    let mut harness = Harness::small();
    for sequence in 0..60 {
        assert_eq!(append(&mut harness, (0, sequence, 1)), Outcome::Appended(i64::from(sequence)));
    }
    assert!(harness.log.number_of_segments() > 3);
    harness.log.truncate_to(31, 0).unwrap();
    assert_eq!(append(&mut harness, (0, 30, 1)), Outcome::Duplicate(30, 30));
    assert_eq!(append(&mut harness, (0, 32, 1)), GAP);
    assert_eq!(append(&mut harness, (0, 31, 1)), Outcome::Appended(31));
}

#[test]
fn idle_producers_expire() {
    let mut harness = Harness::new(LogConfig::default());
    harness.append(&TestBatch::at(0).timestamps(&[1000]).producer(7, 3, 0)).unwrap();
    harness.log.remove_expired_producers(1000 + 86_400_000 - 1);
    assert_eq!(harness.log.producer_states().len(), 1);
    let state = harness.log.producer_states()[0];
    assert_eq!((state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp), (7, 3, 0, 1000));
    assert_eq!((state.coordinator_epoch, state.current_transaction_first_offset), (-1, -1));
    harness.log.remove_expired_producers(1000 + 86_400_000);
    assert_eq!(harness.log.producer_states(), []);
}
