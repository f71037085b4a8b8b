//! Which segments retention deletes, and when their files go.

use std::path::Path;

use ottla_io::Disk;

use crate::log::harness::{DIR, Harness};
use crate::test_batches::TestBatch;
use crate::{CleanupPolicy, LogConfig};

const SMALL: u32 = 1000;

fn harness(config: LogConfig) -> Harness {
    Harness::new(LogConfig { segment_bytes: SMALL, file_delete_delay_ms: 60_000, ..config })
}

fn fill(harness: &mut Harness, timestamps: &[i64]) {
    for &timestamp in timestamps {
        for _ in 0..12 {
            harness.append(&TestBatch::at(0).timestamps(&[timestamp])).unwrap();
        }
    }
    let end = harness.log.log_end_offset();
    harness.log.update_high_watermark(end);
}

fn files(harness: &Harness) -> Vec<String> {
    let mut names: Vec<String> = harness.disk.read_dir(Path::new(DIR)).unwrap().into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

#[test]
fn by_age() {
    let mut harness = harness(LogConfig { retention_ms: 100, ..LogConfig::default() });
    fill(&mut harness, &[1000, 1050, 1100]);
    assert_eq!(harness.log.delete_old_segments(1100).unwrap(), 0);
    assert_eq!(harness.log.delete_old_segments(1151).unwrap(), 2);
    assert_eq!((harness.log.log_start_offset(), harness.log.number_of_segments()), (24, 1));
    assert_eq!(harness.log.delete_old_segments(5000).unwrap(), 1, "the active segment too");
    assert_eq!((harness.log.log_start_offset(), harness.log.log_end_offset(), harness.log.number_of_segments()), (36, 36, 1));
    assert_eq!(harness.log.delete_old_segments(9000).unwrap(), 0, "an empty active segment stays");
}

#[test]
fn by_size() {
    let mut harness = harness(LogConfig { retention_bytes: 2000, ..LogConfig::default() });
    fill(&mut harness, &[1000; 5]);
    // Five segments of 936 bytes: 4680; two of them can go before the rest is below 2000.
    assert_eq!(harness.log.delete_old_segments(1000).unwrap(), 2);
    assert_eq!(harness.log.size_in_bytes(), 2808);
    assert_eq!(harness.log.delete_old_segments(1000).unwrap(), 0);
}

#[test]
fn what_is_not_below_the_high_watermark_stays() {
    let mut harness = harness(LogConfig { retention_ms: 0, ..LogConfig::default() });
    fill(&mut harness, &[1000; 3]);
    harness.log.update_high_watermark(20);
    assert_eq!(harness.log.delete_old_segments(5000).unwrap(), 1);
}

#[test]
fn compacted_logs_only_lose_what_lies_below_their_start() {
    let policy = CleanupPolicy { delete: false, compact: true };
    let mut harness = harness(LogConfig { retention_ms: 0, cleanup_policy: policy, ..LogConfig::default() });
    fill(&mut harness, &[1000; 3]);
    assert_eq!(harness.log.delete_old_segments(5000).unwrap(), 0);
    harness.log.delete_records_before(13).unwrap();
    assert_eq!(harness.log.delete_old_segments(5000).unwrap(), 1);
}

#[test]
fn files_go_after_the_delay() {
    let mut harness = harness(LogConfig { retention_ms: 100, ..LogConfig::default() });
    fill(&mut harness, &[1000, 9000]);
    harness.log.delete_old_segments(2000).unwrap();
    let deleted: Vec<String> = files(&harness).into_iter().filter(|name| name.ends_with(".deleted")).collect();
    let zero = "0".repeat(20);
    assert_eq!(deleted, [format!("{zero}.index.deleted"), format!("{zero}.log.deleted"), format!("{zero}.timeindex.deleted")]);
    harness.log.upkeep(61_999).unwrap();
    assert!(files(&harness).iter().any(|name| name.ends_with(".deleted")));
    harness.log.upkeep(62_000).unwrap();
    assert!(!files(&harness).iter().any(|name| name.ends_with(".deleted")));
}

#[test]
fn records_without_timestamps_age_by_their_file() {
    let mut harness = harness(LogConfig { retention_ms: 100, ..LogConfig::default() });
    harness.disk.set_time_ms(500);
    harness.now_ms = 500;
    fill(&mut harness, &[-1]);
    harness.log.roll(500).unwrap();
    harness.reopen(false);
    harness.log.update_high_watermark(12);
    assert_eq!(harness.log.delete_old_segments(600).unwrap(), 0);
    assert_eq!(harness.log.delete_old_segments(601).unwrap(), 1);
}
