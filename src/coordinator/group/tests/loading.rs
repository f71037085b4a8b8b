//! What a shard makes of logs that it did not write: other group protocols, old records, records that are damaged.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use ottla_protocol::messages::consumer_group_metadata_key::ConsumerGroupMetadataKey;
use ottla_protocol::messages::group_metadata_key::GroupMetadataKey;
use ottla_protocol::messages::group_metadata_value::{GroupMetadataValue, MemberMetadata};
use ottla_protocol::messages::join_group_request::{JoinGroupRequest, JoinGroupRequestProtocol};
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_request::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::{DecodeError, Message};

use crate::group::{
    GroupCoordinatorConfig, GroupCoordinatorShard, GroupRequest, Outcome, RecordOrigin, RecordType, ReplayError, Replayed, RequestContext,
    RequestToken, Response,
};

const ORIGIN: RecordOrigin = RecordOrigin { offset: 0, producer_id: -1 };

fn shard() -> GroupCoordinatorShard {
    GroupCoordinatorShard::new(Arc::new(GroupCoordinatorConfig::default()))
}

fn key<K: Message>(key: &K) -> Bytes {
    versioned(key, K::API_KEY, 0)
}

fn value<V: Message>(value: &V, version: i16) -> Option<Bytes> {
    Some(versioned(value, version, version))
}

fn versioned<M: Message>(message: &M, prefix: i16, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_i16(prefix);
    bytes.put_slice(&message.to_bytes(version).unwrap());
    bytes.freeze()
}

fn consumer_group_key(group_id: &str) -> Bytes {
    key(&ConsumerGroupMetadataKey { group_id: group_id.into(), ..Default::default() })
}

fn offset_key(group_id: &str) -> Bytes {
    key(&OffsetCommitKey { group: group_id.into(), topic: "t".into(), partition: 0, ..Default::default() })
}

fn handle(shard: &mut GroupCoordinatorShard, request: GroupRequest) -> Outcome {
    let context = RequestContext { now_ms: 5, token: RequestToken(1), api_version: 9, client_id: "c", client_host: "/127.0.0.1" };
    shard.handle(&context, request)
}

fn join(group_id: &str) -> GroupRequest {
    let protocol = JoinGroupRequestProtocol { name: "range".into(), ..Default::default() };
    let request = JoinGroupRequest {
        group_id: group_id.into(),
        session_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![protocol],
        ..JoinGroupRequest::default()
    };
    GroupRequest::JoinGroup { request, new_member_uuid: ottla_model::Uuid::from_u64_pair(0, 1) }
}

