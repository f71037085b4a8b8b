//! Open, committed and aborted transactions: the last stable offset and the aborted list.

use ottla_model::ErrorCode;

use crate::LogConfig;
use crate::append::{AppendOrigin, AppendRequest, TransactionContext};
use crate::index::AbortedTransaction;
use crate::log::harness::Harness;
use crate::producer::TransactionStart;
use crate::test_batches::{TestBatch, to_append};

fn data(harness: &mut Harness, producer_id: i64, sequence: i32) {
    harness.append(&TestBatch::at(0).producer(producer_id, 0, sequence).transactional()).unwrap();
}

fn end(harness: &mut Harness, producer_id: i64, is_abort: bool) {
    let marker = TestBatch::at(0).producer(producer_id, 0, -1).marker(is_abort, 1);
    harness.append_as(&marker, AppendOrigin::Coordinator).unwrap();
}

#[test]
fn the_last_stable_offset_waits_for_the_first_open_transaction() {
    let mut harness = Harness::new(LogConfig::default());
    harness.append_many(2);
    data(&mut harness, 1, 0);
    data(&mut harness, 2, 0);
    harness.log.update_high_watermark(4);
    assert_eq!(harness.log.last_stable_offset(), 2);
    end(&mut harness, 1, false);
    harness.log.update_high_watermark(4);
    assert_eq!(harness.log.last_stable_offset(), 2, "the marker is not below the high watermark");
    harness.log.update_high_watermark(5);
    assert_eq!(harness.log.last_stable_offset(), 3);
    end(&mut harness, 2, true);
    harness.log.update_high_watermark(6);
    assert_eq!(harness.log.last_stable_offset(), 6);
}

#[test]
fn aborted_transactions_are_listed_and_survive() {
    let mut harness = Harness::small();
    data(&mut harness, 1, 0);
    data(&mut harness, 2, 0);
    end(&mut harness, 2, true);
    harness.append_many(20);
    end(&mut harness, 1, true);
    harness.append_many(20);
    let first = AbortedTransaction { producer_id: 2, first_offset: 1, last_offset: 2, last_stable_offset: 0 };
    let second = AbortedTransaction { producer_id: 1, first_offset: 0, last_offset: 23, last_stable_offset: 24 };
    let check = |harness: &Harness| {
        assert_eq!(harness.read(0, usize::MAX).unwrap().aborted_transactions, [first, second]);
        assert_eq!(harness.read(3, usize::MAX).unwrap().aborted_transactions, [second]);
        assert_eq!(harness.read(24, usize::MAX).unwrap().aborted_transactions, []);
    };
    check(&harness);
    harness.reopen(false);
    check(&harness);
    harness.flush();
    harness.reopen(false);
    check(&harness);
    harness.log.close(0).unwrap();
    harness.reopen(true);
    check(&harness);
    harness.log.truncate_to(10, 0).unwrap();
    assert_eq!(harness.read(0, usize::MAX).unwrap().aborted_transactions, [first]);
    harness.log.update_high_watermark(10);
    assert_eq!(harness.log.last_stable_offset(), 0, "the first transaction is open again");
}

#[test]
fn what_does_not_fit_a_transaction_is_refused() {
    let mut harness = Harness::new(LogConfig::default());
    data(&mut harness, 1, 0);
    let plain = harness.append(&TestBatch::at(0).producer(1, 0, 1)).unwrap_err();
    assert_eq!(plain.code(), ErrorCode::InvalidTxnState);
    end(&mut harness, 1, false);
    harness.append(&TestBatch::at(0).producer(1, 0, 1)).unwrap();
    let zombie = TestBatch::at(0).producer(1, 0, -1).marker(true, 0);
    let fenced = harness.append_as(&zombie, AppendOrigin::Coordinator).unwrap_err();
    assert_eq!(fenced.code(), ErrorCode::TransactionCoordinatorFenced);
}

#[test]
fn an_open_transaction_survives_a_restart() {
    for clean in [true, false] {
        let mut harness = Harness::new(LogConfig::default());
        harness.append_many(1);
        data(&mut harness, 1, 0);
        harness.append_many(1);
        if clean {
            harness.log.close(0).unwrap();
        }
        harness.reopen(clean);
        harness.log.update_high_watermark(3);
        assert_eq!(harness.log.last_stable_offset(), 1, "clean {clean}");
        assert_eq!(harness.log.producer_states()[0].current_transaction_first_offset, 1);
    }
}

#[test]
fn a_transaction_begins_only_after_its_verification() {
    let mut harness = Harness::new(LogConfig::default());
    let start = |sequence| TransactionStart { producer_id: 1, producer_epoch: 0, base_sequence: sequence, supports_epoch_bump: false };
    let append = |harness: &mut Harness, sequence, verification_guard| {
        let bytes = TestBatch::at(0).producer(1, 0, sequence).transactional().bytes();
        let request = AppendRequest {
            batches: &[to_append(&bytes)],
            origin: AppendOrigin::Client,
            leader_epoch: 0,
            now_ms: 0,
            transaction: TransactionContext { verification_guard, transaction_version: 0 },
        };
        harness.log.append_as_leader(&request).map(|info| info.first_offset).map_err(|error| error.code())
    };
    assert_eq!(append(&mut harness, 0, None), Err(ErrorCode::InvalidTxnState));
    let guard = harness.log.start_transaction_verification(&start(1), 0).unwrap();
    let same = harness.log.start_transaction_verification(&start(0), 0).unwrap();
    assert!(guard.is_some() && guard == same, "two batches wait for one verification");
    assert_eq!(append(&mut harness, 1, guard), Err(ErrorCode::OutOfOrderSequenceNumber), "the lower sequence is first");
    assert_eq!(append(&mut harness, 0, guard), Ok(0));
    assert_eq!(append(&mut harness, 1, None), Ok(1), "the transaction is open");
    assert_eq!(harness.log.start_transaction_verification(&start(2), 0).unwrap(), None);
    end(&mut harness, 1, false);
    assert_eq!(append(&mut harness, 2, guard), Err(ErrorCode::InvalidTxnState), "a late record does not open it again");
    let zombie = TransactionStart { producer_epoch: -1, ..start(0) };
    assert_eq!(harness.log.start_transaction_verification(&zombie, 0).unwrap_err().code(), ErrorCode::InvalidProducerEpoch);
}
