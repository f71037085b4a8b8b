//! Produce: appends record batches to partitions. Versions 0 to 2 are advertised because old librdkafka asks for them in the range, and are not
//! served, as in Kafka (KAFKA-18659). `acks=0` is not answered; an error then closes the connection, since nothing else can tell the client.

use std::sync::Arc;

use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, Uuid, internal_topic};
use ottla_protocol::messages::produce_request::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceResponse, TopicProduceResponse,
};
use ottla_protocol::{ApiKey, Records};
use ottla_record::{Batches, NO_TIMESTAMP, produced_batch};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::append::{AppendError, Appended, append_produced};
use crate::broker::Broker;
use crate::endpoints;
use crate::partition::Partition;
use crate::request::RequestContext;

/// The client id under which Kafka's own admin tools may write to internal topics (`AdminUtils`).
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// From this version on topics are named by id.
const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 13;

/// From this version on a client is told who leads instead.
const FIRST_VERSION_WITH_LEADER: i16 = 10;

/// The API.
pub struct Produce;

impl Handler for Produce {
    type Request = ProduceRequest;
    const KEY: ApiKey = ApiKey::Produce;
    const RIGHTS: Rights = Rights::Topic(Operation::Write);
    const QUOTA: QuotaClass = QuotaClass::Produce;
    const LOWEST_ADVERTISED_VERSION: i16 = 0;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ProduceRequest) {
        let image = broker.image();
        let mut produce = ProduceCall { broker, image: &image, context: &context, request: &request, unflushed: Vec::new() };
        let response = produce.respond();
        let unflushed = produce.unflushed;
        if unflushed.is_empty() {
            return answer(context, request.acks, &response);
        }
        let (flushing, acks) = (broker.clone(), request.acks);
        broker.environment().blocking.run(Box::new(move || {
            let mut response = response;
            flush(&flushing, &unflushed, context.now_ms, &mut response);
            answer(context, acks, &response);
        }));
    }
}

fn answer(context: RequestContext, acks: i16, response: &ProduceResponse) {
    if acks != 0 {
        return context.reply(response);
    }
    match first_error(response) {
        None => context.no_reply(),
        Some((topic, partition, error)) => {
            let reason = format!("Produce with acks=0 failed for {topic}-{partition}: {}", error_name(error));
            context.close(reason);
        }
    }
}

/// A partition whose `flush.messages` asks for a flush before the answer; `topic` and `place` tell where its result is in the response.
struct Unflushed {
    topic: usize,
    place: usize,
    partition: Arc<Partition>,
    end_offset: i64,
}

fn flush(broker: &Arc<Broker>, unflushed: &[Unflushed], now_ms: i64, response: &mut ProduceResponse) {
    for Unflushed { topic, place, partition, end_offset } in unflushed {
        if let Err(error) = partition.flush(broker, *end_offset, now_ms) {
            let index = partition.topic_partition().partition;
            response.responses[*topic].partition_responses[*place] = refused(index, error);
        }
    }
}

fn first_error(response: &ProduceResponse) -> Option<(&str, i32, i16)> {
    let partitions = response.responses.iter().flat_map(|topic| topic.partition_responses.iter().map(move |partition| (topic, partition)));
    partitions
        .filter(|(_, partition)| partition.error_code != ErrorCode::None.code())
        .map(|(topic, partition)| (topic.name.as_str(), partition.index, partition.error_code))
        .next()
}

fn error_name(code: i16) -> &'static str {
    ErrorCode::from_code(code).map_or("an unknown error", ErrorCode::name)
}

/// One request on its way through the partitions.
struct ProduceCall<'a> {
    broker: &'a Arc<Broker>,
    image: &'a MetadataImage,
    context: &'a RequestContext,
    request: &'a ProduceRequest,
    unflushed: Vec<Unflushed>,
}

