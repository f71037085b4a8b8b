//! Answers that depend on the version of the request, and those for when there is no shard to ask.

use ottla_model::ErrorCode;
use ottla_protocol::Message;
use ottla_protocol::messages::heartbeat_request::HeartbeatRequest;
use ottla_protocol::messages::join_group_request::JoinGroupRequest;
use ottla_protocol::messages::leave_group_request::LeaveGroupRequest;
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::offset_commit_request::{OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use ottla_protocol::messages::sync_group_request::SyncGroupRequest;

use crate::group::{GroupRequest, Response, offset_fetch_error, offset_fetch_groups, offset_fetch_response};

fn fetch_group() -> OffsetFetchRequestGroup {
    let topic = OffsetFetchRequestTopics { name: "t".into(), partition_indexes: vec![3], ..Default::default() };
    OffsetFetchRequestGroup { group_id: "g".into(), topics: Some(vec![topic]), ..Default::default() }
}

#[test]
fn up_to_version_7_offset_fetch_is_about_one_group() {
    let topic = OffsetFetchRequestTopic { name: "t".into(), partition_indexes: vec![3], ..Default::default() };
    let request = OffsetFetchRequest { group_id: "g".into(), topics: Some(vec![topic]), ..Default::default() };
    assert_eq!(offset_fetch_groups(request, 7), [fetch_group()]);
    let all = OffsetFetchRequest { group_id: "g".into(), topics: None, ..Default::default() };
    assert_eq!(offset_fetch_groups(all, 2)[0].topics, None);
    let several = OffsetFetchRequest { groups: vec![fetch_group(), fetch_group()], ..Default::default() };
    assert_eq!(offset_fetch_groups(several, 8).len(), 2);
}

#[test]
fn offset_fetch_says_errors_where_its_version_can() {
    for version in 1..=10 {
        let group = offset_fetch_error(&fetch_group(), ErrorCode::NotCoordinator, version);
        let response = offset_fetch_response(vec![group], version);
        response.to_bytes(version).expect("the version can carry it");
        let partition_errors: Vec<i16> =
            response.topics.iter().flat_map(|topic| &topic.partitions).map(|partition| partition.error_code).collect();
        let group_errors: Vec<i16> = response.groups.iter().map(|group| group.error_code).collect();
        match version {
            1 => assert_eq!((partition_errors, response.error_code), (vec![16], 0)),
            2..=7 => assert_eq!((partition_errors, response.error_code), (vec![], 16)),
            _ => assert_eq!((group_errors, response.error_code), (vec![16], 0)),
        }
    }
}

#[test]
fn while_the_coordinator_is_loading() {
    let error = ErrorCode::CoordinatorLoadInProgress;
    let answer = |request: GroupRequest| request.error_answer(error, 4);
    match answer(GroupRequest::Heartbeat(HeartbeatRequest::default())) {
        Response::Heartbeat(response) => assert_eq!(response.error_code, 0, "members are believed"),
        other => panic!("{other:?}"),
    }
    match answer(GroupRequest::SyncGroup(SyncGroupRequest::default())) {
        Response::SyncGroup(response) => assert_eq!((response.error_code, response.protocol_name), (14, None)),
        other => panic!("{other:?}"),
    }
    match answer(GroupRequest::LeaveGroup(LeaveGroupRequest::default())) {
        Response::LeaveGroup(response) => assert_eq!((response.error_code, response.members.len()), (14, 0)),
        other => panic!("{other:?}"),
    }
    match answer(GroupRequest::DescribeGroups(vec!["g".into()])) {
        Response::DescribeGroups(groups) => {
            assert_eq!((groups[0].group_id.as_str(), groups[0].error_code, groups[0].group_state.as_str()), ("g", 14, ""));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(answer(GroupRequest::ListGroups(ListGroupsRequest::default())), Response::ListGroups(Err(error)));
    let partitions = vec![OffsetCommitRequestPartition { partition_index: 1, ..Default::default() }];
    let topics = vec![OffsetCommitRequestTopic { name: "t".into(), partitions, ..Default::default() }];
    match answer(GroupRequest::OffsetCommit(OffsetCommitRequest { topics, ..Default::default() })) {
        Response::OffsetCommit(response) => assert_eq!(response.topics[0].partitions[0].error_code, 14),
        other => panic!("{other:?}"),
    }
    let join = GroupRequest::JoinGroup {
        request: JoinGroupRequest { member_id: "m".into(), ..Default::default() },
        new_member_uuid: Default::default(),
    };
    for version in 0..=9 {
        match join.error_answer(error, version) {
            Response::JoinGroup(response) => {
                response.to_bytes(version).expect("the version can carry it");
                assert_eq!((response.error_code, response.member_id.as_str(), response.generation_id), (14, "", -1));
            }
            other => panic!("{other:?}"),
        }
    }
}
