//! TxnOffsetCommit: stores how far a group has read, as part of a transaction. Partitions that do not exist are answered here, the rest by
//! the group's coordinator, once the transaction is verified.

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response, append_error_to_response_error};
use ottla_metadata::{MetadataImage, TopicImage};
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::txn_offset_commit_request::{TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic};
use ottla_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use ottla_record::NO_SEQUENCE;

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::group_host::Caller;
use crate::request::RequestContext;
use crate::verification::{Joining, SupportedErrors, join_transaction};

/// From this version on topics are named by id.
const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 6;

/// From this version on a client knows TRANSACTION_ABORTABLE.
const FIRST_VERSION_WITH_ABORTABLE: i16 = 4;

/// From this version on the group's partition becomes part of the transaction without AddOffsetsToTxn.
const FIRST_VERSION_THAT_ADDS: i16 = 5;

/// Older clients do not know COORDINATOR_LOAD_IN_PROGRESS.
const FIRST_VERSION_WITH_LOADING: i16 = 2;

/// The API.
pub struct TxnOffsetCommit;

impl Handler for TxnOffsetCommit {
    type Request = TxnOffsetCommitRequest;
    const KEY: ApiKey = ApiKey::TxnOffsetCommit;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, mut request: TxnOffsetCommitRequest) {
        let image = broker.image();
        let mut refused = Vec::new();
        let mut accepted = Vec::new();
        for topic in std::mem::take(&mut request.topics) {
            sort_out(&image, context.api_version, topic, &mut accepted, &mut refused);
        }
        if accepted.is_empty() {
            return context.reply(&TxnOffsetCommitResponse { topics: refused, ..TxnOffsetCommitResponse::default() });
        }
        request.topics = accepted;
        let origin = context.origin();
        let version = context.api_version;
        let partition = broker.groups().partition_of(broker, &request.group_id);
        let joined = if request.group_id.is_empty() { Ok(None) } else { join(broker, &request, partition, version, context.now_ms) };
        let then = move |response| match response {
            Response::TxnOffsetCommit(mut response) => {
                if version < FIRST_VERSION_WITH_LOADING {
                    hide_loading(&mut response);
                }
                response.topics = merge(refused, response.topics);
                context.reply(&response);
            }
            other => unreachable!("{other:?} answers TxnOffsetCommit"),
        };
        let request = GroupRequest::TxnOffsetCommit(request);
        match joined {
            Ok(verification_guard) => {
                let caller = Caller { verification_guard, ..origin.caller() };
                broker.groups().call(broker, partition, caller, request, Box::new(then));
            }
            Err(error) => then(request.error_answer(append_error_to_response_error(error), version)),
        }
    }
}

/// Verifies the transaction, or adds the group's partition to it.
fn join(
    broker: &Arc<Broker>,
    request: &TxnOffsetCommitRequest,
    partition: i32,
    version: i16,
    now_ms: i64,
) -> Result<Option<ottla_log::VerificationGuard>, ErrorCode> {
    let partition = broker.partitions().get_or_error(&TopicPartition::new(internal_topic::CONSUMER_OFFSETS, partition))?;
    partition.check_leader()?;
    let joining = Joining {
        transactional_id: &request.transactional_id,
        producer_id: request.producer_id,
        producer_epoch: request.producer_epoch,
        base_sequence: NO_SEQUENCE,
        errors: match version {
            FIRST_VERSION_THAT_ADDS.. => SupportedErrors::AddsPartition,
            FIRST_VERSION_WITH_ABORTABLE => SupportedErrors::Abortable,
            _ => SupportedErrors::Old,
        },
    };
    join_transaction(broker, &partition, &joining, now_ms)
}

fn hide_loading(response: &mut TxnOffsetCommitResponse) {
    for partition in response.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        if partition.error_code == ErrorCode::CoordinatorLoadInProgress.code() {
            partition.error_code = ErrorCode::CoordinatorNotAvailable.code();
        }
    }
}

fn sort_out(
    image: &MetadataImage,
    version: i16,
    mut topic: TxnOffsetCommitRequestTopic,
    accepted: &mut Vec<TxnOffsetCommitRequestTopic>,
    refused: &mut Vec<TxnOffsetCommitResponseTopic>,
) {
    let by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS;
    let found: Option<&Arc<TopicImage>> = if by_id { image.topics.by_id(topic.topic_id) } else { image.topics.by_name(&topic.name) };
    let Some(found) = found else {
        let error = if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        let indexes: Vec<i32> = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        return refused.push(refused_topic(&topic, &indexes, error));
    };
    let (existing, missing): (Vec<_>, Vec<_>) =
        std::mem::take(&mut topic.partitions).into_iter().partition(|partition| found.partitions.contains_key(&partition.partition_index));
    topic.name = found.name.to_string();
    topic.topic_id = found.id;
    if !missing.is_empty() {
        let indexes: Vec<i32> = missing.iter().map(|partition| partition.partition_index).collect();
        refused.push(refused_topic(&topic, &indexes, ErrorCode::UnknownTopicOrPartition));
    }
    if !existing.is_empty() {
        topic.partitions = existing;
        accepted.push(topic);
    }
}

fn refused_topic(topic: &TxnOffsetCommitRequestTopic, partitions: &[i32], error: ErrorCode) -> TxnOffsetCommitResponseTopic {
    let partitions = partitions.iter().map(|&partition_index| TxnOffsetCommitResponsePartition {
        partition_index,
        error_code: error.code(),
        ..TxnOffsetCommitResponsePartition::default()
    });
    TxnOffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: partitions.collect(),
        ..TxnOffsetCommitResponseTopic::default()
    }
}

fn merge(mut topics: Vec<TxnOffsetCommitResponseTopic>, answered: Vec<TxnOffsetCommitResponseTopic>) -> Vec<TxnOffsetCommitResponseTopic> {
    for topic in answered {
        match topics.iter_mut().find(|earlier| earlier.name == topic.name && earlier.topic_id == topic.topic_id) {
            Some(earlier) => earlier.partitions.extend(topic.partitions),
            None => topics.push(topic),
        }
    }
    topics
}
