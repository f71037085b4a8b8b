//! DeleteRecords: moves the start of partitions' logs forward (KIP-107).

use std::sync::Arc;

use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::delete_records_request::DeleteRecordsRequest;
use ottla_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::partition_map::partition_map;
use crate::request::RequestContext;

/// The low watermark where there is none.
const INVALID_LOW_WATERMARK: i64 = -1;

/// The API.
pub struct DeleteRecords;

impl Handler for DeleteRecords {
    type Request = DeleteRecordsRequest;
    const KEY: ApiKey = ApiKey::DeleteRecords;
    const RIGHTS: Rights = Rights::Topic(Operation::Delete);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DeleteRecordsRequest) {
        let image = broker.image();
        let asked = request.topics.iter().map(|topic| {
            let partitions = topic.partitions.iter().map(|partition| (partition.partition_index, partition.offset));
            (topic.name.as_str(), partitions)
        });
        let topics = partition_map(asked).into_iter().map(|(name, partitions)| {
            let results = partitions.into_iter().map(|(partition_index, offsets)| {
                let last_offset = offsets[offsets.len() - 1];
                let deleted = delete(broker, &image, &TopicPartition::new(name, partition_index), last_offset);
                DeleteRecordsPartitionResult {
                    partition_index,
                    low_watermark: deleted.unwrap_or(INVALID_LOW_WATERMARK),
                    error_code: deleted.err().unwrap_or(ErrorCode::None).code(),
                    ..DeleteRecordsPartitionResult::default()
                }
            });
            DeleteRecordsTopicResult { name: name.to_owned(), partitions: results.collect(), ..DeleteRecordsTopicResult::default() }
        });
        let response = DeleteRecordsResponse { topics: topics.collect(), ..DeleteRecordsResponse::default() };
        context.reply(&response);
    }
}

fn delete(broker: &Broker, image: &MetadataImage, topic_partition: &TopicPartition, offset: i64) -> Result<i64, ErrorCode> {
    let exists =
        image.topics.by_name(&topic_partition.topic).is_some_and(|topic| topic.partitions.contains_key(&topic_partition.partition));
    if !exists {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    if internal_topic::is_internal(&topic_partition.topic) {
        return Err(ErrorCode::InvalidTopicException);
    }
    broker.partitions().listing_target(topic_partition)?.delete_records_before(offset)
}
