//! What a coordinator makes of the log of another, and of markers and records that could not be written.

use ottla_model::{ErrorCode, TopicPartition};

use super::harness::{Harness, state};
use crate::group::TransactionResult::{Abort, Commit};

#[test]
fn a_decided_transaction_is_completed_after_a_restart() {
    for transaction_version in [0, 1, 2] {
        for (result, name) in [(Commit, "CompleteCommit"), (Abort, "CompleteAbort")] {
            let mut harness = Harness::new(transaction_version);
            harness.init(None).unwrap();
            harness.add((10, 0), &[0, 3]).unwrap();
            harness.end((10, 0), result).unwrap();
            let decided = harness.markers[0].clone();
            harness.restart();
            assert_eq!(harness.markers.len(), 1);
            let again = &harness.markers[0];
            assert_eq!((again.producer, again.result, &again.partitions), (decided.producer, result, &decided.partitions));
            // A value without tagged fields does not say which transactions the client spoke of.
            assert_eq!(again.transaction_version, decided.transaction_version);
            assert_eq!(again.coordinator_epoch, decided.coordinator_epoch + 1);
            harness.write_markers();
            assert_eq!(harness.described().0, name);
            harness.restart();
            assert!(harness.markers.is_empty());
        }
    }
}

#[test]
fn an_open_transaction_stays_open_over_a_restart() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0]).unwrap();
    harness.restart();
    assert_eq!(harness.described(), state("Ongoing", 10, 0, 1));
    assert_eq!(harness.end((10, 0), Commit), Ok((10, 1)));
}

#[test]
fn markers_are_tried_again_where_they_failed() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0, 1]).unwrap();
    harness.end((10, 0), Commit).unwrap();
    harness.markers.clear();
    let failed = TopicPartition::new("t", 1);
    let outcome = harness.shard.on_markers_written(&harness.context(), "tx", std::slice::from_ref(&failed));
    harness.settle(outcome);
    assert_eq!(harness.described(), state("PrepareCommit", 10, 1, 1));
    assert_eq!(harness.shard.next_deadline_ms(), Some(harness.now_ms + 100));
    harness.tick_after(99);
    assert!(harness.markers.is_empty());
    harness.tick_after(1);
    assert_eq!(harness.markers[0].partitions, [failed].into());
    harness.write_markers();
    assert_eq!(harness.described().0, "CompleteCommit");
}

#[test]
fn the_end_is_written_whatever_it_takes() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0]).unwrap();
    harness.end((10, 0), Commit).unwrap();
    harness.failing = Some(ErrorCode::NotEnoughReplicas);
    harness.write_markers();
    assert_eq!(harness.described(), state("PrepareCommit", 10, 1, 0));
    assert_eq!(harness.init(None), Err(ErrorCode::ConcurrentTransactions));
    harness.tick_after(100);
    assert_eq!(harness.described(), state("CompleteCommit", 10, 1, 0));
}
