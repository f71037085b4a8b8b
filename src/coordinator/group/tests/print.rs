//! Replies and records as lines that a person can read.

use bytes::Bytes;
use ottla_model::ErrorCode;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::group_metadata_key::GroupMetadataKey;
use ottla_protocol::messages::group_metadata_value::GroupMetadataValue;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_protocol::{Message, Reader};

use crate::group::{CoordinatorRecord, Reply, Response};

/// A reply, checked to be one that its version can carry.
pub fn reply(reply: &Reply) -> String {
    let token = reply.token.0;
    let body = match &reply.response {
        Response::JoinGroup(response) => {
            response.to_bytes(reply.api_version).expect("the version can carry it");
            let members = response.members.iter().map(|member| {
                let instance = member.group_instance_id.as_deref().map(|id| format!("/{id}")).unwrap_or_default();
                format!("{}{instance}={}", member.member_id, text(&member.metadata))
            });
            format!(
                "join {} generation={} type={} protocol={} leader={:?} member={:?} members=[{}]{}",
                error(response.error_code),
                response.generation_id,
                nullable(&response.protocol_type),
                nullable(&response.protocol_name),
                response.leader,
                response.member_id,
                members.collect::<Vec<_>>().join(" "),
                if response.skip_assignment { " skip" } else { "" },
            )
        }
        Response::SyncGroup(response) => {
            response.to_bytes(reply.api_version).expect("the version can carry it");
            format!(
                "sync {} type={} protocol={} assignment={}",
                error(response.error_code),
                nullable(&response.protocol_type),
                nullable(&response.protocol_name),
                text(&response.assignment)
            )
        }
        Response::Heartbeat(response) => format!("heartbeat {}", error(response.error_code)),
        Response::LeaveGroup(response) => {
            response.to_bytes(reply.api_version).expect("the version can carry it");
            let members = response.members.iter().map(|member| {
                let instance = member.group_instance_id.as_deref().map(|id| format!("/{id}")).unwrap_or_default();
                format!("{}{instance}:{}", member.member_id, error(member.error_code))
            });
            format!("leave {} [{}]", error(response.error_code), members.collect::<Vec<_>>().join(" "))
        }
        Response::OffsetCommit(response) => {
            response.to_bytes(reply.api_version).expect("the version can carry it");
            let partitions = response.topics.iter().flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|partition| format!("{}-{}:{}", topic.name, partition.partition_index, error(partition.error_code)))
            });
            format!("commit [{}]", partitions.collect::<Vec<_>>().join(" "))
        }
        Response::TxnOffsetCommit(response) => {
            response.to_bytes(reply.api_version).expect("the version can carry it");
            let partitions = response.topics.iter().flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|partition| format!("{}-{}:{}", topic.name, partition.partition_index, error(partition.error_code)))
            });
            format!("txn-commit [{}]", partitions.collect::<Vec<_>>().join(" "))
        }
        Response::OffsetDelete(response) => {
            let partitions = response.topics.iter().flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|partition| format!("{}-{}:{}", topic.name, partition.partition_index, error(partition.error_code)))
            });
            format!("delete-offsets {} [{}]", error(response.error_code), partitions.collect::<Vec<_>>().join(" "))
        }
        Response::OffsetFetch(group) => {
            let partitions = group.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|partition| {
                    format!(
                        "{}-{}={}/{}/{:?}:{}",
                        topic.name,
                        partition.partition_index,
                        partition.committed_offset,
                        partition.committed_leader_epoch,
                        partition.metadata.as_deref().unwrap_or("null"),
                        error(partition.error_code)
                    )
                })
            });
            format!("fetch {} {:?} [{}]", error(group.error_code), group.group_id, partitions.collect::<Vec<_>>().join(" "))
        }
        Response::DescribeGroups(groups) => {
            let groups = groups.iter().map(|group| {
                let members = group.members.iter().map(|member| {
                    let instance = member.group_instance_id.as_deref().map(|id| format!("/{id}")).unwrap_or_default();
                    format!(
                        "{}{instance}@{}{} metadata={} assignment={}",
                        member.member_id,
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
            });
            format!("describe {}", groups.collect::<Vec<_>>().join(" | "))
        }
        Response::ListGroups(Ok(groups)) => {
            let groups = groups
                .iter()
                .map(|group| format!("{}:{:?}:{}:{}", group.group_id, group.protocol_type, group.group_state, group.group_type));
            format!("list [{}]", groups.collect::<Vec<_>>().join(" "))
        }
        Response::ListGroups(Err(code)) => format!("list {}", code.name()),
        Response::DeleteGroups(results) => {
            let results = results.iter().map(|result| format!("{}:{}", result.group_id, error(result.error_code)));
            format!("delete [{}]", results.collect::<Vec<_>>().join(" "))
        }
    };
    format!("reply {token}: {body}")
}

/// A record, out of its bytes.
pub fn record(record: &CoordinatorRecord) -> String {
    let mut key = Reader::new(record.key.clone());
    let value = record.value.clone().map(|value| {
        let mut reader = Reader::new(value);
        let version = reader.i16().expect("values have a version");
        (version, reader)
    });
    match key.i16().expect("keys have a type") {
        1 => {
            let key = OffsetCommitKey::decode(&mut key, 0).expect("the key is whole");
            let name = format!("offset {}/{}-{}", key.group, key.topic, key.partition);
            let Some((version, mut reader)) = value else { return format!("tombstone of {name}") };
            let value = OffsetCommitValue::decode(&mut reader, version).expect("the value is whole");
            format!(
                "{name} v{version}: {} epoch={} metadata={:?} committed={} expires={} topic_id={}",
                value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp, value.topic_id
            )
        }
        2 => {
            let key = GroupMetadataKey::decode(&mut key, 0).expect("the key is whole");
            let Some((version, mut reader)) = value else { return format!("tombstone of group {}", key.group) };
            let value = GroupMetadataValue::decode(&mut reader, version).expect("the value is whole");
            let members = value.members.iter().map(|member| {
                let instance = member.group_instance_id.as_deref().map(|id| format!("/{id}")).unwrap_or_default();
                format!(
                    "{}{instance}@{}{} rebalance={} session={} subscription={} assignment={}",
                    member.member_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout,
                    member.session_timeout,
                    text(&member.subscription),
                    text(&member.assignment)
                )
            });
            format!(
                "group {} v{version}: type={:?} generation={} protocol={} leader={} since={} [{}]",
                key.group,
                value.protocol_type,
                value.generation,
                nullable(&value.protocol),
                nullable(&value.leader),
                value.current_state_timestamp,
                members.collect::<Vec<_>>().join("; ")
            )
        }
        other => panic!("a record of type {other}"),
    }
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
