//! Produce: appends record batches to partitions. Versions 0 to 2 are advertised because old librdkafka asks for them in the range, and are not
//! served, as in Kafka (KAFKA-18659). `acks=0` is not answered; an error then closes the connection, since nothing else can tell the client.

use std::sync::Arc;

use indexmap::IndexMap;
use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, TopicPartition, Uuid, internal_topic};
use ottla_protocol::messages::produce_request::{PartitionProduceData, ProduceRequest};
use ottla_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, ProduceResponse, TopicProduceResponse,
};
use ottla_protocol::{ApiKey, Records};
use ottla_record::{Batch, HeaderError, NO_TIMESTAMP, ProducedBatchError, begins_transactional, produced_batch};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::append::{AppendError, Appended, ProduceOrigin, append_produced};
use crate::broker::Broker;
use crate::endpoints;
use crate::partition::Partition;
use crate::partition_map::{Partitions, partition_map};
use crate::request::RequestContext;

/// The client id under which Kafka's own admin tools may write to internal topics (`AdminUtils`).
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// From this version on topics are named by id.
const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 13;

/// From this version on batches may be compressed with zstd.
const FIRST_VERSION_WITH_ZSTD: i16 = 7;

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
        let topics = by_topic(self.request);
        match self.has_transactional_records() {
            Ok(true) if self.request.transactional_id.is_none() => {
                let error = AppendError::of(ErrorCode::TransactionalIdAuthorizationFailed);
                return refuse_all(&topics, &error);
            }
            Ok(_) => {}
            Err(unreadable) => {
                let error = AppendError { message: Some(unreadable.to_string()), ..AppendError::of(ErrorCode::CorruptMessage) };
                return refuse_all(&topics, &error);
            }
        }
        if self.context.api_version < FIRST_VERSION_WITH_ZSTD && self.has_unknown_codec(&topics) {
            return refuse_all(&topics, &AppendError::of(ErrorCode::UnknownServerError));
        }
        let responses: Vec<_> = topics.iter().enumerate().map(|(place, (named, wanted))| self.topic(place, *named, wanted)).collect();
        let names_other_leaders =
            responses.iter().flat_map(|topic| &topic.partition_responses).any(|partition| partition.current_leader.leader_id >= 0);
        let node_endpoints = if names_other_leaders { self.node_endpoints(&responses) } else { Vec::new() };
        ProduceResponse { responses, node_endpoints, ..ProduceResponse::default() }
    }

    fn has_transactional_records(&self) -> Result<bool, HeaderError> {
        let partitions = self.request.topic_data.iter().flat_map(|topic| &topic.partition_data);
        for partition in partitions {
            if begins_transactional(records_of(partition))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the codec of a batch for an existing partition is none that exists: older versions look at it before anything is appended.
    fn has_unknown_codec(&self, topics: &Topics<'_>) -> bool {
        let is_unknown = |data: &&PartitionProduceData| {
            matches!(produced_batch(records_of(data), self.context.api_version), Err(ProducedBatchError::UnknownCompressionType(_)))
        };
        topics.iter().any(|(named, wanted)| {
            let Some(image) = self.image.topics.by_name(named.name) else { return false };
            wanted.iter().any(|(index, brought)| image.partitions.contains_key(index) && brought.iter().any(is_unknown))
        })
    }

    fn topic(&mut self, topic_place: usize, named: NamedTopic<'_>, wanted: &Partitions<&PartitionProduceData>) -> TopicProduceResponse {
        let by_id = self.context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS;
        let topics = &self.image.topics;
        let image = if by_id { topics.by_id(named.id) } else { topics.by_name(named.name) };
        let partition_responses = wanted.iter().enumerate().map(|(place, (&index, brought))| match image {
            None if by_id => refused(index, ErrorCode::UnknownTopicId),
            Some(image) if image.partitions.contains_key(&index) => {
                let topic_partition = TopicPartition { topic: image.name.clone(), partition: index };
                self.partition((topic_place, place), &topic_partition, image.id, brought)
            }
            Some(_) | None => refused(index, ErrorCode::UnknownTopicOrPartition),
        });
        let partition_responses = partition_responses.collect();
        TopicProduceResponse { name: named.name.to_owned(), topic_id: named.id, partition_responses, ..TopicProduceResponse::default() }
    }

    /// What a request brings for one partition. Brought several times, the last valid records are appended, and one that is not valid
    /// decides the answer.
    fn partition(
        &mut self,
        place: (usize, usize),
        topic_partition: &TopicPartition,
        topic_id: Uuid,
        brought: &[&PartitionProduceData],
    ) -> PartitionProduceResponse {
        let index = topic_partition.partition;
        let (mut valid, mut invalid) = (None, None);
        for data in brought {
            match produced_batch(records_of(data), self.context.api_version) {
                Ok(batch) => valid = Some(batch),
                Err(error) => invalid = Some(error),
            }
        }
        let appended = valid.map(|batch| self.append_and_tell(place, topic_partition, topic_id, &batch));
        let refused = invalid.map(|error| failed(index, &error.into()));
        refused.or(appended).expect("a partition is listed with what is brought for it")
    }

    fn append_and_tell(
        &mut self,
        (topic, place): (usize, usize),
        topic_partition: &TopicPartition,
        topic_id: Uuid,
        batch: &Batch<'_>,
    ) -> PartitionProduceResponse {
        let index = topic_partition.partition;
        match self.append(topic_partition, topic_id, batch) {
            Ok((partition, appended)) => {
                if appended.flush_due {
                    self.unflushed.push(Unflushed { topic, place, partition, end_offset: appended.end_offset });
                }
                PartitionProduceResponse {
                    index,
                    base_offset: appended.first_offset,
                    log_append_time_ms: appended.log_append_time_ms,
                    log_start_offset: appended.log_start_offset,
                    ..PartitionProduceResponse::default()
                }
            }
            Err(error) => {
                let mut response = failed(index, &error);
                if error.code == ErrorCode::NotLeaderOrFollower && self.context.api_version >= FIRST_VERSION_WITH_LEADER {
                    response.current_leader = self.current_leader(topic_id, index);
                }
                response
            }
        }
    }

    fn append(
        &self,
        topic_partition: &TopicPartition,
        topic_id: Uuid,
        batch: &Batch<'_>,
    ) -> Result<(Arc<Partition>, Appended), AppendError> {
        if !matches!(self.request.acks, -1..=1) {
            return Err(AppendError::of(ErrorCode::InvalidRequiredAcks));
        }
        if internal_topic::is_internal(&topic_partition.topic) && &*self.context.client_id != ADMIN_CLIENT_ID {
            return Err(AppendError::of(ErrorCode::InvalidTopicException));
        }
        let partition = self.broker.partitions().leader(topic_partition, topic_id)?;
        let origin = ProduceOrigin {
            transactional_id: self.request.transactional_id.as_deref(),
            api_version: self.context.api_version,
            now_ms: self.context.now_ms,
        };
        let appended = append_produced(self.broker, &partition, batch, origin)?;
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

/// A topic as the request names it: by name, or by id with an empty name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct NamedTopic<'a> {
    name: &'a str,
    id: Uuid,
}

type Topics<'a> = IndexMap<NamedTopic<'a>, Partitions<&'a PartitionProduceData>>;

fn by_topic(request: &ProduceRequest) -> Topics<'_> {
    partition_map(request.topic_data.iter().map(|topic| {
        let named = NamedTopic { name: &topic.name, id: topic.topic_id };
        (named, topic.partition_data.iter().map(|data| (data.index, data)))
    }))
}

fn records_of(data: &PartitionProduceData) -> &[u8] {
    data.records.as_ref().and_then(Records::memory).map_or(&[][..], |records| records)
}

fn refuse_all(topics: &Topics<'_>, error: &AppendError) -> ProduceResponse {
    let topics = topics.iter().map(|(named, wanted)| TopicProduceResponse {
        name: named.name.to_owned(),
        topic_id: named.id,
        partition_responses: wanted.keys().map(|&index| failed(index, error)).collect(),
        ..TopicProduceResponse::default()
    });
    ProduceResponse { responses: topics.collect(), ..ProduceResponse::default() }
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
