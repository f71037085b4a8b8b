//! Which bytes a read gives.

use ottla_model::ErrorCode;

use crate::LogConfig;
use crate::log::ReadRequest;
use crate::log::harness::{Harness, base_offsets};
use crate::test_batches::TestBatch;

#[test]
fn reads_begin_with_the_batch_that_holds_the_offset() {
    let mut harness = Harness::new(LogConfig { index_interval_bytes: 100, ..LogConfig::default() });
    for _ in 0..50 {
        harness.append(&TestBatch::at(0).records(10)).unwrap();
    }
    for (offset, first) in [(0, 0), (9, 0), (10, 10), (255, 250), (499, 490)] {
        assert_eq!(harness.offsets(offset, usize::MAX)[0], first, "offset {offset}");
    }
    assert!(harness.read(500, usize::MAX).unwrap().records.is_none(), "the end");
    assert_eq!(harness.read(501, usize::MAX).unwrap_err().code(), ErrorCode::OffsetOutOfRange);
    assert_eq!(harness.read(-1, usize::MAX).unwrap_err().code(), ErrorCode::OffsetOutOfRange);
}

#[test]
fn whole_batches_up_to_the_limit() {
    let mut harness = Harness::new(LogConfig { index_interval_bytes: 1000, ..LogConfig::default() });
    harness.append_many(100);
    let size = TestBatch::at(0).bytes().len();
    assert_eq!(harness.offsets(7, 10 * size), (7..17).collect::<Vec<i64>>());
    assert_eq!(harness.offsets(7, 11 * size - 1), (7..17).collect::<Vec<i64>>());
    assert_eq!(harness.offsets(7, 1), [7], "the first batch is given whatever its size");
    let request = ReadRequest { offset: 7, max_bytes: 1, end_offset: i64::MAX, at_least_one_batch: false, include_aborted: false };
    let fetched = harness.log.read(request).unwrap();
    assert!(fetched.records.is_none());
    assert_eq!(fetched.first_batch_size, size);
}

#[test]
fn a_bound_is_not_crossed() {
    let mut harness = Harness::small();
    harness.append_many(30);
    let read = |offset, end_offset| {
        let request = ReadRequest { offset, max_bytes: usize::MAX, end_offset, at_least_one_batch: true, include_aborted: false };
        base_offsets(&harness.log.read(request).unwrap())
    };
    assert_eq!(read(14, 20), (14..20).collect::<Vec<i64>>());
    assert_eq!(read(14, 29), (14..24).collect::<Vec<i64>>(), "one segment at a time");
    assert_eq!(read(27, 29), [27, 28]);
    assert_eq!(read(20, 20), [0i64; 0]);
    assert_eq!(read(25, 20), [0i64; 0]);
}

#[test]
fn gaps_are_skipped() {
    let mut harness = Harness::small();
    for base_offset in [5, 6, 100, 200] {
        harness.log.append_as_follower(&TestBatch::at(base_offset).bytes(), 0, 0).unwrap();
    }
    assert_eq!(harness.offsets(0, usize::MAX), [5, 6, 100, 200]);
    assert_eq!(harness.offsets(50, usize::MAX), [100, 200]);
}

#[test]
fn a_slice_outlives_its_segment() {
    let mut harness = Harness::small();
    harness.append_many(30);
    harness.log.update_high_watermark(30);
    let slice = harness.read(0, usize::MAX).unwrap().records.unwrap();
    harness.log.delete_records_before(20).unwrap();
    assert_eq!(harness.log.delete_old_segments(0).unwrap(), 1);
    assert_eq!(slice.read().unwrap().len(), slice.len);
    assert!(harness.read(0, usize::MAX).is_err());
}

#[test]
fn indexes_of_closed_logs_are_used() {
    let mut harness = Harness::small();
    harness.append_many(60);
    harness.log.close(0).unwrap();
    harness.reopen(true);
    assert_eq!(harness.log.log_end_offset(), 60);
    for offset in 0..60 {
        assert_eq!(harness.offsets(offset, 1), [offset]);
    }
}
