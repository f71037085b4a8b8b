//! Replies and records as lines that a person can read.

use bytes::Bytes;
use ottla_model::ErrorCode;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::describe_groups_response::DescribedGroup;
use ottla_protocol::messages::group_metadata_key::GroupMetadataKey;
use ottla_protocol::messages::group_metadata_value::GroupMetadataValue;
use ottla_protocol::messages::join_group_response::JoinGroupResponse;
use ottla_protocol::messages::leave_group_response::LeaveGroupResponse;
use ottla_protocol::messages::list_groups_response::ListedGroup;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use ottla_protocol::messages::sync_group_response::SyncGroupResponse;
use ottla_protocol::{Message, Reader};

use crate::group::{CoordinatorRecord, Reply, Response};

/// A reply, checked to be one that its version can carry.
pub fn reply(reply: &Reply) -> String {
    let version = reply.api_version;
    let body = match &reply.response {
        Response::JoinGroup(response) => checked(response, version, join(response)),
        Response::SyncGroup(response) => checked(response, version, sync(response)),
        Response::Heartbeat(response) => checked(response, version, format!("heartbeat {}", error(response.error_code))),
        Response::LeaveGroup(response) => checked(response, version, leave(response)),
        Response::OffsetCommit(response) => {
            let partitions = response.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|partition| partition_error(&topic.name, partition.partition_index, partition.error_code))
            });
            checked(response, version, format!("commit {}", list(partitions)))
        }
        Response::TxnOffsetCommit(response) => {
            let partitions = response.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|partition| partition_error(&topic.name, partition.partition_index, partition.error_code))
            });
            checked(response, version, format!("txn-commit {}", list(partitions)))
        }
        Response::OffsetDelete(response) => {
            let partitions = response.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|partition| partition_error(&topic.name, partition.partition_index, partition.error_code))
            });
            checked(response, version, format!("delete-offsets {} {}", error(response.error_code), list(partitions)))
        }
        Response::OffsetFetch(group) => fetch(group),
        Response::DescribeGroups(groups) => format!("describe {}", groups.iter().map(describe).collect::<Vec<_>>().join(" | ")),
        Response::ListGroups(Ok(groups)) => {
            let line =
                |group: &ListedGroup| format!("{}:{:?}:{}:{}", group.group_id, group.protocol_type, group.group_state, group.group_type);
            format!("list {}", list(groups.iter().map(line)))
        }
        Response::ListGroups(Err(code)) => format!("list {}", code.name()),
        Response::DeleteGroups(results) => {
            format!("delete {}", list(results.iter().map(|result| format!("{}:{}", result.group_id, error(result.error_code)))))
        }
    };
    format!("reply {}: {body}", reply.token.0)
}

fn checked(response: &impl Message, version: i16, line: String) -> String {
    response.to_bytes(version).expect("the version can carry the response");
    line
}

fn join(response: &JoinGroupResponse) -> String {
    let members = response
        .members
        .iter()
        .map(|member| format!("{}{}={}", member.member_id, instance(&member.group_instance_id), text(&member.metadata)));
    format!(
        "join {} generation={} type={} protocol={} leader={:?} member={:?} members={}{}",
        error(response.error_code),
        response.generation_id,
        nullable(&response.protocol_type),
        nullable(&response.protocol_name),
        response.leader,
        response.member_id,
        list(members),
        if response.skip_assignment { " skip" } else { "" },
    )
}

fn sync(response: &SyncGroupResponse) -> String {
    format!(
        "sync {} type={} protocol={} assignment={}",
        error(response.error_code),
        nullable(&response.protocol_type),
        nullable(&response.protocol_name),
        text(&response.assignment)
    )
}

fn leave(response: &LeaveGroupResponse) -> String {
    let members = response
        .members
        .iter()
        .map(|member| format!("{}{}:{}", member.member_id, instance(&member.group_instance_id), error(member.error_code)));
    format!("leave {} {}", error(response.error_code), list(members))
}

