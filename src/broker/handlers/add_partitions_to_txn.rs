//! AddPartitionsToTxn: makes partitions part of a transaction. Versions up to 3 are for producers and name one transaction; later ones are
//! for brokers, name several, and may only ask whether partitions take part (KIP-890).

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use ottla_coordinator::transaction::{ProducerIdAndEpoch, TransactionRequest};
use ottla_model::{ErrorCode, TopicPartition};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use ottla_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponse, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};

use crate::api::{Handler, Rights};
use crate::broker::Broker;
use crate::gather::Gather;
use crate::request::RequestContext;

/// From this version on several transactions can be named.
const FIRST_BATCHED_VERSION: i16 = 4;

/// From this version on a client knows PRODUCER_FENCED.
const FIRST_VERSION_WITH_FENCED: i16 = 2;

/// The API.
pub struct AddPartitionsToTxn;

impl Handler for AddPartitionsToTxn {
    type Request = AddPartitionsToTxnRequest;
    const KEY: ApiKey = ApiKey::AddPartitionsToTxn;
    const RIGHTS: Rights = Rights::ByResource;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: AddPartitionsToTxnRequest) {
        let (version, now_ms) = (context.api_version, context.now_ms);
        let transactions = if version < FIRST_BATCHED_VERSION { vec![only_transaction(request)] } else { request.transactions };
        let gather = Gather::new(transactions.len(), move |mut results: Vec<AddPartitionsToTxnResult>| {
            let mut response = AddPartitionsToTxnResponse::default();
            if version < FIRST_BATCHED_VERSION {
                response.results_by_topic_v3_and_below = results.pop().map(|result| result.topic_results).unwrap_or_default();
            } else {
                response.results_by_transaction = results;
            }
            context.reply(&response);
        });
        for (place, transaction) in transactions.into_iter().enumerate() {
            add(broker, transaction, version, now_ms, (gather.clone(), place));
        }
    }
}

fn only_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id,
        producer_epoch: request.v3_and_below_producer_epoch,
        topics: request.v3_and_below_topics,
        ..AddPartitionsToTxnTransaction::default()
    }
}

fn add(
    broker: &Arc<Broker>,
    transaction: AddPartitionsToTxnTransaction,
    version: i16,
    now_ms: i64,
    (gather, place): (Gather<AddPartitionsToTxnResult>, usize),
) {
    let partitions = partitions_of(&transaction.topics);
    let transactional_id = transaction.transactional_id;
    if let Some(results) = refuse_unknown(broker, &partitions) {
        return gather.put(place, result(transactional_id, results));
    }
    let producer = ProducerIdAndEpoch { producer_id: transaction.producer_id, producer_epoch: transaction.producer_epoch };
    if transaction.verify_only {
        let verified = broker.transactions().verify_partitions(broker, (&transactional_id, producer), &partitions);
        let results = verified.unwrap_or_else(|error| with_error(&partitions, error));
        return gather.put(place, result(transactional_id, results));
    }
    let request = TransactionRequest::AddPartitions {
        transactional_id: transactional_id.clone(),
        producer,
        partitions,
        client_transaction_version: if version >= FIRST_BATCHED_VERSION { 2 } else { 0 },
    };
    broker.transactions().call(broker, request, now_ms, move |answer| {
        let error = match answer {
            Err(ErrorCode::ProducerFenced) if version < FIRST_VERSION_WITH_FENCED => ErrorCode::InvalidProducerEpoch,
            Err(error) => error,
            Ok(_) => ErrorCode::None,
        };
        gather.put(place, result_for_all(transactional_id, transaction.topics, error));
    });
}

fn partitions_of(topics: &[AddPartitionsToTxnTopic]) -> BTreeSet<TopicPartition> {
    let of_topic = |topic: &AddPartitionsToTxnTopic| {
        let name: Arc<str> = topic.name.as_str().into();
        topic.partitions.iter().map(move |&partition| TopicPartition { topic: name.clone(), partition }).collect::<Vec<_>>()
    };
    topics.iter().flat_map(of_topic).collect()
}

/// With a partition that does not exist, none is added: the others are told so.
fn refuse_unknown(broker: &Broker, partitions: &BTreeSet<TopicPartition>) -> Option<Vec<(TopicPartition, ErrorCode)>> {
    let image = broker.image();
    let exists = |partition: &TopicPartition| {
        image.topics.by_name(&partition.topic).is_some_and(|topic| topic.partitions.contains_key(&partition.partition))
    };
    if partitions.iter().all(exists) {
        return None;
    }
    let judge = |partition: &TopicPartition| {
        let error = if exists(partition) { ErrorCode::OperationNotAttempted } else { ErrorCode::UnknownTopicOrPartition };
        (partition.clone(), error)
    };
    Some(partitions.iter().map(judge).collect())
}

fn with_error(partitions: &BTreeSet<TopicPartition>, error: ErrorCode) -> Vec<(TopicPartition, ErrorCode)> {
    partitions.iter().map(|partition| (partition.clone(), error)).collect()
}

/// The same result for everything that the request names, topics without partitions included.
fn result_for_all(transactional_id: String, topics: Vec<AddPartitionsToTxnTopic>, error: ErrorCode) -> AddPartitionsToTxnResult {
    let topic_result = |topic: AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name,
        results_by_partition: topic.partitions.into_iter().map(|index| partition_result(index, error)).collect(),
        ..AddPartitionsToTxnTopicResult::default()
    };
    AddPartitionsToTxnResult {
        transactional_id,
        topic_results: topics.into_iter().map(topic_result).collect(),
        ..AddPartitionsToTxnResult::default()
    }
}

fn partition_result(partition_index: i32, error: ErrorCode) -> AddPartitionsToTxnPartitionResult {
    AddPartitionsToTxnPartitionResult {
        partition_index,
        partition_error_code: error.code(),
        ..AddPartitionsToTxnPartitionResult::default()
    }
}

fn result(transactional_id: String, results: Vec<(TopicPartition, ErrorCode)>) -> AddPartitionsToTxnResult {
    let mut topics: IndexMap<Arc<str>, Vec<AddPartitionsToTxnPartitionResult>> = IndexMap::new();
    for (partition, error) in results {
        topics.entry(partition.topic).or_default().push(partition_result(partition.partition, error));
    }
    let topic_result = |(name, results_by_partition): (Arc<str>, _)| AddPartitionsToTxnTopicResult {
        name: name.to_string(),
        results_by_partition,
        ..AddPartitionsToTxnTopicResult::default()
    };
    AddPartitionsToTxnResult {
        transactional_id,
        topic_results: topics.into_iter().map(topic_result).collect(),
        ..AddPartitionsToTxnResult::default()
    }
}
