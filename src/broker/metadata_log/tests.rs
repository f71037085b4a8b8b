//! The metadata log of one node on a disk in memory: append, restart, crash, snapshot, retention.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ottla_io::{Crash, Disk, Fault, MemoryDisk, Rng, SeededRng};
use ottla_metadata::{BootstrapMetadata, MetadataRecord, MetadataVersion};
use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_protocol::messages::topic_record::TopicRecord;
use ottla_raft::{LeaderAndEpoch, OffsetAndEpoch, RaftConfig, VoterSet};

use super::snapshot_writer::SnapshotQuorum;
use super::*;

const NODE: BrokerId = BrokerId(1);
const LOG_DIR: &str = "/data";

/// Notes down what it is told.
#[derive(Debug, Default)]
struct Heard {
    bootstrap: Vec<MetadataRecord>,
    snapshot: Option<LoadedSnapshot>,
    batches: Vec<CommittedBatch>,
    leaders: Vec<LeaderAndEpoch>,
    /// What was committed when this node was told that it leads.
    batches_before_leading: usize,
}

impl Heard {
    fn records(&self) -> Vec<MetadataRecord> {
        self.batches.iter().flat_map(|batch| batch.records.clone()).collect()
    }
}

impl MetadataListener for Heard {
    fn on_bootstrap(&mut self, records: Vec<MetadataRecord>) {
        self.bootstrap = records;
    }

    fn on_snapshot(&mut self, snapshot: LoadedSnapshot) {
        self.batches.clear();
        self.snapshot = Some(snapshot);
    }

    fn on_commit(&mut self, batch: CommittedBatch) {
        let follows = self.batches.last().is_none_or(|last| last.last_offset + 1 == batch.base_offset);
        assert!(follows, "{batch:?} does not follow what came before");
        self.batches.push(batch);
    }

    fn on_leader_change(&mut self, leader_and_epoch: LeaderAndEpoch) {
        self.leaders.push(leader_and_epoch);
        self.batches_before_leading = self.batches.len();
    }
}

fn raft() -> RaftConfig {
    RaftConfig::new("cluster", NODE, Uuid::from_u64_pair(1, 1))
}

fn options() -> MetadataLogOptions {
    MetadataLogOptions::new(PathBuf::from(LOG_DIR), raft())
}

/// A disk as `ottla storage format --standalone` leaves it.
fn formatted() -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::new());
    let directory = Path::new(LOG_DIR).join(METADATA_PARTITION_DIR);
    disk.create_dir_all(&directory).expect("a directory");
    for directory in [Path::new("/"), Path::new(LOG_DIR)] {
        disk.sync_dir(directory).expect("durable names");
    }
    let version = MetadataVersion::LATEST;
    let snapshot = Snapshot {
        id: OffsetAndEpoch::BOOTSTRAP_SNAPSHOT,
        last_contained_log_timestamp_ms: 1,
        records: BootstrapMetadata::with_default_features(version, "test").records().to_vec(),
        version,
    };
    let voters = Some(VoterSet::new([raft().local_voter()]));
    write_snapshot(disk.as_ref(), &directory, &snapshot, &SnapshotQuorum { kraft_version: 1, voters }, 2).expect("written");
    disk
}

fn open(disk: &Arc<MemoryDisk>, now_ms: i64) -> (MetadataLog, Heard) {
    let mut heard = Heard::default();
    let log = MetadataLog::open(options(), Arc::clone(disk) as Arc<dyn Disk>, now_ms, &mut heard).expect("it opens");
    (log, heard)
}

fn topic(name: &str) -> MetadataRecord {
    MetadataRecord::Topic(TopicRecord { name: name.to_owned(), topic_id: Uuid::from_u64_pair(7, 7), ..TopicRecord::default() })
}

fn append(log: &mut MetadataLog, heard: &mut Heard, names: &[&str]) -> i64 {
    let append = Append {
        epoch: log.leader_and_epoch().epoch,
        records: names.iter().map(|name| topic(name)).collect(),
        version: MetadataVersion::LATEST,
        is_atomic: true,
    };
    log.append(100, append, heard).expect("it is appended")
}

