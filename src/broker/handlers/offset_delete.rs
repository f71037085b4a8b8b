//! OffsetDelete: forgets a group's offsets of single partitions (KIP-496). Partitions that do not exist are answered here, the rest by the group's
//! coordinator, which is asked even if nothing is left: whether the group exists matters more.

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response};
use ottla_metadata::MetadataImage;
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::offset_delete_request::OffsetDeleteRequest;
use ottla_protocol::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct OffsetDelete;

impl Handler for OffsetDelete {
    type Request = OffsetDeleteRequest;
    const KEY: ApiKey = ApiKey::OffsetDelete;
    const RIGHTS: Rights = Rights::Group(Operation::Delete);

    fn handle(broker: &Arc<Broker>, context: RequestContext, mut request: OffsetDeleteRequest) {
        let refused = take_unknown(&broker.image(), &mut request);
        let partition = broker.groups().partition_of(broker, &request.group_id);
        let origin = context.origin();
        let then = move |response| match response {
            Response::OffsetDelete(mut response) => {
                if response.error_code == ErrorCode::None.code() {
                    response.topics = merge(refused, response.topics);
                }
                context.reply(&response);
            }
            other => unreachable!("{other:?} answers OffsetDelete"),
        };
        broker.groups().call(broker, partition, origin.caller(), GroupRequest::OffsetDelete(request), Box::new(then));
    }
}

/// Takes out the partitions that do not exist and returns their results.
fn take_unknown(image: &MetadataImage, request: &mut OffsetDeleteRequest) -> Vec<OffsetDeleteResponseTopic> {
    let mut refused = Vec::new();
    request.topics.retain_mut(|topic| {
        let found = image.topics.by_name(&topic.name);
        let (existing, missing): (Vec<_>, Vec<_>) = std::mem::take(&mut topic.partitions)
            .into_iter()
            .partition(|partition| found.is_some_and(|found| found.partitions.contains_key(&partition.partition_index)));
        if !missing.is_empty() {
            let partitions = missing.iter().map(|partition| OffsetDeleteResponsePartition {
                partition_index: partition.partition_index,
                error_code: ErrorCode::UnknownTopicOrPartition.code(),
                ..OffsetDeleteResponsePartition::default()
            });
            refused.push(OffsetDeleteResponseTopic {
                name: topic.name.clone(),
                partitions: partitions.collect(),
                ..OffsetDeleteResponseTopic::default()
            });
        }
        topic.partitions = existing;
        !topic.partitions.is_empty()
    });
    refused
}

fn merge(mut topics: Vec<OffsetDeleteResponseTopic>, answered: Vec<OffsetDeleteResponseTopic>) -> Vec<OffsetDeleteResponseTopic> {
    for topic in answered {
        match topics.iter_mut().find(|earlier| earlier.name == topic.name) {
            Some(earlier) => earlier.partitions.extend(topic.partitions),
            None => topics.push(topic),
        }
    }
    topics
}
