//! DescribeProducers: the idempotent producers that partitions remember (KIP-664).

use std::sync::Arc;

use ottla_model::{ErrorCode, TopicPartition, validate_topic_name};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_producers_request::DescribeProducersRequest;
use ottla_protocol::messages::describe_producers_response::{DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct DescribeProducers;

impl Handler for DescribeProducers {
    type Request = DescribeProducersRequest;
    const KEY: ApiKey = ApiKey::DescribeProducers;
    const RIGHTS: Rights = Rights::Topic(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeProducersRequest) {
        let topics = request.topics.iter().map(|topic| {
            let problem = topic_problem(broker, &topic.name);
            let partitions = topic.partition_indexes.iter().map(|&index| match &problem {
                Some((error, message)) => failed(index, *error, message.clone()),
                None => describe(broker, &topic.name, index).unwrap_or_else(|error| failed(index, error, None)),
            });
            TopicResponse { name: topic.name.clone(), partitions: partitions.collect(), ..TopicResponse::default() }
        });
        let response = DescribeProducersResponse { topics: topics.collect(), ..DescribeProducersResponse::default() };
        context.reply(&response);
    }
}

fn topic_problem(broker: &Broker, topic: &str) -> Option<(ErrorCode, Option<String>)> {
    if let Err(invalid) = validate_topic_name(topic) {
        return Some((ErrorCode::InvalidTopicException, Some(invalid.to_string())));
    }
    let unknown = ErrorCode::UnknownTopicOrPartition;
    broker.image().topics.by_name(topic).is_none().then(|| (unknown, Some(unknown.message())))
}

fn describe(broker: &Broker, topic: &str, partition_index: i32) -> Result<PartitionResponse, ErrorCode> {
    let partition = broker.partitions().get_or_error(&TopicPartition::new(topic, partition_index))?;
    let states = partition.log().lock().producer_states();
    let active_producers = states.into_iter().map(|state| ProducerState {
        producer_id: state.producer_id,
        producer_epoch: i32::from(state.producer_epoch),
        last_sequence: state.last_sequence,
        last_timestamp: state.last_timestamp,
        coordinator_epoch: state.coordinator_epoch,
        current_txn_start_offset: state.current_transaction_first_offset,
        ..ProducerState::default()
    });
    Ok(PartitionResponse { partition_index, active_producers: active_producers.collect(), ..PartitionResponse::default() })
}

fn failed(partition_index: i32, error: ErrorCode, error_message: Option<String>) -> PartitionResponse {
    PartitionResponse { partition_index, error_code: error.code(), error_message, ..PartitionResponse::default() }
}
