//! FindCoordinator: which broker coordinates a group or a transaction. Asking creates the internal topic when it does not exist yet; until
//! it does, the coordinator is not available. Versions up to 3 ask for one key, later ones for several.

use std::sync::Arc;

use ottla_coordinator::group::partition_for_group;
use ottla_metadata::MetadataImage;
use ottla_model::{ErrorCode, Uuid, internal_topic};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::find_coordinator_request::FindCoordinatorRequest;
use ottla_protocol::messages::find_coordinator_response::{Coordinator, FindCoordinatorResponse};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::endpoints::{self, Node};
use crate::request::RequestContext;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;
const FIRST_BATCHED_VERSION: i16 = 4;
const FIRST_VERSION_WITH_SHARE: i16 = 6;

/// Where nobody is.
const NO_NODE: Found = Found { id: -1, host: String::new(), port: -1 };

/// The API.
pub struct FindCoordinator;

impl Handler for FindCoordinator {
    type Request = FindCoordinatorRequest;
    const KEY: ApiKey = ApiKey::FindCoordinator;
    const RIGHTS: Rights = Rights::Group(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: FindCoordinatorRequest) {
        let response = if context.api_version < FIRST_BATCHED_VERSION {
            respond_single(find(broker, &context, request.key_type, &request.key))
        } else {
            respond_batched(broker, &context, &request)
        };
        context.reply(&response);
    }
}

struct Found {
    id: i32,
    host: String,
    port: i32,
}

fn respond_single(found: Result<Found, ErrorCode>) -> FindCoordinatorResponse {
    let error = found.as_ref().err().copied().unwrap_or(ErrorCode::None);
    let node = found.unwrap_or(NO_NODE);
    FindCoordinatorResponse {
        error_code: error.code(),
        error_message: Some(error.message()),
        node_id: node.id,
        host: node.host,
        port: node.port,
        ..FindCoordinatorResponse::default()
    }
}

fn respond_batched(broker: &Arc<Broker>, context: &RequestContext, request: &FindCoordinatorRequest) -> FindCoordinatorResponse {
    let is_known_type = matches!(request.key_type, GROUP | TRANSACTION | SHARE);
    let coordinators = request.coordinator_keys.iter().map(|key| {
        let found = find(broker, context, request.key_type, key);
        let error = found.as_ref().err().copied().unwrap_or(ErrorCode::None);
        let node = found.unwrap_or(NO_NODE);
        Coordinator {
            key: key.clone(),
            node_id: node.id,
            host: node.host,
            port: node.port,
            error_code: error.code(),
            // Only a request that fails as a whole explains itself.
            error_message: Some(if is_known_type { String::new() } else { error.message() }),
            ..Coordinator::default()
        }
    });
    FindCoordinatorResponse { coordinators: coordinators.collect(), ..FindCoordinatorResponse::default() }
}

fn find(broker: &Arc<Broker>, context: &RequestContext, key_type: i8, key: &str) -> Result<Found, ErrorCode> {
    match key_type {
        GROUP => find_group(broker, context, key),
        TRANSACTION => {
            let partition = broker.transactions().partition_of(broker, key);
            find_leader(broker, context, internal_topic::TRANSACTION_STATE, partition)
        }
        SHARE if context.api_version >= FIRST_VERSION_WITH_SHARE && is_share_partition_key(key) => Err(ErrorCode::CoordinatorNotAvailable),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

/// Whether a key is a group, a topic id and a partition, with colons between them (`SharePartitionKey.getInstance`).
fn is_share_partition_key(key: &str) -> bool {
    let mut parts = key.trim_end_matches(':').rsplitn(3, ':');
    let (Some(partition), Some(topic_id), Some(group_id)) = (parts.next(), parts.next(), parts.next()) else { return false };
    partition.parse::<i32>().is_ok() && topic_id.parse::<Uuid>().is_ok() && !group_id.trim().is_empty()
}

fn find_group(broker: &Arc<Broker>, context: &RequestContext, group_id: &str) -> Result<Found, ErrorCode> {
    let partition = partition_for_group(group_id, broker.config().offsets_topic_num_partitions);
    find_leader(broker, context, internal_topic::CONSUMER_OFFSETS, partition)
}

/// Who leads the partition of an internal topic; the topic is created if nobody has asked before.
fn find_leader(broker: &Arc<Broker>, context: &RequestContext, topic: &str, partition: i32) -> Result<Found, ErrorCode> {
    let image = broker.image();
    if image.topics.by_name(topic).is_none() {
        broker.auto_create_topics(vec![topic.to_owned()]);
        return Err(ErrorCode::CoordinatorNotAvailable);
    }
    let node = leader_of(&image, topic, partition, &context.connection.info.listener).ok_or(ErrorCode::CoordinatorNotAvailable)?;
    Ok(Found { id: node.id.0, host: node.host.to_owned(), port: node.port })
}

fn leader_of<'a>(image: &'a MetadataImage, topic: &str, partition: i32, listener: &str) -> Option<Node<'a>> {
    let topic = image.topics.by_name(topic)?;
    endpoints::alive_broker(image, topic.partitions.get(&partition)?.leader, listener)
}