fn fetch(group: &OffsetFetchResponseGroup) -> String {
    let partitions = group.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            format!(
                "{}-{}={}/{}/{}:{}",
                topic.name,
                partition.partition_index,
                partition.committed_offset,
                partition.committed_leader_epoch,
                nullable(&partition.metadata),
                error(partition.error_code)
            )
        })
    });
    format!("fetch {} {:?} {}", error(group.error_code), group.group_id, list(partitions))
}

fn describe(group: &DescribedGroup) -> String {
    let members = group.members.iter().map(|member| {
        format!(
            "{}{}@{}{} metadata={} assignment={}",
            member.member_id,
            instance(&member.group_instance_id),
            member.client_id,
            member.client_host,
            text(&member.member_metadata),
            text(&member.member_assignment)
        )
    });
    format!(
        "{} {} {} state={} type={:?} data={:?} [{}]",
        group.group_id,
        error(group.error_code),
        nullable(&group.error_message),
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        members.collect::<Vec<_>>().join("; ")
    )
}

/// A record, out of its bytes.
pub fn record(record: &CoordinatorRecord) -> String {
    let mut key = Reader::new(record.key.clone());
    match key.i16().expect("keys have a type") {
        OffsetCommitKey::API_KEY => {
            let key = OffsetCommitKey::decode(&mut key, 0).expect("the key is whole");
            let name = format!("offset {}/{}-{}", key.group, key.topic, key.partition);
            match decoded(record) {
                Some((version, value)) => offset(&name, version, &value),
                None => format!("tombstone of {name}"),
            }
        }
        GroupMetadataKey::API_KEY => {
            let key = GroupMetadataKey::decode(&mut key, 0).expect("the key is whole");
            match decoded(record) {
                Some((version, value)) => group(&key.group, version, &value),
                None => format!("tombstone of group {}", key.group),
            }
        }
        other => panic!("a record of type {other}"),
    }
}

fn decoded<V: Message>(record: &CoordinatorRecord) -> Option<(i16, V)> {
    let mut reader = Reader::new(record.value.clone()?);
    let version = reader.i16().expect("values have a version");
    Some((version, V::decode(&mut reader, version).expect("the value is whole")))
}

fn offset(name: &str, version: i16, value: &OffsetCommitValue) -> String {
    format!(
        "{name} v{version}: {} epoch={} metadata={:?} committed={} expires={} topic_id={}",
        value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp, value.topic_id
    )
}

fn group(group_id: &str, version: i16, value: &GroupMetadataValue) -> String {
    let members = value.members.iter().map(|member| {
        format!(
            "{}{}@{}{} rebalance={} session={} subscription={} assignment={}",
            member.member_id,
            instance(&member.group_instance_id),
            member.client_id,
            member.client_host,
            member.rebalance_timeout,
            member.session_timeout,
            text(&member.subscription),
            text(&member.assignment)
        )
    });
    format!(
        "group {group_id} v{version}: type={:?} generation={} protocol={} leader={} since={} [{}]",
        value.protocol_type,
        value.generation,
        nullable(&value.protocol),
        nullable(&value.leader),
        value.current_state_timestamp,
        members.collect::<Vec<_>>().join("; ")
    )
}

fn partition_error(topic: &str, partition: i32, code: i16) -> String {
    format!("{topic}-{partition}:{}", error(code))
}

fn instance(group_instance_id: &Option<String>) -> String {
    group_instance_id.as_deref().map(|id| format!("/{id}")).unwrap_or_default()
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(" "))
}

fn error(code: i16) -> &'static str {
    ErrorCode::from_code(code).expect("a code of Kafka's").name()
}

fn nullable(text: &Option<String>) -> String {
    text.as_ref().map_or("null".to_owned(), |text| format!("{text:?}"))
}

/// Bytes; a consumer's metadata as its topics.
fn text(bytes: &Bytes) -> String {
    let mut reader = Reader::new(bytes.clone());
    let subscription = reader.i16().and_then(|_| ConsumerProtocolSubscription::decode(&mut reader, 0));
    match subscription {
        Ok(subscription) => format!("<{}>", subscription.topics.join("+")),
        Err(_) => format!("'{}'", bytes.escape_ascii()),
    }
}
