//! Two metadata logs on disks of their own, whose messages go over the wire format: a leader, and an observer that follows it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use ottla_io::{Disk, MemoryDisk, PinnedFile};
use ottla_metadata::{MetadataRecord, MetadataVersion};
use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_protocol::messages::topic_record::TopicRecord;
use ottla_protocol::{Message, Records, RecordsPart};
use ottla_raft::wire::Wire;
use ottla_raft::{Caller, Endpoint, Endpoints, OffsetAndEpoch, RaftConfig, Request, RequestId, Response, ResponseBody, VoterSet};

use super::snapshot_writer::SnapshotQuorum;
use super::*;

#[derive(Debug, Default)]
struct Heard {
    snapshot: Option<OffsetAndEpoch>,
    topics: Vec<String>,
}

impl Heard {
    fn note(&mut self, records: Vec<MetadataRecord>) {
        self.topics.extend(records.into_iter().filter_map(|record| match record {
            MetadataRecord::Topic(topic) => Some(topic.name),
            _ => None,
        }));
    }
}

impl MetadataListener for Heard {
    fn on_bootstrap(&mut self, _: Vec<MetadataRecord>) {}

    fn on_snapshot(&mut self, snapshot: LoadedSnapshot) {
        self.snapshot = Some(snapshot.id);
        self.topics.clear();
        self.note(snapshot.records);
    }

    fn on_commit(&mut self, batch: CommittedBatch) {
        self.note(batch.records);
    }

    fn on_leader_change(&mut self, _: ottla_raft::LeaderAndEpoch) {}
}

fn endpoint(id: i32) -> Endpoint {
    Endpoint { host: format!("node{id}"), port: 9093 }
}

struct Replica {
    log: MetadataLog,
    heard: Heard,
}

fn replica(id: i32, is_voter: bool, now_ms: i64) -> Replica {
    let disk = Arc::new(MemoryDisk::new());
    let mut raft = RaftConfig::new("cluster", BrokerId(id), Uuid::from_u64_pair(1, id as u64));
    raft.endpoints = Endpoints::single("CONTROLLER", endpoint(id));
    raft.bootstrap_servers = vec![endpoint(1)];
    let directory = Path::new("/data").join(METADATA_PARTITION_DIR);
    disk.create_dir_all(&directory).expect("a directory");
    let snapshot = Snapshot {
        id: OffsetAndEpoch::BOOTSTRAP_SNAPSHOT,
        last_contained_log_timestamp_ms: 1,
        records: Vec::new(),
        version: MetadataVersion::LATEST,
    };
    let voters = is_voter.then(|| VoterSet::new([raft.local_voter()]));
    write_snapshot(disk.as_ref(), &directory, &snapshot, &SnapshotQuorum { kraft_version: 1, voters }, 1).expect("written");
    let mut heard = Heard::default();
    let options = MetadataLogOptions::new(PathBuf::from("/data"), raft);
    let log = MetadataLog::open(options, disk as Arc<dyn Disk>, now_ms, &mut heard).expect("it opens");
    Replica { log, heard }
}

impl Replica {
    fn append(&mut self, now_ms: i64, name: &str) {
        let record = TopicRecord { name: name.to_owned(), ..TopicRecord::default() };
        let append = Append {
            epoch: self.log.leader_and_epoch().epoch,
            records: vec![record.into()],
            version: MetadataVersion::LATEST,
            is_atomic: true,
        };
        self.log.append(now_ms, append, &mut self.heard).expect("appended");
    }
}

/// The bytes that a connection would send.
fn in_memory(records: &Records) -> Records {
    let Records::Parts(parts) = records else { return records.clone() };
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            RecordsPart::Memory(part) => bytes.extend_from_slice(part),
            RecordsPart::File(range) => {
                let file: Arc<PinnedFile> = Arc::clone(&range.file).downcast().expect("a pinned file");
                let start = bytes.len();
                bytes.resize(start + range.length, 0);
                let read = file.read_at(&mut bytes[start..], range.position).expect("readable");
                assert_eq!(read, range.length);
            }
        }
    }
    Records::Memory(Bytes::from(bytes))
}