#[test]
fn a_new_node_leads_and_gets_its_bootstrap_records() {
    let disk = formatted();
    let (log, heard) = open(&disk, 10);
    let leadership = LeaderAndEpoch { leader_id: Some(NODE), epoch: LeaderEpoch(1) };
    assert_eq!(heard.leaders.last(), Some(&leadership));
    assert_eq!(heard.bootstrap, BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "test").records());
    assert_eq!(log.log_end_offset(), 3, "leader change, kraft.version and voters");
    assert_eq!(log.high_watermark(), Some(3));
    assert_eq!(heard.batches.len(), 1);
    assert_eq!(heard.records(), []);
    let state = ottla_io::read_file(disk.as_ref(), &Path::new(LOG_DIR).join(METADATA_PARTITION_DIR).join(QUORUM_STATE_FILE));
    let state = state.expect("readable").expect("there");
    let expected = r#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;
    assert_eq!(String::from_utf8(state).expect("JSON"), expected);
}

#[test]
fn a_directory_that_an_older_kafka_has_formatted_begins_with_its_own_file() {
    let disk = Arc::new(MemoryDisk::new());
    let directory = Path::new(LOG_DIR).join(METADATA_PARTITION_DIR);
    disk.create_dir_all(&directory).expect("a directory");
    let id = OffsetAndEpoch::BOOTSTRAP_SNAPSHOT;
    let mut snapshot = Snapshot { id, last_contained_log_timestamp_ms: 1, records: Vec::new(), version: MetadataVersion::LATEST };
    let quorum = SnapshotQuorum { kraft_version: 1, voters: Some(VoterSet::new([raft().local_voter()])) };
    write_snapshot(disk.as_ref(), &directory, &snapshot, &quorum, 2).expect("written");
    snapshot.records = vec![topic("first")];
    write_snapshot(disk.as_ref(), Path::new(LOG_DIR), &snapshot, &quorum, 2).expect("written");
    let from = Path::new(LOG_DIR).join(snapshot_file_name(id));
    disk.rename(&from, &Path::new(LOG_DIR).join("bootstrap.checkpoint")).expect("renamed");
    let (_, heard) = open(&disk, 10);
    assert_eq!(heard.bootstrap, [topic("first")]);
}

#[test]
fn what_is_appended_is_committed_and_outlives_a_crash() {
    let disk = formatted();
    let (mut log, mut heard) = open(&disk, 10);
    assert_eq!(append(&mut log, &mut heard, &["a", "b"]), 4);
    assert_eq!(append(&mut log, &mut heard, &["c"]), 5);
    assert_eq!(heard.records(), [topic("a"), topic("b"), topic("c")]);
    drop(log);
    disk.crash(Crash::LoseUnsynced);

    let (log, heard) = open(&disk, 20);
    assert_eq!(heard.records(), [topic("a"), topic("b"), topic("c")]);
    assert_eq!(heard.leaders.last(), Some(&LeaderAndEpoch { leader_id: Some(NODE), epoch: LeaderEpoch(2) }));
    assert_eq!(heard.batches_before_leading, 4, "all that is older, and the new epoch's own first record");
    assert_eq!(log.log_end_offset(), 7);
}

#[test]
fn a_controller_that_leads_no_more_appends_nothing() {
    let disk = formatted();
    let (mut log, mut heard) = open(&disk, 10);
    let stale = Append { epoch: LeaderEpoch(0), records: vec![topic("a")], version: MetadataVersion::LATEST, is_atomic: true };
    let error = log.append(11, stale, &mut heard).expect_err("the epoch is over");
    assert!(matches!(error, AppendError::NotLeader { epoch: LeaderEpoch(0), current_epoch: LeaderEpoch(1), .. }), "{error}");
    assert_eq!(log.log_end_offset(), 3);
}

#[test]
fn records_that_need_not_stay_together_are_split() {
    let disk = formatted();
    let (mut log, mut heard) = open(&disk, 10);
    let long = "x".repeat(30_000);
    let records: Vec<_> = (0..300).map(|_| topic(&long)).collect();
    let append = |is_atomic| Append { epoch: LeaderEpoch(1), records: records.clone(), version: MetadataVersion::LATEST, is_atomic };
    let error = log.append(11, append(true), &mut heard).expect_err("9 MB are no batch");
    assert!(matches!(error, AppendError::TooLarge { bytes } if bytes > BATCH_BYTES_MAX), "{error}");
    assert_eq!(log.append(12, append(false), &mut heard).expect("two batches"), 302);
    assert_eq!(heard.batches.len(), 3);
    assert_eq!(heard.records().len(), 300);
}

