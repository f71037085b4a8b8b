//! ListOffsets: the first, the last, or the first offset at or after a time, of partitions. Negative timestamps stand for special offsets.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest};
use ottla_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::delayed_fetch::Isolation;
use crate::partition::OffsetQuery;
use crate::request::RequestContext;

const READ_COMMITTED: i8 = 1;
/// A tool that may read from any replica.
const DEBUGGING_REPLICA_ID: i32 = -2;

/// Special timestamps, and the first version that knows them (`ReplicaManager.isListOffsetsTimestampUnsupported`).
const SPECIAL_TIMESTAMPS: &[(i64, i16)] = &[(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11)];

/// The API.
pub struct ListOffsets;

impl Handler for ListOffsets {
    type Request = ListOffsetsRequest;
    const KEY: ApiKey = ApiKey::ListOffsets;
    const RIGHTS: Rights = Rights::Topic(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListOffsetsRequest) {
        let mut named = HashMap::new();
        for topic in &request.topics {
            for partition in &topic.partitions {
                *named.entry((topic.name.as_str(), partition.partition_index)).or_insert(0) += 1;
            }
        }
        let topics = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| {
                let is_repeated = named[&(topic.name.as_str(), partition.partition_index)] > 1;
                let found =
                    if is_repeated { Err(ErrorCode::InvalidRequest) } else { find(broker, &context, &request, &topic.name, partition) };
                found.unwrap_or_else(|error| failed(partition, error))
            });
            ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect(), ..ListOffsetsTopicResponse::default() }
        });
        let response = ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() };
        context.reply(&response);
    }
}

fn find(
    broker: &Broker,
    context: &RequestContext,
    request: &ListOffsetsRequest,
    topic: &str,
    partition: &ListOffsetsPartition,
) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
    if !knows_timestamp(partition.timestamp, context.api_version) {
        return Err(ErrorCode::UnsupportedVersion);
    }
    let isolation = match (request.replica_id, request.isolation_level) {
        (-1, READ_COMMITTED) => Isolation::Committed,
        (-1, _) => Isolation::HighWatermark,
        _ => Isolation::LogEnd,
    };
    let topic_partition = TopicPartition::new(topic, partition.partition_index);
    let from_any_replica = request.replica_id == DEBUGGING_REPLICA_ID;
    let target = if from_any_replica {
        broker.partitions().fetch_target(&topic_partition, Uuid::ZERO)
    } else {
        broker.partitions().listing_target(&topic_partition)
    };
    let query = OffsetQuery { timestamp: partition.timestamp, current_leader_epoch: partition.current_leader_epoch, isolation };
    let found = target?.find_offset(&query)?;
    let mut response = failed(partition, ErrorCode::None);
    if let Some(found) = found {
        response.timestamp = found.timestamp;
        response.offset = found.offset;
        if context.api_version >= 4 {
            response.leader_epoch = found.leader_epoch.unwrap_or(-1);
        }
    }
    Ok(response)
}

fn knows_timestamp(timestamp: i64, version: i16) -> bool {
    let special = SPECIAL_TIMESTAMPS.iter().find(|(special, _)| *special == timestamp);
    timestamp >= 0 || special.is_some_and(|&(_, first_version)| version >= first_version)
}

fn failed(partition: &ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: partition.partition_index,
        error_code: error.code(),
        timestamp: -1,
        offset: -1,
        ..ListOffsetsPartitionResponse::default()
    }
}
