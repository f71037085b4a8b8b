//! The manager over several directories on a disk in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Crash, Disk, Fault, HandleLimit, MemoryDisk, RealDisk, SeededRng, read_file, write_file};
use ottla_model::{BrokerId, TopicPartition, Uuid};

use super::{LogManager, LogManagerConfig, OpenError};
use crate::append::{AppendOrigin, AppendRequest};
use crate::test_batches::{TestBatch, to_append};
use crate::{CreateLogError, LogConfig, MetaProperties};

const TOPIC: Uuid = Uuid::from_u64_pair(7, 7);

fn open_with(disk: &MemoryDisk, now_ms: i64) -> Result<LogManager, OpenError> {
    let config = LogManagerConfig::new(vec![PathBuf::from("/a"), PathBuf::from("/b")]);
    LogManager::open(config, &|_| None, Arc::new(disk.clone()), Box::new(SeededRng::new(1)), now_ms)
}

fn open(disk: &MemoryDisk) -> LogManager {
    open_with(disk, 0).unwrap()
}

fn partition(number: i32) -> TopicPartition {
    TopicPartition::new("t", number)
}

fn create(manager: &LogManager, number: i32) -> crate::SharedLog {
    manager.get_or_create(&partition(number), TOPIC, &Arc::new(LogConfig::default()), 0).unwrap()
}

fn append(manager: &LogManager, number: i32) {
    let bytes = TestBatch::at(0).bytes();
    let request = AppendRequest {
        batches: &[to_append(&bytes)],
        origin: AppendOrigin::Client,
        leader_epoch: 0,
        now_ms: 0,
        transaction: Default::default(),
    };
    let log = manager.get(&partition(number)).unwrap();
    let mut log = log.lock();
    let info = log.append_as_leader(&request).unwrap();
    log.update_high_watermark(info.last_offset + 1);
}

fn end(manager: &LogManager, number: i32) -> i64 {
    manager.get(&partition(number)).unwrap().lock().log_end_offset()
}

fn text(disk: &MemoryDisk, path: &str) -> String {
    String::from_utf8(read_file(disk, Path::new(path)).unwrap().unwrap_or_default()).unwrap()
}

fn names(disk: &MemoryDisk, dir: &str) -> Vec<String> {
    let mut names: Vec<String> = disk.read_dir(Path::new(dir)).unwrap().into_iter().map(|entry| entry.name).collect();
    names.sort();
    names
}

#[test]
fn logs_are_spread_and_found_again() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    for number in 0..4 {
        create(&manager, number);
        for _ in 0..=number {
            append(&manager, number);
        }
    }
    assert_eq!(manager.partitions(), (0..4).map(partition).collect::<Vec<_>>());
    let sizes: Vec<usize> = manager.log_dirs().iter().map(|dir| dir.partitions.len()).collect();
    assert_eq!(sizes, [2, 2]);
    manager.close(42, 0).unwrap();
    assert_eq!(text(&disk, "/a/.kafka_cleanshutdown"), r#"{"version":0,"brokerEpoch":42}"#);
    assert_eq!(text(&disk, "/a/recovery-point-offset-checkpoint"), "0\n2\nt 0 1\nt 2 3\n");
    assert_eq!(text(&disk, "/b/replication-offset-checkpoint"), "0\n2\nt 1 2\nt 3 4\n");
    assert_eq!(text(&disk, "/b/log-start-offset-checkpoint"), "0\n0\n");
    assert_eq!(text(&disk, "/a/t-0/partition.metadata"), format!("version: 0\ntopic_id: {TOPIC}"));
    drop(manager);
    let manager = open(&disk);
    assert!(!names(&disk, "/a").contains(&".kafka_cleanshutdown".to_owned()));
    for number in 0..4 {
        assert_eq!(end(&manager, number), i64::from(number) + 1);
        let log = manager.get(&partition(number)).unwrap();
        assert_eq!(log.lock().high_watermark(), i64::from(number) + 1);
        assert_eq!(log.lock().topic_id(), Some(TOPIC));
    }
}

