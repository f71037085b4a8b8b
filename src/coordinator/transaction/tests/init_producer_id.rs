//! Who a producer is after InitProducerId.

use ottla_model::ErrorCode;

use super::harness::{Harness, state};
use crate::group::TransactionResult;
use crate::transaction::{TransactionCoordinatorConfig, validate_init_producer_id};

#[test]
fn timeouts_and_names_are_checked_first() {
    let config = TransactionCoordinatorConfig::default();
    for (name, timeout_ms, expected) in [
        ("", 1, Err(ErrorCode::InvalidRequest)),
        ("tx", 0, Err(ErrorCode::InvalidTransactionTimeout)),
        ("tx", -1, Err(ErrorCode::InvalidTransactionTimeout)),
        ("tx", 900_001, Err(ErrorCode::InvalidTransactionTimeout)),
        ("tx", 900_000, Ok(())),
    ] {
        assert_eq!(validate_init_producer_id(&config, name, timeout_ms), expected, "{name:?} {timeout_ms}");
    }
}

#[test]
fn each_instance_gets_the_next_epoch() {
    let mut harness = Harness::new(2);
    assert_eq!(harness.init(None), Ok((10, 0)));
    assert_eq!(harness.init(None), Ok((10, 1)));
    assert_eq!(harness.described(), state("Empty", 10, 1, 0));
    assert_eq!(harness.add((10, 0), &[0]), Err(ErrorCode::ProducerFenced));
    assert_eq!(harness.add((11, 1), &[0]), Err(ErrorCode::InvalidProducerIdMapping));
}

#[test]
fn a_producer_that_names_itself_goes_on_and_may_ask_twice() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    assert_eq!(harness.init(Some((10, 0))), Ok((10, 1)));
    // The answer was lost.
    assert_eq!(harness.init(Some((10, 0))), Ok((10, 1)));
    assert_eq!(harness.init(Some((10, 1))), Ok((10, 2)));
    assert_eq!(harness.init(Some((10, 0))), Err(ErrorCode::ProducerFenced));
    assert_eq!(harness.init(Some((9, 2))), Err(ErrorCode::ProducerFenced));
    // Another instance has come in between: the last epoch does not count any more.
    assert_eq!(harness.init(None), Ok((10, 3)));
    assert_eq!(harness.init(Some((10, 2))), Err(ErrorCode::ProducerFenced));
}

#[test]
fn metadata_that_was_lost_is_no_reason_to_fence() {
    let mut harness = Harness::new(2);
    assert_eq!(harness.init(Some((77, 4))), Ok((10, 0)));
}

#[test]
fn over_an_open_transaction_the_epoch_rises_by_two() {
    for transaction_version in [0, 2] {
        let mut harness = Harness::new(transaction_version);
        harness.init(None).unwrap();
        harness.add((10, 0), &[0, 1]).unwrap();
        assert_eq!(harness.init(None), Err(ErrorCode::ConcurrentTransactions));
        assert_eq!(harness.described(), state("PrepareAbort", 10, 1, 2));
        assert_eq!(harness.init(None), Err(ErrorCode::ConcurrentTransactions));
        assert_eq!(harness.markers.len(), 1);
        let markers = &harness.markers[0];
        assert_eq!((markers.producer.producer_epoch, markers.result), (1, TransactionResult::Abort));
        assert_eq!((markers.coordinator_epoch, markers.transaction_version), (5, transaction_version));
        harness.write_markers();
        assert_eq!(harness.described(), state("CompleteAbort", 10, 1, 0));
        assert_eq!(harness.init(None), Ok((10, 2)));
        assert_eq!(harness.end((10, 0), TransactionResult::Commit), Err(ErrorCode::ProducerFenced));
    }
}

#[test]
fn epochs_that_are_used_up_bring_a_new_producer_id() {
    let mut harness = Harness::new(0);
    harness.init(None).unwrap();
    for epoch in 1..i16::MAX {
        assert_eq!(harness.init(None), Ok((10, epoch)));
    }
    assert_eq!(harness.init(None), Ok((11, 0)));
    // A producer that did not hear of it.
    assert_eq!(harness.init(Some((10, i16::MAX - 1))), Err(ErrorCode::ProducerFenced));
}

#[test]
fn a_write_that_fails_changes_nothing() {
    for (error, told) in [
        (ErrorCode::NotEnoughReplicas, ErrorCode::CoordinatorNotAvailable),
        (ErrorCode::RequestTimedOut, ErrorCode::CoordinatorNotAvailable),
        (ErrorCode::NotLeaderOrFollower, ErrorCode::NotCoordinator),
        (ErrorCode::KafkaStorageError, ErrorCode::NotCoordinator),
        (ErrorCode::MessageTooLarge, ErrorCode::UnknownServerError),
    ] {
        let mut harness = Harness::new(2);
        harness.init(None).unwrap();
        harness.failing = Some(error);
        assert_eq!(harness.init(None), Err(told));
        assert_eq!(harness.init(None), Ok((10, 1)));
    }
}

#[test]
fn a_fence_that_could_not_be_written_is_not_raised_again() {
    let mut harness = Harness::new(0);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0]).unwrap();
    for _ in 0..3 {
        harness.failing = Some(ErrorCode::NotEnoughReplicas);
        assert_eq!(harness.init(None), Err(ErrorCode::CoordinatorNotAvailable));
        assert_eq!(harness.described(), state("Ongoing", 10, 1, 1));
    }
    assert_eq!(harness.init(None), Err(ErrorCode::ConcurrentTransactions));
    harness.write_markers();
    assert_eq!(harness.init(None), Ok((10, 2)));
}
