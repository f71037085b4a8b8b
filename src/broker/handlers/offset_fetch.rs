//! OffsetFetch: how far groups have read. Each group's coordinator answers for it; topic ids are resolved here (KIP-709 batches, KIP-848 ids).

use std::sync::Arc;

use ottla_coordinator::group::{GroupRequest, Response, offset_fetch_groups, offset_fetch_response};
use ottla_metadata::MetadataImage;
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::offset_fetch_request::{OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use ottla_protocol::messages::offset_fetch_response::{OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::gather::Gather;
use crate::request::RequestContext;

/// From this version on topics are named by id.
const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 10;

/// The API.
pub struct OffsetFetch;

impl Handler for OffsetFetch {
    type Request = OffsetFetchRequest;
    const KEY: ApiKey = ApiKey::OffsetFetch;
    const RIGHTS: Rights = Rights::Group(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: OffsetFetchRequest) {
        let version = context.api_version;
        let require_stable = request.require_stable;
        let groups = offset_fetch_groups(request, version);
        let origin = context.origin();
        let gather = Gather::new(groups.len(), move |answered: Vec<OffsetFetchResponseGroup>| {
            context.reply(&offset_fetch_response(answered, version));
        });
        for (place, mut group) in groups.into_iter().enumerate() {
            let unknown = if version >= FIRST_VERSION_WITH_TOPIC_IDS { resolve_names(&broker.image(), &mut group) } else { Vec::new() };
            let partition = broker.groups().partition_of(broker, &group.group_id);
            let (gather, finishing) = (gather.clone(), broker.clone());
            let then = move |response| match response {
                Response::OffsetFetch(mut answered) => {
                    if version >= FIRST_VERSION_WITH_TOPIC_IDS {
                        fill_ids(&finishing.image(), &mut answered);
                    }
                    if answered.error_code == ErrorCode::None.code() {
                        answered.topics.extend(unknown);
                    }
                    gather.put(place, answered);
                }
                other => unreachable!("{other:?} answers OffsetFetch"),
            };
            broker.groups().call(broker, partition, origin.caller(), GroupRequest::OffsetFetch { group, require_stable }, Box::new(then));
        }
    }
}

/// Puts names beside the ids; topics with unknown ids are taken out and returned with their errors.
fn resolve_names(image: &MetadataImage, group: &mut OffsetFetchRequestGroup) -> Vec<OffsetFetchResponseTopics> {
    let Some(topics) = group.topics.take() else { return Vec::new() };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for mut topic in topics {
        match image.topics.by_id(topic.topic_id) {
            Some(found) => {
                topic.name = found.name.to_string();
                known.push(topic);
            }
            None => unknown.push(unknown_topic(&topic)),
        }
    }
    group.topics = Some(known);
    unknown
}

fn unknown_topic(topic: &OffsetFetchRequestTopics) -> OffsetFetchResponseTopics {
    let partitions = topic.partition_indexes.iter().map(|&partition_index| OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code: ErrorCode::UnknownTopicId.code(),
        ..OffsetFetchResponsePartitions::default()
    });
    OffsetFetchResponseTopics { topic_id: topic.topic_id, partitions: partitions.collect(), ..OffsetFetchResponseTopics::default() }
}

/// Where a group's topics were not asked for by id, the ids of those that exist are put in and the others left out.
fn fill_ids(image: &MetadataImage, group: &mut OffsetFetchResponseGroup) {
    group.topics.retain_mut(|topic| {
        if topic.topic_id.is_zero()
            && let Some(found) = image.topics.by_name(&topic.name)
        {
            topic.topic_id = found.id;
        }
        !topic.topic_id.is_zero()
    });
}