#[test]
fn a_kill_loses_nothing() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    create(&manager, 0);
    for _ in 0..5 {
        append(&manager, 0);
    }
    manager.tick(10_000);
    append(&manager, 0);
    disk.crash(Crash::KeepAll);
    std::mem::forget(manager);
    let manager = open(&disk);
    assert_eq!(end(&manager, 0), 6);
    assert_eq!(manager.get(&partition(0)).unwrap().lock().high_watermark(), 5, "from the checkpoint");
}

#[test]
fn deleted_logs_go_after_the_delay() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    let log = create(&manager, 0);
    append(&manager, 0);
    assert!(manager.delete(&partition(0), 1000).unwrap());
    assert!(!manager.delete(&partition(0), 1000).unwrap());
    assert!(manager.get(&partition(0)).is_none());
    assert!(log.lock().prepare_flush().is_err(), "a deleted log does nothing any more");
    assert!(manager.offline_dirs().is_empty(), "and nobody is to blame");
    let deleted = names(&disk, "/a").into_iter().find(|name| name.ends_with("-delete")).unwrap();
    assert!(deleted.starts_with("t-0."), "{deleted}");
    create(&manager, 0);
    assert_eq!(end(&manager, 0), 0);
    manager.tick(60_999);
    assert!(names(&disk, "/a").contains(&deleted));
    manager.tick(62_000);
    assert!(!names(&disk, "/a").contains(&deleted));
}

#[test]
fn a_deletion_is_finished_after_a_restart() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    create(&manager, 0);
    manager.delete(&partition(0), 0).unwrap();
    manager.close(0, 0).unwrap();
    drop(manager);
    let manager = open(&disk);
    assert!(manager.partitions().is_empty());
    manager.tick(1);
    assert!(!names(&disk, "/a").iter().any(|name| name.ends_with("-delete")));
}

#[test]
fn a_topic_of_the_same_name_is_another() {
    let manager = open(&MemoryDisk::new());
    create(&manager, 0);
    let other = manager.get_or_create(&partition(0), Uuid::from_u64_pair(8, 8), &Arc::default(), 0);
    assert!(matches!(other, Err(CreateLogError::InconsistentTopicId { found: TOPIC, .. })));
}

#[test]
fn what_cannot_be_opened_is_named() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    assert!(matches!(open_with(&disk, 0), Err(OpenError::Locked(path)) if path == Path::new("/a")));
    create(&manager, 0);
    drop(manager);
    disk.create_dir_all(Path::new("/b/t-0")).unwrap();
    assert!(matches!(open_with(&disk, 0), Err(OpenError::DuplicatePartition { .. })));
    disk.remove_dir_all(Path::new("/b/t-0")).unwrap();
    disk.create_dir_all(Path::new("/b/photos")).unwrap();
    assert!(matches!(open_with(&disk, 0), Err(OpenError::ForeignDirectory(path)) if path == Path::new("/b/photos")));
    disk.remove_dir_all(Path::new("/b/photos")).unwrap();
    write_file(&disk, Path::new("/b/meta.properties"), b"version=1\n").unwrap();
    assert!(matches!(open_with(&disk, 0), Err(OpenError::MetaProperties(_))));
}

#[test]
fn the_metadata_log_and_foreign_files_are_left_alone() {
    let disk = MemoryDisk::new();
    for dir in ["/a/__cluster_metadata-0", "/a/remote-log-index-cache", "/a/t-1.abc-stray", "/a/t-2.abc-future"] {
        disk.create_dir_all(Path::new(dir)).unwrap();
    }
    write_file(&disk, Path::new("/a/bootstrap.checkpoint"), b"").unwrap();
    let manager = open(&disk);
    assert!(manager.partitions().is_empty());
    assert_eq!(names(&disk, "/a").len(), 6, "five and the lock");
}

