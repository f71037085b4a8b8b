//! Every message goes to bytes at every version of its schema and comes back as it was, as far as the version can carry it.

use bytes::Bytes;
use ottla_model::{BrokerId, ErrorCode, LeaderEpoch, Uuid};
use ottla_protocol::{Message, Records};

use super::*;
use crate::message::*;
use crate::replica::{OffsetAndEpoch, ReplicaKey, SupportedKRaftVersions};

fn wire(version: i16) -> Wire<'static> {
    Wire { cluster_id: "cluster", listener: "CONTROLLER", version }
}

fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(BrokerId(id), Uuid::from_u64_pair(1, id as u64))
}

fn endpoints() -> Endpoints {
    Endpoints::single("CONTROLLER", Endpoint { host: "node1".to_owned(), port: 9093 })
}

fn response(body: ResponseBody) -> Response {
    Response { error: ErrorCode::None, leader: leader(1, 7), leader_endpoints: endpoints(), body }
}

fn over_the_wire<M: Message>(message: &M, version: i16) -> M {
    M::from_bytes(message.to_bytes(version).expect("it can be written"), version).expect("it can be read")
}

#[test]
fn votes() {
    for version in 0..=2 {
        let wire = wire(version);
        let full = VoteRequest {
            epoch: LeaderEpoch(7),
            candidate: key(1),
            voter: Some(key(2)),
            last: OffsetAndEpoch::new(30, LeaderEpoch(6)),
            pre_vote: version == 2,
        };
        let bare = VoteRequest { candidate: ReplicaKey { directory_id: None, ..key(1) }, voter: None, ..full };
        let message = over_the_wire(&wire.write_vote_request(&full), version);
        assert_eq!(wire.read_vote_request(&message), Ok(if version == 0 { bare } else { full }));

        let answer = response(ResponseBody::Vote { granted: true });
        let message = over_the_wire(&wire.write_vote_response(&answer), version);
        let read = wire.read_vote_response(message).expect("about the metadata log");
        let without_endpoint = Response { leader_endpoints: Endpoints::default(), ..answer.clone() };
        assert_eq!(read, if version == 0 { without_endpoint } else { answer });
    }
    let foreign = Wire { cluster_id: "other", ..wire(1) };
    let vote = VoteRequest {
        epoch: LeaderEpoch(1),
        candidate: key(1),
        voter: None,
        last: OffsetAndEpoch::new(0, LeaderEpoch(0)),
        pre_vote: false,
    };
    assert_eq!(foreign.read_vote_request(&wire(1).write_vote_request(&vote)), Err(ErrorCode::InconsistentClusterId));
}

#[test]
fn beginnings_and_ends() {
    for version in 0..=1 {
        let wire = wire(version);
        let begin = BeginQuorumEpochRequest {
            epoch: LeaderEpoch(7),
            leader_id: BrokerId(1),
            leader_endpoints: if version == 0 { Endpoints::default() } else { endpoints() },
            voter: (version > 0).then(|| key(2)),
        };
        let full = BeginQuorumEpochRequest { leader_endpoints: endpoints(), voter: Some(key(2)), ..begin.clone() };
        let message = over_the_wire(&wire.write_begin_quorum_epoch_request(&full), version);
        assert_eq!(wire.read_begin_quorum_epoch_request(&message), Ok(begin));

        let successors = vec![key(3), key(2)];
        let by_id = successors.iter().map(|key| ReplicaKey { directory_id: None, ..*key }).collect();
        let end = EndQuorumEpochRequest {
            epoch: LeaderEpoch(7),
            leader_id: BrokerId(1),
            leader_endpoints: if version == 0 { Endpoints::default() } else { endpoints() },
            preferred_successors: if version == 0 { by_id } else { successors.clone() },
        };
        let full = EndQuorumEpochRequest { leader_endpoints: endpoints(), preferred_successors: successors, ..end.clone() };
        let message = over_the_wire(&wire.write_end_quorum_epoch_request(&full), version);
        assert_eq!(wire.read_end_quorum_epoch_request(&message), Ok(end));
    }
    let wire = wire(1);
    let answer = Response { error: ErrorCode::FencedLeaderEpoch, ..response(ResponseBody::BeginQuorumEpoch) };
    let message = over_the_wire(&wire.write_begin_quorum_epoch_response(&answer), 1);
    assert_eq!(wire.read_begin_quorum_epoch_response(message), Ok(answer));
    let answer = response(ResponseBody::EndQuorumEpoch);
    let message = over_the_wire(&wire.write_end_quorum_epoch_response(&answer), 1);
    assert_eq!(wire.read_end_quorum_epoch_response(message), Ok(answer));
}

