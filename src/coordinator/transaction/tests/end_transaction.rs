//! What EndTxn and AddPartitionsToTxn answer in every state.

use ottla_model::ErrorCode;

use super::harness::{Answer, Harness, partitions, producer, state};
use crate::group::TransactionResult::{self, Abort, Commit};

/// A coordinator whose producer is `(10, epoch)` and whose transaction is in the state that `name` says.
fn in_state(transaction_version: i16, name: &str) -> (Harness, i16) {
    let mut harness = Harness::new(transaction_version);
    harness.init(None).unwrap();
    let result = if name.ends_with("Commit") { Commit } else { Abort };
    if name != "Empty" {
        harness.add((10, 0), &[0]).unwrap();
    }
    if name != "Empty" && name != "Ongoing" {
        harness.end((10, 0), result).unwrap();
    }
    if name.starts_with("Complete") {
        harness.write_markers();
    }
    let (state, _, epoch, _) = harness.described();
    assert_eq!(state, name);
    (harness, epoch)
}

fn check(transaction_version: i16, name: &str, retry: bool, result: TransactionResult, expected: Answer) {
    let (mut harness, epoch) = in_state(transaction_version, name);
    let named = if retry { (10, epoch - 1) } else { (10, epoch) };
    assert_eq!(harness.end(named, result), expected, "version {transaction_version}, {name}, retry {retry}, {result:?}");
}

#[test]
fn version_2_by_state_epoch_and_result() {
    let (fenced, invalid) = (Err(ErrorCode::ProducerFenced), Err(ErrorCode::InvalidTxnState));
    let concurrent = Err(ErrorCode::ConcurrentTransactions);
    for (name, abort_retry, abort, commit_retry, commit) in [
        ("Empty", fenced, Ok((10, 1)), fenced, invalid),
        ("Ongoing", fenced, Ok((10, 1)), fenced, Ok((10, 1))),
        ("CompleteAbort", Ok((10, 1)), Ok((10, 2)), invalid, invalid),
        ("CompleteCommit", invalid, Ok((10, 2)), Ok((10, 1)), invalid),
        // Until the markers are written the next state is pending.
        ("PrepareCommit", concurrent, concurrent, concurrent, concurrent),
        ("PrepareAbort", concurrent, concurrent, concurrent, concurrent),
    ] {
        check(2, name, true, Abort, abort_retry);
        check(2, name, false, Abort, abort);
        check(2, name, true, Commit, commit_retry);
        check(2, name, false, Commit, commit);
    }
}

#[test]
fn version_0_by_state_and_result() {
    let (none, invalid) = (Ok((-1, -1)), Err(ErrorCode::InvalidTxnState));
    let concurrent = Err(ErrorCode::ConcurrentTransactions);
    for (name, abort, commit) in [
        ("Empty", invalid, invalid),
        ("Ongoing", none, none),
        ("CompleteAbort", none, invalid),
        ("CompleteCommit", invalid, none),
        ("PrepareCommit", concurrent, concurrent),
        ("PrepareAbort", concurrent, concurrent),
    ] {
        check(0, name, false, Abort, abort);
        check(0, name, false, Commit, commit);
        check(0, name, true, Commit, Err(ErrorCode::ProducerFenced));
    }
}

#[test]
fn who_is_not_known_is_told_so() {
    let mut harness = Harness::new(2);
    assert_eq!(harness.end((10, 0), Commit), Err(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(harness.add((10, 0), &[0]), Err(ErrorCode::InvalidProducerIdMapping));
    harness.init(None).unwrap();
    assert_eq!(harness.end((11, 0), Commit), Err(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(harness.end((10, 1), Commit), Err(ErrorCode::ProducerFenced));
}

#[test]
fn each_transaction_of_version_2_bumps_the_epoch() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    for epoch in 0..3 {
        harness.add((10, epoch), &[0, 1]).unwrap();
        assert_eq!(harness.end((10, epoch), Commit), Ok((10, epoch + 1)));
        assert_eq!(harness.markers[0].producer, producer((10, epoch + 1)));
        assert_eq!(harness.markers[0].partitions, partitions(&[0, 1]));
        assert_eq!(harness.add((10, epoch + 1), &[0]), Err(ErrorCode::ConcurrentTransactions));
        harness.write_markers();
    }
    assert_eq!(harness.described(), state("CompleteCommit", 10, 3, 0));
}

#[test]
fn the_last_epoch_of_version_2_ends_with_a_new_producer_id() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    for epoch in 0..i16::MAX - 1 {
        assert_eq!(harness.end((10, epoch), Abort), Ok((10, epoch + 1)));
    }
    let last = i16::MAX - 1;
    harness.add((10, last), &[0]).unwrap();
    assert_eq!(harness.end((10, last), Commit), Ok((11, 0)));
    assert_eq!(harness.markers[0].producer, producer((10, i16::MAX)));
    harness.restart();
    harness.write_markers();
    assert_eq!(harness.described(), state("CompleteCommit", 11, 0, 0));
    // The answer was lost.
    assert_eq!(harness.end((10, last), Commit), Ok((11, 0)));
    assert_eq!(harness.add((11, 0), &[0]), Ok((11, 0)));
}

#[test]
fn partitions_are_verified_one_by_one() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0]).unwrap();
    let verify = |harness: &Harness, epoch| harness.shard.verify_partitions("tx", producer((10, epoch)), &partitions(&[0, 1]));
    let verified: Vec<_> = verify(&harness, 0).unwrap().into_iter().map(|(_, error)| error).collect();
    assert_eq!(verified, [ErrorCode::None, ErrorCode::TransactionAbortable]);
    assert_eq!(verify(&harness, 1), Err(ErrorCode::ProducerFenced));
    harness.end((10, 0), Commit).unwrap();
    assert_eq!(verify(&harness, 1), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(harness.shard.verify_partitions("", producer((10, 0)), &partitions(&[0])), Err(ErrorCode::InvalidRequest));
}

#[test]
fn partitions_that_take_part_already_are_not_written_again() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0, 1]).unwrap();
    let written = harness.log.len();
    assert_eq!(harness.add((10, 0), &[1]), Ok((10, 0)));
    assert_eq!(harness.log.len(), written);
    harness.add((10, 0), &[2]).unwrap();
    assert_eq!((harness.log.len(), harness.described().3), (written + 1, 3));
}