#[test]
fn a_failed_directory_does_not_take_the_others_along() {
    let disk = MemoryDisk::new();
    let properties = MetaProperties {
        version: 1,
        cluster_id: Some("c".to_owned()),
        node_id: Some(BrokerId(1)),
        directory_id: Some(Uuid::from_u64_pair(3, 3)),
    };
    disk.create_dir_all(Path::new("/b")).unwrap();
    properties.write(&disk, Path::new("/b")).unwrap();
    let manager = open(&disk);
    create(&manager, 0);
    create(&manager, 1);
    disk.fail_after(0, Fault::InputOutput);
    let bytes = TestBatch::at(0).bytes();
    assert!(manager.get(&partition(0)).unwrap().lock().append_as_follower(&bytes, 0, 0).is_err());
    disk.heal();
    assert_eq!(manager.offline_dirs(), [PathBuf::from("/a")]);
    assert_eq!(manager.directory_ids(), [(PathBuf::from("/b"), Some(Uuid::from_u64_pair(3, 3)))]);
    assert_eq!(manager.directory_id_of(&partition(1)), Some(Uuid::from_u64_pair(3, 3)));
    append(&manager, 1);
    create(&manager, 2);
    let dirs = manager.log_dirs();
    assert!(dirs[0].error.as_deref().unwrap().contains("append records"), "{:?}", dirs[0].error);
    assert_eq!((dirs[0].partitions.len(), dirs[1].partitions.len()), (0, 2));
    manager.close(0, 0).unwrap();
    assert!(!names(&disk, "/a").contains(&".kafka_cleanshutdown".to_owned()));
    assert!(names(&disk, "/b").contains(&".kafka_cleanshutdown".to_owned()));
}

#[test]
fn no_directory_is_an_error() {
    let disk = MemoryDisk::new();
    disk.fail_after(0, Fault::InputOutput);
    assert!(matches!(open_with(&disk, 0), Err(OpenError::AllOffline(_))));
}

#[test]
fn time_brings_retention_flushes_and_checkpoints() {
    let disk = MemoryDisk::new();
    let manager = open(&disk);
    let config = LogConfig { flush_ms: 500, retention_ms: 100, ..LogConfig::default() };
    manager.get_or_create(&partition(0), TOPIC, &Arc::new(config.clone()), 0).unwrap();
    append(&manager, 0);
    let log = manager.get(&partition(0)).unwrap();
    manager.tick(100);
    assert_eq!(log.lock().recovery_point(), 0);
    manager.tick(1200);
    assert_eq!(log.lock().recovery_point(), 1, "flush.ms");
    manager.tick(61_000);
    assert_eq!(text(&disk, "/a/recovery-point-offset-checkpoint"), "0\n1\nt 0 1\n");
    assert_eq!(log.lock().log_start_offset(), 1, "retention.ms");
    manager.update_config("t", &Arc::new(LogConfig { retention_ms: -1, ..config }));
    assert_eq!(log.lock().config().retention_ms, -1);
    append(&manager, 0);
    manager.tick(700_000);
    assert_eq!(log.lock().log_start_offset(), 1);
}

#[test]
fn many_logs_need_few_handles() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::new(HandleLimit(20)));
    let open = || {
        let config = LogManagerConfig::new(vec![dir.path().to_owned()]);
        LogManager::open(config, &|_| None, disk.clone(), Box::new(SeededRng::new(1)), 0).unwrap()
    };
    let manager = open();
    for number in 0..200 {
        create(&manager, number);
        append(&manager, number);
    }
    for number in 0..200 {
        append(&manager, number);
    }
    // Others of this process have files open too, but not six hundred.
    let open_files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(open_files < 300, "{open_files} files are open");
    manager.close(0, 0).unwrap();
    drop(manager);
    let manager = open();
    assert!((0..200).all(|number| end(&manager, number) == 2));
}