impl ProduceCall<'_> {
    fn respond(&mut self) -> ProduceResponse {
        if self.has_transactional_records() && self.request.transactional_id.is_none() {
            return self.refuse_all(ErrorCode::TransactionalIdAuthorizationFailed);
        }
        let request = self.request;
        let responses: Vec<_> = request.topic_data.iter().enumerate().map(|(place, topic)| self.topic(place, topic)).collect();
        let names_other_leaders =
            responses.iter().flat_map(|topic| &topic.partition_responses).any(|partition| partition.current_leader.leader_id >= 0);
        let node_endpoints = if names_other_leaders { self.node_endpoints(&responses) } else { Vec::new() };
        ProduceResponse { responses, node_endpoints, ..ProduceResponse::default() }
    }

    fn has_transactional_records(&self) -> bool {
        let partitions = self.request.topic_data.iter().flat_map(|topic| &topic.partition_data);
        partitions
            .filter_map(|partition| partition.records.as_ref()?.memory())
            .any(|records| Batches::new(records).map_while(Result::ok).any(|batch| batch.header.is_transactional()))
    }

    fn refuse_all(&self, error: ErrorCode) -> ProduceResponse {
        let topics = self.request.topic_data.iter().map(|topic| TopicProduceResponse {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partition_responses: topic.partition_data.iter().map(|partition| refused(partition.index, error)).collect(),
            ..TopicProduceResponse::default()
        });
        ProduceResponse { responses: topics.collect(), ..ProduceResponse::default() }
    }

    fn topic(&mut self, topic_place: usize, topic: &TopicProduceData) -> TopicProduceResponse {
        let by_id = self.context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS;
        let topics = &self.image.topics;
        let image = if by_id { topics.by_id(topic.topic_id) } else { topics.by_name(&topic.name) };
        let partition_responses = topic.partition_data.iter().enumerate().map(|(place, data)| match image {
            None if by_id => refused(data.index, ErrorCode::UnknownTopicId),
            Some(image) if image.partitions.contains_key(&data.index) => {
                let topic_partition = TopicPartition { topic: image.name.clone(), partition: data.index };
                self.partition((topic_place, place), &topic_partition, image.id, data)
            }
            Some(_) | None => refused(data.index, ErrorCode::UnknownTopicOrPartition),
        });
        let partition_responses = partition_responses.collect();
        TopicProduceResponse { name: topic.name.clone(), topic_id: topic.topic_id, partition_responses, ..TopicProduceResponse::default() }
    }

    fn partition(
        &mut self,
        (topic, place): (usize, usize),
        topic_partition: &TopicPartition,
        topic_id: Uuid,
        data: &PartitionProduceData,
    ) -> PartitionProduceResponse {
        match self.append(topic_partition, topic_id, data) {
            Ok((partition, appended)) => {
                if appended.flush_due {
                    self.unflushed.push(Unflushed { topic, place, partition, end_offset: appended.end_offset });
                }
                PartitionProduceResponse {
                    index: data.index,
                    base_offset: appended.first_offset,
                    log_append_time_ms: appended.log_append_time_ms,
                    log_start_offset: appended.log_start_offset,
                    ..PartitionProduceResponse::default()
                }
            }
            Err(error) => {
                let mut response = failed(data.index, &error);
                if error.code == ErrorCode::NotLeaderOrFollower && self.context.api_version >= FIRST_VERSION_WITH_LEADER {
                    response.current_leader = self.current_leader(topic_id, data.index);
                }
                response
            }
        }
    }

    fn append(
        &self,
        topic_partition: &TopicPartition,
        topic_id: Uuid,
        data: &PartitionProduceData,
    ) -> Result<(Arc<Partition>, Appended), AppendError> {
        let records = data.records.as_ref().and_then(Records::memory).map_or(&[][..], |records| records);
        let batch = produced_batch(records, self.context.api_version)?;
        if !matches!(self.request.acks, -1..=1) {
            return Err(AppendError::of(ErrorCode::InvalidRequiredAcks));
        }
        if internal_topic::is_internal(&topic_partition.topic) && &*self.context.client_id != ADMIN_CLIENT_ID {
            return Err(AppendError::of(ErrorCode::InvalidTopicException));
        }
        let partition = self.broker.partitions().leader(topic_partition, topic_id)?;
        let appended = append_produced(self.broker, &partition, &batch, self.context.api_version, self.context.now_ms)?;
        Ok((partition, appended))
    }

    fn current_leader(&self, topic_id: Uuid, partition: i32) -> LeaderIdAndEpoch {
        match self.image.topics.partition(topic_id, partition) {
            Some(registration) => LeaderIdAndEpoch {
                leader_id: registration.leader.0,
                leader_epoch: registration.leader_epoch.0,
                ..LeaderIdAndEpoch::default()
            },
            None => LeaderIdAndEpoch::default(),
        }
    }

    fn node_endpoints(&self, responses: &[TopicProduceResponse]) -> Vec<NodeEndpoint> {
        let mut leaders: Vec<i32> =
            responses.iter().flat_map(|topic| &topic.partition_responses).map(|partition| partition.current_leader.leader_id).collect();
        leaders.sort_unstable();
        leaders.dedup();
        let listener = &self.context.connection.info.listener;
        let node = |id| endpoints::alive_broker(self.image, ottla_model::BrokerId(id), listener);
        let endpoint = |node: endpoints::Node<'_>| NodeEndpoint {
            node_id: node.id.0,
            host: node.host.to_owned(),
            port: node.port,
            rack: node.rack.map(str::to_owned),
            ..NodeEndpoint::default()
        };
        leaders.into_iter().filter_map(node).map(endpoint).collect()
    }
}

fn refused(index: i32, error: ErrorCode) -> PartitionProduceResponse {
    failed(index, &AppendError::of(error))
}

fn failed(index: i32, error: &AppendError) -> PartitionProduceResponse {
    let record_errors = error.bad_records.iter().map(|record| BatchIndexAndErrorMessage {
        batch_index: record.batch_index,
        batch_index_error_message: Some(record.message.clone()),
        ..BatchIndexAndErrorMessage::default()
    });
    PartitionProduceResponse {
        index,
        error_code: error.code.code(),
        base_offset: -1,
        log_append_time_ms: NO_TIMESTAMP,
        log_start_offset: error.log_start_offset,
        record_errors: record_errors.collect(),
        error_message: error.message.clone(),
        ..PartitionProduceResponse::default()
    }
}
