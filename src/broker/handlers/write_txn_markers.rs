//! WriteTxnMarkers: ends transactions in the partitions that are led here, on behalf of a coordinator or of an administrator.

use std::sync::Arc;

use indexmap::IndexMap;
use ottla_coordinator::group::TransactionResult;
use ottla_coordinator::transaction::ProducerIdAndEpoch;
use ottla_model::{ErrorCode, TopicPartition};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WriteTxnMarkersRequest};
use ottla_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult, WriteTxnMarkersResponse,
};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;
use crate::transaction_markers::{Marker, write_marker};

/// The API.
pub struct WriteTxnMarkers;

/// The results of a producer, by topic and partition.
type Results = IndexMap<String, IndexMap<i32, ErrorCode>>;

impl Handler for WriteTxnMarkers {
    type Request = WriteTxnMarkersRequest;
    const KEY: ApiKey = ApiKey::WriteTxnMarkers;
    const RIGHTS: Rights = Rights::Cluster(Operation::Alter);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: WriteTxnMarkersRequest) {
        let mut producers: IndexMap<i64, Results> = IndexMap::new();
        let is_valid = request.markers.iter().all(is_of_a_producer);
        for marker in &request.markers {
            let results = producers.entry(marker.producer_id).or_default();
            if is_valid {
                write(broker, marker, context.now_ms, results);
            } else {
                refuse(marker, results);
            }
        }
        let markers = producers.into_iter().map(|(producer_id, results)| WritableTxnMarkerResult {
            producer_id,
            topics: results.into_iter().map(|(name, partitions)| topic_result(name, partitions)).collect(),
            ..WritableTxnMarkerResult::default()
        });
        context.reply(&WriteTxnMarkersResponse { markers: markers.collect(), ..WriteTxnMarkersResponse::default() });
    }
}

/// Kafka builds no batch for others, and fails the request as a whole.
fn is_of_a_producer(marker: &WritableTxnMarker) -> bool {
    marker.producer_id >= 0 && marker.producer_epoch >= 0
}

fn refuse(request: &WritableTxnMarker, results: &mut Results) {
    for topic in &request.topics {
        let refused = topic.partition_indexes.iter().map(|&index| (index, ErrorCode::UnknownServerError));
        results.entry(topic.name.clone()).or_default().extend(refused);
    }
}

fn write(broker: &Arc<Broker>, request: &WritableTxnMarker, now_ms: i64, results: &mut Results) {
    let marker = Marker {
        producer: ProducerIdAndEpoch { producer_id: request.producer_id, producer_epoch: request.producer_epoch },
        coordinator_epoch: request.coordinator_epoch,
        result: if request.transaction_result { TransactionResult::Commit } else { TransactionResult::Abort },
        transaction_version: i16::from(request.transaction_version),
    };
    for topic in &request.topics {
        for &index in &topic.partition_indexes {
            let topic_partition = TopicPartition::new(topic.name.as_str(), index);
            let written = match broker.partitions().get(&topic_partition) {
                Some(_) => write_marker(broker, &topic_partition, &marker, now_ms),
                None => Err(ErrorCode::UnknownTopicOrPartition),
            };
            results.entry(topic.name.clone()).or_default().insert(index, written.err().unwrap_or(ErrorCode::None));
        }
    }
}

fn topic_result(name: String, partitions: IndexMap<i32, ErrorCode>) -> WritableTxnMarkerTopicResult {
    let partitions = partitions.into_iter().map(|(partition_index, error)| WritableTxnMarkerPartitionResult {
        partition_index,
        error_code: error.code(),
        ..WritableTxnMarkerPartitionResult::default()
    });
    WritableTxnMarkerTopicResult { name, partitions: partitions.collect(), ..WritableTxnMarkerTopicResult::default() }
}
