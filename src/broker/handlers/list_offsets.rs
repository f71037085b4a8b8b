//! ListOffsets: the first, the last, or the first offset at or after a time, of partitions. Negative timestamps stand for special offsets.

use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest};
use ottla_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::delayed_fetch::{Isolation, reads_committed};
use crate::partition::OffsetQuery;
use crate::partition_map::partition_map;
use crate::request::RequestContext;

/// A consumer, who sees what is committed.
const CONSUMER_REPLICA_ID: i32 = -1;
/// A tool that may read from any replica.
const DEBUGGING_REPLICA_ID: i32 = -2;

/// From this version on clients are told of leader epochs.
const FIRST_VERSION_WITH_LEADER_EPOCH: i16 = 4;

/// Special timestamps, and the first version that knows them (`ReplicaManager.isListOffsetsTimestampUnsupported`).
const SPECIAL_TIMESTAMPS: &[(i64, i16)] = &[(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11)];

/// The API.
pub struct ListOffsets;

impl Handler for ListOffsets {
    type Request = ListOffsetsRequest;
    const KEY: ApiKey = ApiKey::ListOffsets;
    const RIGHTS: Rights = Rights::Topic(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ListOffsetsRequest) {
        let is_empty = request.topics.is_empty();
        let reads_committed = match reads_committed(request.isolation_level) {
            Ok(reads_committed) => reads_committed,
            // Nothing is looked up, so nobody asks.
            Err(_) if is_empty => false,
            Err(error) => return context.reply(&failed_request(&request, error)),
        };
        let isolation = match (request.replica_id, reads_committed) {
            (CONSUMER_REPLICA_ID, true) => Isolation::Committed,
            (CONSUMER_REPLICA_ID, false) => Isolation::HighWatermark,
            _ => Isolation::LogEnd,
        };
        let lookup =
            Lookup { broker, version: context.api_version, isolation, from_any_replica: request.replica_id == DEBUGGING_REPLICA_ID };
        let asked = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| (partition.partition_index, partition));
            (topic.name.as_str(), partitions)
        });
        let topics = partition_map(asked).into_iter().map(|(name, partitions)| {
            let results = partitions.into_values().map(|said| {
                let found = if said.len() > 1 { Err(ErrorCode::InvalidRequest) } else { lookup.find(name, said[0]) };
                found.unwrap_or_else(|error| failed(said[0], error))
            });
            ListOffsetsTopicResponse { name: name.to_owned(), partitions: results.collect(), ..ListOffsetsTopicResponse::default() }
        });
        let response = ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() };
        context.reply(&response);
    }
}

/// How offsets are looked up for one request.
struct Lookup<'a> {
    broker: &'a Broker,
    version: i16,
    isolation: Isolation,
    from_any_replica: bool,
}

impl Lookup<'_> {
    fn find(&self, topic: &str, partition: &ListOffsetsPartition) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
        if !knows_timestamp(partition.timestamp, self.version) {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let topic_partition = TopicPartition::new(topic, partition.partition_index);
        let partitions = self.broker.partitions();
        let target = if self.from_any_replica {
            partitions.fetch_target(&topic_partition, Uuid::ZERO)
        } else {
            partitions.listing_target(&topic_partition)
        };
        let query =
            OffsetQuery { timestamp: partition.timestamp, current_leader_epoch: partition.current_leader_epoch, isolation: self.isolation };
        let found = target?.find_offset(&query)?;
        let mut response = failed(partition, ErrorCode::None);
        if let Some(found) = found {
            response.timestamp = found.timestamp;
            response.offset = found.offset;
            if self.version >= FIRST_VERSION_WITH_LEADER_EPOCH {
                response.leader_epoch = found.leader_epoch.unwrap_or(-1);
            }
        }
        Ok(response)
    }
}

/// The answer to a request that fails as a whole (`ListOffsetsRequest.getErrorResponse`).
fn failed_request(request: &ListOffsetsRequest, error: ErrorCode) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|topic| ListOffsetsTopicResponse {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(|partition| failed(partition, error)).collect(),
        ..ListOffsetsTopicResponse::default()
    });
    ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() }
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
