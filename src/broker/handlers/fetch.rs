//! Fetch: reads record batches from partitions, at once or when there is enough of them (KIP-227 sessions, KIP-516 topic ids, KIP-320 epochs).

use std::sync::Arc;

use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::fetch_request::FetchRequest;
use ottla_protocol::messages::fetch_response::{FetchResponse, PartitionData};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::delayed_fetch::{FetchParams, Isolation, PendingFetch};
use crate::fetch_session::{FetchContext, WantedPartition, replica_id};
use crate::request::RequestContext;

/// The isolation level of consumers that skip aborted and open transactions.
const READ_COMMITTED: i8 = 1;

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
        let (known, unknown): (Vec<_>, Vec<_>) = wanted.into_iter().map(|wanted| check(&image, wanted)).partition(Result::is_ok);
        let pending = PendingFetch {
            params: params(broker, &request),
            request: context,
            fetch_context,
            partitions: known.into_iter().filter_map(Result::ok).collect(),
            unknown: unknown.into_iter().filter_map(Result::err).collect(),
        };
        pending.answer_or_wait(broker);
    }
}

fn params(broker: &Broker, request: &FetchRequest) -> FetchParams {
    let max_bytes = request.max_bytes.min(broker.config().fetch_max_bytes).max(0);
    let replica_id = replica_id(request);
    let isolation = match (replica_id, request.isolation_level) {
        (0.., _) => Isolation::LogEnd,
        (_, READ_COMMITTED) => Isolation::Committed,
        _ => Isolation::HighWatermark,
    };
    FetchParams {
        replica_id,
        max_wait_ms: i64::from(request.max_wait_ms),
        min_bytes: i64::from(request.min_bytes.min(max_bytes)),
        max_bytes: max_bytes as usize,
        isolation,
    }
}

/// Tells apart the partitions that the metadata knows; the others are answered without being waited for.
fn check(image: &MetadataImage, wanted: WantedPartition) -> Result<(WantedPartition, TopicPartition), (WantedPartition, PartitionData)> {
    let partition = wanted.partition.partition;
    let Some(topic) = wanted.partition.topic.clone() else {
        let data = error_data(partition, ErrorCode::UnknownTopicId);
        return Err((wanted, data));
    };
    let is_known = image.topics.by_name(&topic).is_some_and(|topic| topic.partitions.contains_key(&partition));
    if is_known {
        return Ok((wanted, TopicPartition { topic, partition }));
    }
    let data = error_data(partition, ErrorCode::UnknownTopicOrPartition);
    Err((wanted, data))
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
