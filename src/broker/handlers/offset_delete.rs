//! OffsetDelete: forgets a group's offsets of single partitions (KIP-496). Partitions that do not exist are answered here, the rest by the group's
//! coordinator, which is asked even if nothing is left: whether the group exists matters more.

use std::sync::Arc;

use indexmap::IndexMap;
use ottla_coordinator::group::{GroupRequest, Response};
use ottla_metadata::MetadataImage;
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::offset_delete_request::OffsetDeleteRequest;
use ottla_protocol::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The results of partitions that do not exist, by topic (`OffsetDeleteResponse.Builder`).
type Refused = IndexMap<String, OffsetDeleteResponseTopic>;

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
fn take_unknown(image: &MetadataImage, request: &mut OffsetDeleteRequest) -> Refused {
    let mut refused = Refused::new();
    request.topics.retain_mut(|topic| {
        let found = image.topics.by_name(&topic.name);
        let (existing, missing): (Vec<_>, Vec<_>) = std::mem::take(&mut topic.partitions)
            .into_iter()
            .partition(|partition| found.is_some_and(|found| found.partitions.contains_key(&partition.partition_index)));
        if found.is_none() || !missing.is_empty() {
            let results = missing.iter().map(|partition| OffsetDeleteResponsePartition {
                partition_index: partition.partition_index,
                error_code: ErrorCode::UnknownTopicOrPartition.code(),
                ..OffsetDeleteResponsePartition::default()
            });
            let named = OffsetDeleteResponseTopic { name: topic.name.clone(), ..OffsetDeleteResponseTopic::default() };
            refused.entry(topic.name.clone()).or_insert(named).partitions.extend(results);
        }
        topic.partitions = existing;
        !topic.partitions.is_empty()
    });
    refused
}

/// The results together. Where nothing was refused, they are the coordinator's, with its topics as often as the request names them.
fn merge(mut refused: Refused, answered: Vec<OffsetDeleteResponseTopic>) -> Vec<OffsetDeleteResponseTopic> {
    if refused.is_empty() {
        return answered;
    }
    for mut topic in answered {
        let partitions = std::mem::take(&mut topic.partitions);
        refused.entry(topic.name.clone()).or_insert(topic).partitions.extend(partitions);
    }
    refused.into_values().collect()
}