fn listed(shard: &mut GroupCoordinatorShard) -> Vec<(String, String, String)> {
    let outcome = handle(shard, GroupRequest::ListGroups(ListGroupsRequest::default()));
    match &outcome.replies[0].response {
        Response::ListGroups(Ok(groups)) => {
            groups.iter().map(|group| (group.group_id.clone(), group.group_state.clone(), group.group_type.clone())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn join_error(shard: &mut GroupCoordinatorShard, group_id: &str) -> i16 {
    match &handle(shard, join(group_id)).replies[0].response {
        Response::JoinGroup(response) => response.error_code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn groups_of_other_protocols_are_known_and_left_alone() {
    let mut shard = shard();
    let offset = OffsetCommitValue { offset: 5, ..OffsetCommitValue::default() };
    // The offset may come first: compaction keeps no order between keys.
    assert_eq!(shard.replay(ORIGIN, offset_key("k"), value(&offset, 4)), Ok(Replayed::Applied));
    let skipped = Ok(Replayed::Skipped(RecordType::ConsumerGroupMetadata));
    assert_eq!(shard.replay(ORIGIN, consumer_group_key("k"), Some(Bytes::from_static(b"\0\0\0\0\0\x01\0"))), skipped);
    assert_eq!(listed(&mut shard), [("k".to_owned(), "Unknown".to_owned(), "consumer".to_owned())]);
    assert_eq!(join_error(&mut shard, "k"), 23);
    match &handle(&mut shard, GroupRequest::DeleteGroups(vec!["k".into()])).replies[0].response {
        Response::DeleteGroups(results) => assert_eq!(results[0].error_code, 68),
        other => panic!("{other:?}"),
    }
    // Its offsets do not expire either: nobody here knows who reads them.
    shard.on_loaded(0);
    assert_eq!(shard.tick(i64::MAX / 2).writes, []);

    assert_eq!(shard.replay(ORIGIN, consumer_group_key("k"), None), skipped);
    assert_eq!(join_error(&mut shard, "k"), 79);
}

#[test]
fn types_that_kafka_does_not_know_are_reported() {
    let mut shard = shard();
    assert_eq!(shard.replay(ORIGIN, Bytes::from_static(b"\0\x63\0\x01g"), None), Err(ReplayError::UnknownType(99)));
    assert_eq!(
        shard.replay(ORIGIN, Bytes::from_static(b"\0\x16\0\0"), Some(Bytes::new())),
        Ok(Replayed::Skipped(RecordType::StreamsGroupCurrentMemberAssignment))
    );
}

#[test]
fn damaged_records_are_reported_and_change_nothing() {
    let mut shard = shard();
    let unknown_version = Some(Bytes::from_static(b"\0\x05"));
    assert_eq!(
        shard.replay(ORIGIN, offset_key("g"), unknown_version),
        Err(ReplayError::Decode(DecodeError::UnsupportedVersion { message: "OffsetCommitValue", version: 5 }))
    );
    assert!(matches!(shard.replay(ORIGIN, Bytes::from_static(b"\0"), None), Err(ReplayError::Decode(_))));
    assert!(matches!(shard.replay(ORIGIN, offset_key("g"), Some(Bytes::from_static(b"\0\x04\0"))), Err(ReplayError::Decode(_))));
    let member = MemberMetadata { member_id: "m".into(), ..MemberMetadata::default() };
    let group = GroupMetadataValue { protocol: None, members: vec![member], ..GroupMetadataValue::default() };
    let group_key = key(&GroupMetadataKey { group: "g".into(), ..Default::default() });
    let expected = Err(ReplayError::MembersWithoutProtocol { group_id: "g".into() });
    assert_eq!(shard.replay(ORIGIN, group_key, value(&group, 3)), expected);
    assert_eq!(listed(&mut shard), []);
}

#[test]
fn records_of_all_versions_are_read() {
    for version in OffsetCommitValue::LOWEST_VERSION..=OffsetCommitValue::HIGHEST_VERSION {
        let mut shard = shard();
        let offset = OffsetCommitValue { offset: 5, metadata: "m".into(), commit_timestamp: 9, ..OffsetCommitValue::default() };
        assert_eq!(shard.replay(ORIGIN, offset_key("g"), value(&offset, version)), Ok(Replayed::Applied), "version {version}");
        assert_eq!(shard.offsets.get("g", "t", 0).map(|offset| (offset.committed_offset, offset.commit_timestamp_ms)), Some((5, 9)));
    }
    for version in GroupMetadataValue::LOWEST_VERSION..=GroupMetadataValue::HIGHEST_VERSION {
        let mut shard = shard();
        let member = MemberMetadata { member_id: "m".into(), session_timeout: 7_000, ..MemberMetadata::default() };
        let group = GroupMetadataValue {
            protocol_type: "consumer".into(),
            generation: 4,
            protocol: Some("range".into()),
            leader: Some("m".into()),
            members: vec![member],
            ..GroupMetadataValue::default()
        };
        let group_key = key(&GroupMetadataKey { group: "g".into(), ..Default::default() });
        assert_eq!(shard.replay(ORIGIN, group_key, value(&group, version)), Ok(Replayed::Applied), "version {version}");
        let group = shard.groups.classic("g").unwrap();
        // Without a rebalance timeout the session timeout stands in.
        assert_eq!((group.generation_id, group.members["m"].rebalance_timeout_ms), (4, 7_000));
        assert_eq!(shard.on_loaded(100).writes, []);
        assert_eq!(shard.next_deadline_ms(), Some(7_100));
    }
}

#[test]
fn offsets_of_before_version_1_of_the_key_are_read() {
    let mut shard = shard();
    let legacy_key = Bytes::from_static(b"\0\0\0\x01g\0\x01t\0\0\0\0");
    let legacy_value = Bytes::from_static(b"\0\0\0\0\0\0\0\0\0\x05\0\x01m\0\0\0\0\0\0\0\x09");
    assert_eq!(shard.replay(ORIGIN, legacy_key.clone(), Some(legacy_value)), Ok(Replayed::Applied));
    assert_eq!(shard.offsets.get("g", "t", 0).map(|offset| offset.committed_offset), Some(5));
    assert_eq!(shard.replay(ORIGIN, legacy_key, None), Ok(Replayed::Applied));
    assert_eq!(shard.offsets.get("g", "t", 0), None);
}

#[test]
fn a_name_that_fits_no_record_fails_the_write() {
    let mut shard = shard();
    let partition = OffsetCommitRequestPartition { partition_index: 0, committed_offset: 1, ..Default::default() };
    let topic = OffsetCommitRequestTopic { name: "t".repeat(40_000), partitions: vec![partition], ..Default::default() };
    let request = OffsetCommitRequest { group_id: "g".into(), topics: vec![topic], ..OffsetCommitRequest::default() };
    let outcome = handle(&mut shard, GroupRequest::OffsetCommit(request));
    assert_eq!(outcome.writes, []);
    match &outcome.replies[0].response {
        Response::OffsetCommit(response) => assert_eq!(response.topics[0].partitions[0].error_code, -1),
        other => panic!("{other:?}"),
    }
}
