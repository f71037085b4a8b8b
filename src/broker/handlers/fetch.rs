//! Fetch: reads record batches from partitions, at once or when there is enough of them (KIP-227 sessions, KIP-516 topic ids, KIP-320 epochs).

use std::sync::Arc;

use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::fetch_request::FetchRequest;
use ottla_protocol::messages::fetch_response::{FetchResponse, FetchableTopicResponse, PartitionData};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::delayed_fetch::{FetchParams, Isolation, PendingFetch, reads_committed};
use crate::fetch_session::{FIRST_VERSION_WITH_TOPIC_IDS, FetchContext, FetchTopicPartition, replica_id};
use crate::request::RequestContext;

/// The replica id of a move between log directories.
const FUTURE_LOCAL_REPLICA_ID: i32 = -3;
/// From this version on a consumer may be answered by a replica that does not lead (KIP-392).
const FIRST_VERSION_FROM_FOLLOWERS: i16 = 11;

/// The API.
pub struct Fetch;

impl Handler for Fetch {
    type Request = FetchRequest;
    const KEY: ApiKey = ApiKey::Fetch;
    const RIGHTS: Rights = Rights::Topic(Operation::Read);
    const QUOTA: QuotaClass = QuotaClass::Fetch;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: FetchRequest) {
        let image = broker.image();
        let topic_name = |id: Uuid| image.topics.by_id(id).map(|topic| topic.name.clone());
        let (fetch_context, wanted) = broker.fetch_sessions().begin(&request, context.api_version, topic_name, context.now_ms);
        if let FetchContext::Failed(error) = fetch_context {
            return context.reply(&FetchResponse { error_code: error.code(), ..FetchResponse::default() });
        }
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for wanted in wanted {
            match find(&image, &wanted.partition) {
                Ok(topic_partition) => known.push((wanted, topic_partition)),
                Err(error) => {
                    let data = error_data(wanted.partition.partition, error);
                    unknown.push((wanted, data));
                }
            }
        }
        let reads_committed = match reads_committed(request.isolation_level) {
            Ok(reads_committed) => reads_committed,
            // Nothing is read, so nobody asks.
            Err(_) if known.is_empty() => false,
            Err(error) => {
                let response = failed(&request, context.api_version, error);
                return context.reply(&response);
            }
        };
        let params = params(broker, &request, context.api_version, reads_committed);
        PendingFetch { params, request: context, fetch_context, partitions: known, unknown }.answer_or_wait(broker);
    }
}

fn params(broker: &Broker, request: &FetchRequest, version: i16, reads_committed: bool) -> FetchParams {
    let max_bytes = request.max_bytes.min(broker.config().fetch_max_bytes);
    let replica_id = replica_id(request);
    let is_from_log_mover = replica_id == FUTURE_LOCAL_REPLICA_ID;
    let isolation = match reads_committed {
        _ if replica_id >= 0 || is_from_log_mover => Isolation::LogEnd,
        true => Isolation::Committed,
        false => Isolation::HighWatermark,
    };
    FetchParams {
        replica_id,
        max_wait_ms: i64::from(request.max_wait_ms),
        min_bytes: i64::from(request.min_bytes.min(max_bytes)),
        max_bytes,
        only_from_leader: replica_id >= 0 || (version < FIRST_VERSION_FROM_FOLLOWERS && !is_from_log_mover),
        isolation,
    }
}

/// Tells apart the partitions that the metadata knows; the others are answered without being waited for.
fn find(image: &MetadataImage, wanted: &FetchTopicPartition) -> Result<TopicPartition, ErrorCode> {
    let topic = wanted.topic.clone().ok_or(ErrorCode::UnknownTopicId)?;
    let is_known = image.topics.by_name(&topic).is_some_and(|topic| topic.partitions.contains_key(&wanted.partition));
    if is_known { Ok(TopicPartition { topic, partition: wanted.partition }) } else { Err(ErrorCode::UnknownTopicOrPartition) }
}

/// The answer to a request that fails as a whole (`FetchRequest.getErrorResponse`). Older clients look for the error in the partitions.
fn failed(request: &FetchRequest, version: i16, error: ErrorCode) -> FetchResponse {
    let mut response = FetchResponse { error_code: error.code(), session_id: request.session_id, ..FetchResponse::default() };
    if version < FIRST_VERSION_WITH_TOPIC_IDS {
        let topics = request.topics.iter().map(|topic| FetchableTopicResponse {
            topic: topic.topic.clone(),
            partitions: topic.partitions.iter().map(|partition| error_data(partition.partition, error)).collect(),
            ..FetchableTopicResponse::default()
        });
        response.responses = topics.collect();
    }
    response
}

/// A partition's result that is nothing but an error (`FetchResponse.partitionResponse`).
fn error_data(partition_index: i32, error: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index,
        error_code: error.code(),
        high_watermark: -1,
        records: Some(ottla_protocol::Records::default()),
        ..PartitionData::default()
    }
}