#[test]
fn a_restart_begins_with_the_latest_snapshot() {
    let disk = formatted();
    let (mut log, mut heard) = open(&disk, 10);
    append(&mut log, &mut heard, &["a", "b"]);
    let id = OffsetAndEpoch::new(5, LeaderEpoch(1));
    let snapshot =
        Snapshot { id, last_contained_log_timestamp_ms: 100, records: vec![topic("a"), topic("b")], version: MetadataVersion::LATEST };
    log.write_snapshot(200, &snapshot, &mut heard).expect("written");
    append(&mut log, &mut heard, &["c"]);
    log.close(300).expect("closed");
    drop(log);

    let (_, heard) = open(&disk, 400);
    let expected = LoadedSnapshot { id, last_contained_log_timestamp_ms: 100, records: vec![topic("a"), topic("b")] };
    assert_eq!(heard.snapshot, Some(expected));
    assert_eq!(heard.bootstrap, []);
    assert_eq!(heard.records(), [topic("c")]);
}

#[test]
fn a_snapshot_of_what_is_not_committed_is_refused() {
    let disk = formatted();
    let (mut log, mut heard) = open(&disk, 10);
    let id = OffsetAndEpoch::new(4, LeaderEpoch(1));
    let snapshot = Snapshot { id, last_contained_log_timestamp_ms: 1, records: Vec::new(), version: MetadataVersion::LATEST };
    let error = log.write_snapshot(20, &snapshot, &mut heard).expect_err("the log ends at 3");
    assert!(matches!(error, MetadataLogError::SnapshotPosition { offset: 4, .. }), "{error}");
}

#[test]
fn enough_records_want_a_snapshot() {
    let disk = formatted();
    let mut heard = Heard::default();
    let options = MetadataLogOptions { max_record_bytes_between_snapshots: 5000, ..options() };
    let mut log = MetadataLog::open(options, disk, 10, &mut heard).expect("it opens");
    assert!(!log.wants_snapshot(11));
    append(&mut log, &mut heard, &[&"x".repeat(6000)]);
    assert!(log.wants_snapshot(11));
    let id = OffsetAndEpoch::new(4, LeaderEpoch(1));
    let snapshot = Snapshot { id, last_contained_log_timestamp_ms: 1, records: Vec::new(), version: MetadataVersion::LATEST };
    log.write_snapshot(20, &snapshot, &mut heard).expect("written");
    assert!(!log.wants_snapshot(21));
    append(&mut log, &mut heard, &["a"]);
    assert!(log.wants_snapshot(20 + 60 * 60 * 1000), "an hour is long enough for any record");
}

#[test]
fn retention_deletes_what_a_newer_snapshot_has() {
    let disk = formatted();
    let mut heard = Heard::default();
    let options = MetadataLogOptions { retention_ms: 1000, ..options() };
    let mut log = MetadataLog::open(options, Arc::clone(&disk) as Arc<dyn Disk>, 10, &mut heard).expect("it opens");
    append(&mut log, &mut heard, &["a"]);
    for (offset, now_ms) in [(3, 100), (4, 200)] {
        let id = OffsetAndEpoch::new(offset, LeaderEpoch(1));
        let snapshot =
            Snapshot { id, last_contained_log_timestamp_ms: now_ms, records: vec![topic("a")], version: MetadataVersion::LATEST };
        log.write_snapshot(now_ms, &snapshot, &mut heard).expect("written");
    }
    log.tick(60_000, &mut heard).expect("retention has not looked yet");
    assert_eq!(log.log_start_offset(), 0);
    log.tick(log.next_deadline_ms().max(61_000), &mut heard).expect("retention looks");
    assert_eq!(log.log_start_offset(), 4);
    let names = disk.read_dir(&Path::new(LOG_DIR).join(METADATA_PARTITION_DIR)).expect("a directory");
    let snapshots: Vec<_> = names.iter().filter(|entry| entry.name.ends_with(".checkpoint")).map(|entry| &entry.name).collect();
    assert_eq!(snapshots, ["00000000000000000004-0000000001.checkpoint"]);
}

