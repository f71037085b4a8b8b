//! ListOffsets: the first, the last, or the first offset at or after a time, of partitions. Negative timestamps stand for special offsets.

use std::sync::Arc;

use indexmap::IndexMap;
use ottla_model::{ErrorCode, TopicPartition, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest};
use ottla_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::delayed_fetch::{Isolation, reads_committed};
use crate::partition::OffsetQuery;
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
        let topics = by_topic(&request).into_iter().map(|(name, partitions)| {
            let results = partitions.into_values().map(|wanted| {
                let found = if wanted.is_repeated { Err(ErrorCode::InvalidRequest) } else { lookup.find(name, wanted.partition) };
                found.unwrap_or_else(|error| failed(wanted.partition, error))
            });
            ListOffsetsTopicResponse { name: name.to_owned(), partitions: results.collect(), ..ListOffsetsTopicResponse::default() }
        });
        let response = ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() };
        context.reply(&response);
    }
}

/// A partition of the request. Named several times it is refused, once.
struct Wanted<'a> {
    partition: &'a ListOffsetsPartition,
    is_repeated: bool,
}

/// The request as Kafka's map holds it: every topic and partition once, and no topic without partitions.
fn by_topic(request: &ListOffsetsRequest) -> IndexMap<&str, IndexMap<i32, Wanted<'_>>> {
    let mut topics: IndexMap<&str, IndexMap<i32, Wanted<'_>>> = IndexMap::new();
    for topic in request.topics.iter().filter(|topic| !topic.partitions.is_empty()) {
        let partitions = topics.entry(&topic.name).or_default();
        for partition in &topic.partitions {
            let wanted = partitions.entry(partition.partition_index);
            wanted.and_modify(|wanted| wanted.is_repeated = true).or_insert(Wanted { partition, is_repeated: false });
        }
    }
    topics
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