/// Carries the observer's requests to the leader and the answers back, until the observer waits for news.
fn exchange(now_ms: i64, leader: &mut Replica, observer: &mut Replica) {
    let wire = Wire { cluster_id: "cluster", listener: "CONTROLLER", version: 1 };
    let fetch_wire = Wire { version: 18, ..wire };
    for number in 0.. {
        let Some(Outgoing::Request { to, correlation_id, request }) = observer.log.take_outgoing().expect("read").pop() else { return };
        let caller = Caller { id: RequestId(number), listener: "CONTROLLER".to_owned() };
        let request = match request {
            Request::Fetch(fetch) => {
                let message = fetch_wire.write_fetch_request(&fetch);
                let message = Message::from_bytes(message.to_bytes(18).expect("bytes"), 18).expect("a message");
                Request::Fetch(fetch_wire.read_fetch_request(&message).expect("about this cluster"))
            }
            other => other,
        };
        leader.log.handle_request(now_ms, caller, request, &mut leader.heard).expect("handled");
        let Some(Outgoing::Reply { response, records, .. }) = leader.log.take_outgoing().expect("read").pop() else { return };
        let response = over_the_wire(&wire, &fetch_wire, &response, &in_memory(&records));
        observer.log.handle_response(now_ms, &to, correlation_id, Ok(response), &mut observer.heard).expect("handled");
    }
}

fn over_the_wire(wire: &Wire<'_>, fetch_wire: &Wire<'_>, response: &Response, records: &Records) -> Response {
    match &response.body {
        ResponseBody::Fetch(_) => {
            let message = fetch_wire.write_fetch_response(response, records.clone());
            let message = Message::from_bytes(message.to_bytes(18).expect("bytes"), 18).expect("a message");
            fetch_wire.read_fetch_response(message).expect("about the metadata log")
        }
        ResponseBody::FetchSnapshot(_) => {
            let message = wire.write_fetch_snapshot_response(response, records.clone());
            let message = Message::from_bytes(message.to_bytes(1).expect("bytes"), 1).expect("a message");
            wire.read_fetch_snapshot_response(message).expect("about the metadata log")
        }
        _ => response.clone(),
    }
}

#[test]
fn an_observer_gets_what_the_leader_commits() {
    let mut leader = replica(1, true, 10);
    leader.append(11, "a");
    leader.append(12, "b");
    let mut observer = replica(2, false, 20);
    observer.log.tick(21, &mut observer.heard).expect("ticked");
    exchange(22, &mut leader, &mut observer);
    assert_eq!(observer.log.log_end_offset(), leader.log.log_end_offset());
    assert_eq!(observer.heard.topics, ["a", "b"]);
    assert_eq!(observer.log.leader_and_epoch(), leader.log.leader_and_epoch());

    leader.append(30, "c");
    let replies = leader.log.take_outgoing().expect("read");
    assert!(matches!(replies.as_slice(), [Outgoing::Reply { .. }]), "the fetch that waited is answered: {replies:?}");
}

#[test]
fn an_observer_that_is_far_behind_begins_with_a_snapshot() {
    let mut leader = replica(1, true, 10);
    leader.append(11, "a");
    let id = OffsetAndEpoch::new(leader.log.log_end_offset(), LeaderEpoch(1));
    // More than one part of a snapshot holds.
    let names = std::iter::once("a".to_owned()).chain((0..100).map(|number| format!("{number}{}", "x".repeat(20_000))));
    let records: Vec<_> = names.map(|name| MetadataRecord::Topic(TopicRecord { name, ..TopicRecord::default() })).collect();
    let snapshot = Snapshot { id, last_contained_log_timestamp_ms: 11, records, version: MetadataVersion::LATEST };
    leader.log.write_snapshot(12, &snapshot, &mut leader.heard).expect("written");
    leader.append(13, "b");
    let mut observer = replica(2, false, 20);
    observer.log.tick(21, &mut observer.heard).expect("ticked");
    exchange(22, &mut leader, &mut observer);
    assert_eq!(observer.heard.snapshot, Some(id));
    assert_eq!(observer.heard.topics.len(), 102);
    assert_eq!(observer.heard.topics.last().map(String::as_str), Some("b"));
    assert_eq!(observer.log.log_start_offset(), id.offset);
    assert_eq!(observer.log.log_end_offset(), leader.log.log_end_offset());
}
