//! OffsetCommit: stores how far a group has read. Partitions that do not exist are answered here, the rest by the group's coordinator.

use std::sync::Arc;

use indexmap::IndexMap;
use ottla_coordinator::group::{GroupRequest, Response};
use ottla_metadata::{MetadataImage, TopicImage};
use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::offset_commit_request::{OffsetCommitRequest, OffsetCommitRequestTopic};
use ottla_protocol::messages::offset_commit_response::{OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// From this version on topics are named by id.
const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 10;

/// The results of partitions that do not exist, by topic (`OffsetCommitResponse.Builder`).
type Refused = IndexMap<(String, Uuid), OffsetCommitResponseTopic>;

/// The API.
pub struct OffsetCommit;

impl Handler for OffsetCommit {
    type Request = OffsetCommitRequest;
    const KEY: ApiKey = ApiKey::OffsetCommit;
    const RIGHTS: Rights = Rights::Group(Operation::Read);

    fn handle(broker: &Arc<Broker>, context: RequestContext, mut request: OffsetCommitRequest) {
        let image = broker.image();
        let mut refused = Refused::new();
        let mut accepted = Vec::new();
        for topic in std::mem::take(&mut request.topics) {
            sort_out(&image, context.api_version, topic, &mut accepted, &mut refused);
        }
        if accepted.is_empty() {
            let topics = refused.into_values().collect();
            return context.reply(&OffsetCommitResponse { topics, ..OffsetCommitResponse::default() });
        }
        request.topics = accepted;
        let partition = broker.groups().partition_of(broker, &request.group_id);
        let origin = context.origin();
        let then = move |response| match response {
            Response::OffsetCommit(mut response) => {
                response.topics = merge(refused, response.topics);
                context.reply(&response);
            }
            other => unreachable!("{other:?} answers OffsetCommit"),
        };
        broker.groups().call(broker, partition, origin.caller(), GroupRequest::OffsetCommit(request), Box::new(then));
    }
}

fn sort_out(
    image: &MetadataImage,
    version: i16,
    mut topic: OffsetCommitRequestTopic,
    accepted: &mut Vec<OffsetCommitRequestTopic>,
    refused: &mut Refused,
) {
    let by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS;
    let found: Option<&Arc<TopicImage>> = if by_id { image.topics.by_id(topic.topic_id) } else { image.topics.by_name(&topic.name) };
    let Some(found) = found else {
        let error = if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        let indexes: Vec<i32> = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        return refuse(refused, &topic, &indexes, error);
    };
    let (existing, missing): (Vec<_>, Vec<_>) =
        std::mem::take(&mut topic.partitions).into_iter().partition(|partition| found.partitions.contains_key(&partition.partition_index));
    topic.name = found.name.to_string();
    topic.topic_id = found.id;
    if !missing.is_empty() {
        let indexes: Vec<i32> = missing.iter().map(|partition| partition.partition_index).collect();
        refuse(refused, &topic, &indexes, ErrorCode::UnknownTopicOrPartition);
    }
    if !existing.is_empty() {
        topic.partitions = existing;
        accepted.push(topic);
    }
}

/// Adds partitions to the results of their topic, which is there once.
fn refuse(refused: &mut Refused, topic: &OffsetCommitRequestTopic, partitions: &[i32], error: ErrorCode) {
    let results = partitions.iter().map(|&partition_index| OffsetCommitResponsePartition {
        partition_index,
        error_code: error.code(),
        ..OffsetCommitResponsePartition::default()
    });
    let named = OffsetCommitResponseTopic { name: topic.name.clone(), topic_id: topic.topic_id, ..OffsetCommitResponseTopic::default() };
    refused.entry((topic.name.clone(), topic.topic_id)).or_insert(named).partitions.extend(results);
}

/// The results together. Where nothing was refused, they are the coordinator's, with its topics as often as the request names them.
fn merge(mut refused: Refused, answered: Vec<OffsetCommitResponseTopic>) -> Vec<OffsetCommitResponseTopic> {
    if refused.is_empty() {
        return answered;
    }
    for mut topic in answered {
        let partitions = std::mem::take(&mut topic.partitions);
        refused.entry((topic.name.clone(), topic.topic_id)).or_insert(topic).partitions.extend(partitions);
    }
    refused.into_values().collect()
}
