//! Whole cleanings on a disk in memory, against a model that keeps the last record of each key.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Crash, Disk, Fault, MemoryDisk, Rng, SeededRng, read_file};
use ottla_model::{TopicPartition, Uuid};
use ottla_record::{BatchBuilder, BatchSettings, Batches, DecompressionBuffers, NewRecord, RecordReader};

use crate::append::{AppendOrigin, AppendRequest};
use crate::test_batches::to_append;
use crate::{CleanOutcome, CleanupPolicy, LogConfig, LogManager, LogManagerConfig, ReadRequest};

type Survivors = Vec<(i64, Vec<u8>, Option<Vec<u8>>)>;

fn config() -> Arc<LogConfig> {
    Arc::new(LogConfig {
        segment_bytes: 600,
        index_interval_bytes: 100,
        cleanup_policy: CleanupPolicy { delete: false, compact: true },
        min_cleanable_dirty_ratio: 0.0,
        delete_retention_ms: 1000,
        ..LogConfig::default()
    })
}

fn open(disk: &MemoryDisk, now_ms: i64) -> LogManager {
    let manager_config = LogManagerConfig::new(vec![PathBuf::from("/a")]);
    let log_config = config();
    LogManager::open(manager_config, &|_| Some(log_config.clone()), Arc::new(disk.clone()), Box::new(SeededRng::new(1)), now_ms).unwrap()
}

fn partition() -> TopicPartition {
    TopicPartition::new("t", 0)
}

/// A log that random keys, some of them with tombstones, were written to; and all that was written.
fn filled(disk: &MemoryDisk, seed: u64) -> (LogManager, Survivors) {
    let manager = open(disk, 0);
    let log = manager.get_or_create(&partition(), Uuid::from_u64_pair(7, 7), &config(), 0).unwrap();
    let mut rng = SeededRng::new(seed);
    let mut written = Survivors::new();
    for _ in 0..60 {
        let mut builder = BatchBuilder::new(BatchSettings::default()).unwrap();
        for _ in 0..1 + rng.next_u64() % 3 {
            let key = format!("k{}", rng.next_u64() % 9).into_bytes();
            let value = (!rng.next_u64().is_multiple_of(4)).then(|| format!("v{}", rng.next_u64()).into_bytes());
            builder.append(&NewRecord { timestamp: 5, key: Some(&key), value: value.as_deref(), headers: &[] }).unwrap();
            written.push((written.len() as i64, key, value));
        }
        let bytes = builder.build().unwrap();
        let batches = [to_append(&bytes)];
        let request =
            AppendRequest { batches: &batches, origin: AppendOrigin::Client, leader_epoch: 0, now_ms: 0, transaction: Default::default() };
        let mut log = log.lock();
        let info = log.append_as_leader(&request).unwrap();
        log.update_high_watermark(info.last_offset + 1);
    }
    crate::flush_to(&log, written.len() as i64, 0).unwrap();
    (manager, written)
}

/// All records, read as a consumer does from the log start to the end.
fn read_all(manager: &LogManager) -> Survivors {
    let log = manager.get(&partition()).unwrap();
    let log = log.lock();
    let mut records = Survivors::new();
    let mut offset = 0;
    while offset < log.log_end_offset() {
        let request = ReadRequest { offset, max_bytes: 500, end_offset: i64::MAX, at_least_one_batch: true, include_aborted: true };
        let bytes = log.read(request).unwrap().records.expect("records up to the end offset").read().unwrap();
        for batch in Batches::new(&bytes) {
            let batch = batch.unwrap();
            ottla_record::check_crc(&batch.header, batch.bytes).unwrap();
            let mut buffers = DecompressionBuffers::default();
            let mut reader = RecordReader::new(&batch, &mut buffers).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                records.push((record.offset, record.key.unwrap().to_vec(), record.value.map(<[u8]>::to_vec)));
            }
            offset = batch.header.next_offset();
        }
    }
    records
}

/// What is left of the records when those below `end_offset` are compacted.
fn model(written: &Survivors, end_offset: i64, keeps_tombstones: bool) -> Survivors {
    let mut last = BTreeMap::new();
    for (offset, key, _) in written.iter().filter(|(offset, ..)| *offset < end_offset) {
        last.insert(key.clone(), *offset);
    }
    let stays = |(offset, key, value): &&(i64, Vec<u8>, Option<Vec<u8>>)| {
        *offset >= end_offset || (last[key] == *offset && (keeps_tombstones || value.is_some()))
    };
    written.iter().filter(stays).cloned().collect()
}

fn clean(manager: &LogManager, now_ms: i64) -> CleanOutcome {
    manager.clean_once(now_ms, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn the_last_record_of_each_key_survives() {
    for seed in 0..20 {
        let disk = MemoryDisk::new();
        let (manager, written) = filled(&disk, seed);
        let CleanOutcome::Cleaned { end_offset, .. } = clean(&manager, 100) else { panic!("seed {seed}: nothing was cleaned") };
        assert!(end_offset > 40);
        assert_eq!(read_all(&manager), model(&written, end_offset, true), "seed {seed}");
        assert_eq!(clean(&manager, 100), CleanOutcome::Nothing);
        assert_eq!(manager.next_clean_ms(), Some(15_100));
        let checkpoint = read_file(&disk, Path::new("/a/cleaner-offset-checkpoint")).unwrap().unwrap();
        assert_eq!(String::from_utf8(checkpoint).unwrap(), format!("0\n1\nt 0 {end_offset}\n"));
    }
}

#[test]
fn a_crash_at_any_step_loses_nothing() {
    for step in 0..60 {
        let disk = MemoryDisk::new();
        let (manager, written) = filled(&disk, 3);
        disk.sync_dir(Path::new("/a")).unwrap();
        let CleanOutcome::Cleaned { end_offset, .. } = ({
            let other = MemoryDisk::new();
            clean(&filled(&other, 3).0, 100)
        }) else {
            panic!("nothing to clean")
        };
        disk.fail_after(step, Fault::InputOutput);
        clean(&manager, 100);
        disk.heal();
        let crash = if step % 2 == 0 { Crash::LoseUnsynced } else { Crash::KeepSome(step) };
        drop(manager);
        disk.crash(crash);
        let manager = open(&disk, 200);
        let log = manager.get(&partition()).unwrap();
        assert_eq!(log.lock().log_end_offset(), written.len() as i64, "step {step}");
        log.lock().update_high_watermark(i64::MAX);
        let found = read_all(&manager);
        let expected = model(&written, end_offset, true);
        assert!(expected.iter().all(|record| found.contains(record)), "step {step}: a survivor is missing");
        assert!(found.iter().all(|record| written.contains(record)), "step {step}: something was made up");
    }
}
