//! Transactions that are open for too long, and transactional ids that nobody uses.

use ottla_model::ErrorCode;

use super::harness::{Harness, TIMEOUT_MS, state};
use crate::group::TransactionResult::Commit;

const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;

#[test]
fn a_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_fenced() {
    for transaction_version in [0, 2] {
        let mut harness = Harness::new(transaction_version);
        harness.init(None).unwrap();
        harness.add((10, 0), &[0]).unwrap();
        harness.tick_after(i64::from(TIMEOUT_MS));
        assert_eq!(harness.described(), state("Ongoing", 10, 0, 1));
        harness.tick_after(10_000);
        assert_eq!(harness.described(), state("PrepareAbort", 10, 1, 1));
        harness.write_markers();
        assert_eq!(harness.described(), state("CompleteAbort", 10, 1, 0));
        let late = if transaction_version == 2 { ErrorCode::InvalidTxnState } else { ErrorCode::ProducerFenced };
        assert_eq!(harness.end((10, 0), Commit), Err(late));
        assert_eq!(harness.add((10, 0), &[0]), Err(ErrorCode::ProducerFenced));
    }
}

#[test]
fn an_idle_transactional_id_is_forgotten() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.tick_after(WEEK_MS - 1);
    assert_eq!(harness.shard.len(), 1);
    harness.tick_after(60 * 60 * 1000);
    assert_eq!(harness.shard.len(), 0);
    assert_eq!(harness.log.last().map(|(_, value)| value.is_none()), Some(true));
    harness.restart();
    assert_eq!(harness.shard.len(), 0);
    assert_eq!(harness.add((10, 0), &[0]), Err(ErrorCode::InvalidProducerIdMapping));
}

#[test]
fn an_open_transaction_keeps_its_transactional_id() {
    let mut harness = Harness::new(2);
    harness.init(None).unwrap();
    harness.add((10, 0), &[0]).unwrap();
    harness.failing = Some(ErrorCode::NotEnoughReplicas);
    harness.tick_after(2 * WEEK_MS);
    assert_eq!(harness.described().0, "Ongoing");
}