#[test]
fn a_damaged_snapshot_stops_the_start() {
    let disk = formatted();
    let path = Path::new(LOG_DIR).join(METADATA_PARTITION_DIR).join("00000000000000000000-0000000000.checkpoint");
    let mut bytes = ottla_io::read_file(disk.as_ref(), &path).expect("readable").expect("there");
    let end = bytes.len();
    bytes[end - 80] ^= 1;
    ottla_io::write_file(disk.as_ref(), &path, &bytes).expect("written");
    let error = MetadataLog::open(options(), Arc::clone(&disk) as Arc<dyn Disk>, 10, &mut Heard::default()).expect_err("a wrong checksum");
    assert!(matches!(error, MetadataLogError::Damaged { .. }), "{error}");
    bytes[end - 80] ^= 1;
    bytes.truncate(end - 75);
    ottla_io::write_file(disk.as_ref(), &path, &bytes).expect("written");
    let error = MetadataLog::open(options(), disk, 10, &mut Heard::default()).expect_err("no footer");
    assert!(matches!(error, MetadataLogError::IncompleteSnapshot { .. }), "{error}");
}

/// What was committed, as the names of topics, in a life that ends with a crash.
fn one_life(disk: &Arc<MemoryDisk>, random: &mut SeededRng, committed: &mut Vec<String>, seed: u64) {
    let (mut log, mut heard) = open(disk, 10);
    let in_snapshot = heard.snapshot.iter().flat_map(|snapshot| snapshot.records.clone());
    let found: Vec<_> = in_snapshot.chain(heard.records()).map(|record| name_of(&record)).collect();
    assert_eq!(found, *committed, "seed {seed}");
    for _ in 0..random.below(8) {
        let names: Vec<_> = (0..=random.below(3)).map(|number| format!("{}-{number}", committed.len())).collect();
        append(&mut log, &mut heard, &names.iter().map(String::as_str).collect::<Vec<_>>());
        committed.extend(names);
        if random.below(4) == 0 {
            let id = OffsetAndEpoch::new(log.log_end_offset(), log.leader_and_epoch().epoch);
            let records = committed.iter().map(|name| topic(name)).collect();
            let snapshot = Snapshot { id, last_contained_log_timestamp_ms: 1, records, version: MetadataVersion::LATEST };
            log.write_snapshot(20, &snapshot, &mut heard).expect("written");
        }
    }
}

fn name_of(record: &MetadataRecord) -> String {
    match record {
        MetadataRecord::Topic(topic) => topic.name.clone(),
        other => panic!("only topics are appended: {other:?}"),
    }
}

#[test]
fn crashes_lose_nothing_that_was_committed() {
    for seed in 0..60 {
        let disk = formatted();
        let mut random = SeededRng::new(seed);
        let mut committed = Vec::new();
        for life in 0..4 {
            one_life(&disk, &mut random, &mut committed, seed);
            disk.crash(if life % 2 == 0 { Crash::KeepSome(seed * 10 + life) } else { Crash::LoseUnsynced });
        }
    }
}

/// Opens and appends until the disk refuses. Answers what was acknowledged.
fn until_refused(disk: &Arc<MemoryDisk>) -> Vec<String> {
    let mut heard = Heard::default();
    let mut acknowledged = Vec::new();
    let Ok(mut log) = MetadataLog::open(options(), Arc::clone(disk) as Arc<dyn Disk>, 10, &mut heard) else { return acknowledged };
    for number in 0..20 {
        let name = number.to_string();
        let append = Append { epoch: LeaderEpoch(1), records: vec![topic(&name)], version: MetadataVersion::LATEST, is_atomic: true };
        match log.append(20, append, &mut heard) {
            Ok(_) => acknowledged.push(name),
            Err(error) => {
                assert!(matches!(error, AppendError::Log(_)), "{error}");
                break;
            }
        }
    }
    acknowledged
}

#[test]
fn a_disk_that_fails_loses_nothing_that_was_acknowledged() {
    let mut failed_while_opening = 0;
    for operations in 0..70 {
        let disk = formatted();
        disk.fail_after(operations, if operations % 2 == 0 { Fault::InputOutput } else { Fault::DiskFull });
        let acknowledged = until_refused(&disk);
        failed_while_opening += u32::from(acknowledged.is_empty());
        disk.crash(Crash::LoseUnsynced);
        let (_, heard) = open(&disk, 30);
        let found: Vec<_> = heard.records().iter().map(name_of).collect();
        assert!(found.starts_with(&acknowledged), "after {operations} operations: {found:?} of {acknowledged:?}");
    }
    assert!((5..40).contains(&failed_while_opening), "the faults hit opening and appending: {failed_while_opening}");
}