#[test]
fn fetches() {
    for version in 12..=18 {
        let wire = wire(version);
        let full = FetchRequest {
            epoch: LeaderEpoch(7),
            replica: key(2),
            position: OffsetAndEpoch::new(30, LeaderEpoch(6)),
            high_watermark: Some(20),
            max_bytes: 1000,
            max_wait_ms: 500,
        };
        let mut expected = full;
        if version < 17 {
            expected.replica.directory_id = None;
        }
        if version < 18 {
            expected.high_watermark = Some(i64::MAX);
        }
        let message = over_the_wire(&wire.write_fetch_request(&full), version);
        assert_eq!(wire.read_fetch_request(&message), Ok(expected));

        let outcomes = [
            FetchOutcome::NoRecords,
            FetchOutcome::Records(Bytes::from_static(b"batches")),
            FetchOutcome::Diverging(OffsetAndEpoch::new(12, LeaderEpoch(3))),
            FetchOutcome::Snapshot(OffsetAndEpoch::new(25, LeaderEpoch(5))),
        ];
        for outcome in outcomes {
            let records = match &outcome {
                FetchOutcome::Records(bytes) => Records::Memory(bytes.clone()),
                _ => Records::default(),
            };
            let mut answer = response(ResponseBody::Fetch(FetchAnswer { high_watermark: Some(20), log_start_offset: 5, outcome }));
            let message = over_the_wire(&wire.write_fetch_response(&answer, records), version);
            if version < 16 {
                answer.leader_endpoints = Endpoints::default();
            }
            assert_eq!(wire.read_fetch_response(message), Ok(answer), "version {version}");
        }
    }
}

#[test]
fn snapshots() {
    for version in 0..=1 {
        let wire = wire(version);
        let full = FetchSnapshotRequest {
            epoch: LeaderEpoch(7),
            replica: key(2),
            snapshot_id: OffsetAndEpoch::new(25, LeaderEpoch(5)),
            position: 100,
            max_bytes: 1000,
        };
        let mut expected = full;
        if version == 0 {
            expected.replica.directory_id = None;
        }
        let message = over_the_wire(&wire.write_fetch_snapshot_request(&full), version);
        assert_eq!(wire.read_fetch_snapshot_request(&message), Ok(expected));

        let part = Bytes::from_static(b"part");
        let mut answer = response(ResponseBody::FetchSnapshot(FetchSnapshotAnswer {
            snapshot_id: Some(full.snapshot_id),
            size: 400,
            position: 100,
            part: SnapshotPart::Bytes(part.clone()),
        }));
        let message = over_the_wire(&wire.write_fetch_snapshot_response(&answer, Records::Memory(part)), version);
        if version == 0 {
            answer.leader_endpoints = Endpoints::default();
        }
        assert_eq!(wire.read_fetch_snapshot_response(message), Ok(answer));
    }
}

#[test]
fn voter_changes() {
    for version in 0..=1 {
        let wire = wire(version);
        let add = AddVoterRequest { voter: key(4), endpoints: endpoints(), ack_when_committed: version == 0 };
        let message = over_the_wire(&wire.write_add_raft_voter_request(&add, 1000), version);
        assert_eq!(wire.read_add_raft_voter_request(&message), Ok(add));
    }
    let wire = wire(0);
    let remove = RemoveVoterRequest { voter: key(4) };
    let message = over_the_wire(&wire.write_remove_raft_voter_request(&remove), 0);
    assert_eq!(wire.read_remove_raft_voter_request(&message), Ok(remove));
    let update = UpdateVoterRequest {
        epoch: LeaderEpoch(7),
        voter: key(4),
        endpoints: endpoints(),
        kraft_versions: SupportedKRaftVersions { min: 0, max: 1 },
    };
    let message = over_the_wire(&wire.write_update_raft_voter_request(&update), 0);
    assert_eq!(wire.read_update_raft_voter_request(&message), Ok(update));
    let answer = response(ResponseBody::UpdateVoter);
    let message = over_the_wire(&wire.write_update_raft_voter_response(&answer), 0);
    assert_eq!(wire.read_update_raft_voter_response(message), answer);
}
