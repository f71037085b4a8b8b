//! Metadata: which brokers there are, and where the leaders of which partitions are. Asking for a topic may create it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_metadata::{MetadataImage, PartitionRegistration, TopicImage};
use ottla_model::{ErrorCode, Uuid, internal_topic, validate_topic_name};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::metadata_request::MetadataRequest;
use ottla_protocol::messages::metadata_response::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

use crate::api::{Handler, Operation, Rights};
use crate::authorized_operations;
use crate::broker::Broker;
use crate::endpoints;
use crate::request::RequestContext;

/// The API.
pub struct Metadata;

impl Handler for Metadata {
    type Request = MetadataRequest;
    const KEY: ApiKey = ApiKey::Metadata;
    const RIGHTS: Rights = Rights::Topic(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: MetadataRequest) {
        let response = if !names_are_in_version(&request, context.api_version) {
            failed(&request, ErrorCode::InvalidRequest)
        } else if names_nothing(&request) {
            failed(&request, ErrorCode::UnknownServerError)
        } else {
            respond(broker, &context, &request)
        };
        context.reply(&response);
    }
}

/// Null names and topic ids came with version 10, but work only since version 12.
fn names_are_in_version(request: &MetadataRequest, version: i16) -> bool {
    let topics = request.topics.as_deref().unwrap_or_default();
    version >= 12 || topics.iter().all(|topic| topic.name.is_some() && topic.topic_id.is_zero())
}

/// Whether a topic is named neither by name nor by id, for which Kafka has no code. Where there is any id, names are not looked at.
fn names_nothing(request: &MetadataRequest) -> bool {
    let topics = request.topics.as_deref().unwrap_or_default();
    topics.iter().all(|topic| topic.topic_id.is_zero()) && topics.iter().any(|topic| topic.name.is_none())
}

fn failed(request: &MetadataRequest, error: ErrorCode) -> MetadataResponse {
    let topics = request.topics.iter().flatten().map(|topic| MetadataResponseTopic {
        error_code: error.code(),
        name: Some(topic.name.clone().unwrap_or_default()),
        topic_id: topic.topic_id,
        ..MetadataResponseTopic::default()
    });
    MetadataResponse { topics: topics.collect(), error_code: error.code(), ..MetadataResponse::default() }
}

fn respond(broker: &Arc<Broker>, context: &RequestContext, request: &MetadataRequest) -> MetadataResponse {
    let image = broker.image();
    let version = context.api_version;
    let mut topics = requested_topics(broker, &image, context, request);
    if version >= 8 && request.include_topic_authorized_operations {
        // Of a topic that is unknown by its id nothing is told.
        for topic in topics.iter_mut().filter(|topic| topic.name.is_some()) {
            topic.topic_authorized_operations = authorized_operations::TOPIC;
        }
    }
    let listener = &context.connection.info.listener;
    let brokers = endpoints::alive_brokers(&image, listener).map(|node| MetadataResponseBroker {
        node_id: node.id.0,
        host: node.host.to_owned(),
        port: node.port,
        rack: node.rack.map(str::to_owned),
        ..MetadataResponseBroker::default()
    });
    let describes_cluster = (8..=10).contains(&version) && request.include_cluster_authorized_operations;
    MetadataResponse {
        brokers: brokers.collect(),
        cluster_id: Some(broker.cluster_id().to_owned()),
        controller_id: broker.controller_for_clients(&image).0,
        topics,
        cluster_authorized_operations: if describes_cluster { authorized_operations::CLUSTER } else { i32::MIN },
        ..MetadataResponse::default()
    }
}

fn requested_topics(
    broker: &Arc<Broker>,
    image: &MetadataImage,
    context: &RequestContext,
    request: &MetadataRequest,
) -> Vec<MetadataResponseTopic> {
    let view = View { image, listener: &context.connection.info.listener, version: context.api_version };
    let all = request.topics.as_ref().is_none_or(|topics| topics.is_empty() && context.api_version == 0);
    if all {
        return image.topics.iter().map(|topic| view.topic(topic)).collect();
    }
    let topics = request.topics.as_deref().unwrap_or_default();
    let ids: BTreeSet<Uuid> = topics.iter().map(|topic| topic.topic_id).filter(|id| !id.is_zero()).collect();
    if !ids.is_empty() {
        return ids.into_iter().map(|id| view.topic_by_id(id)).collect();
    }
    let names: BTreeSet<&str> = topics.iter().filter_map(|topic| topic.name.as_deref()).collect();
    let (existing, missing): (Vec<_>, Vec<_>) =
        names.into_iter().map(|name| (name, image.topics.by_name(name))).partition(|found| found.1.is_some());
    let mut responses: Vec<_> = existing.into_iter().filter_map(|(_, topic)| topic).map(|topic| view.topic(topic)).collect();
    let creates = broker.config().auto_create_topics_enable && (request.allow_auto_topic_creation || context.api_version < 4);
    let mut creatable = Vec::new();
    for (name, _) in missing {
        let error = match validate_topic_name(name) {
            Ok(()) => ErrorCode::UnknownTopicOrPartition,
            Err(_) => ErrorCode::InvalidTopicException,
        };
        if creates && error == ErrorCode::UnknownTopicOrPartition {
            creatable.push(name.to_owned());
        }
        responses.push(unknown_topic(Some(name), Uuid::ZERO, error));
    }
    if !creatable.is_empty() {
        broker.auto_create_topics(creatable);
    }
    responses
}

fn unknown_topic(name: Option<&str>, topic_id: Uuid, error: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: error.code(),
        name: name.map(str::to_owned),
        topic_id,
        is_internal: name.is_some_and(internal_topic::is_internal),
        ..MetadataResponseTopic::default()
    }
}

/// The image as one listener shows it at one version of the API.
struct View<'a> {
    image: &'a MetadataImage,
    listener: &'a str,
    version: i16,
}

impl View<'_> {
    fn topic_by_id(&self, id: Uuid) -> MetadataResponseTopic {
        match self.image.topics.by_id(id) {
            Some(topic) => self.topic(topic),
            None => unknown_topic(None, id, ErrorCode::UnknownTopicId),
        }
    }

    fn topic(&self, topic: &TopicImage) -> MetadataResponseTopic {
        MetadataResponseTopic {
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            is_internal: internal_topic::is_internal(&topic.name),
            partitions: topic.partitions.iter().map(|(&index, partition)| self.partition(index, partition)).collect(),
            ..MetadataResponseTopic::default()
        }
    }

    fn partition(&self, index: i32, partition: &PartitionRegistration) -> MetadataResponsePartition {
        let leader = endpoints::alive_broker(self.image, partition.leader, self.listener);
        let replicas = self.listed(&partition.replicas);
        let isr = self.listed(&partition.isr);
        let error = if leader.is_none() {
            // Since version 6 a leader that lacks the listener is told from one that is gone.
            let is_registered = self.image.cluster.broker(partition.leader).is_some();
            if is_registered && self.version >= 6 { ErrorCode::ListenerNotFound } else { ErrorCode::LeaderNotAvailable }
        } else if replicas.len() < partition.replicas.len() || isr.len() < partition.isr.len() {
            ErrorCode::ReplicaNotAvailable
        } else {
            ErrorCode::None
        };
        MetadataResponsePartition {
            error_code: error.code(),
            partition_index: index,
            leader_id: leader.map_or(-1, |node| node.id.0),
            leader_epoch: partition.leader_epoch.0,
            replica_nodes: replicas,
            isr_nodes: isr,
            offline_replicas: endpoints::offline_replicas(self.image, partition, self.listener),
            ..MetadataResponsePartition::default()
        }
    }

    /// Version 0 leaves out brokers that cannot be reached; later versions list all.
    fn listed(&self, brokers: &[ottla_model::BrokerId]) -> Vec<i32> {
        let reachable =
            |&&id: &&ottla_model::BrokerId| self.version > 0 || endpoints::alive_broker(self.image, id, self.listener).is_some();
        brokers.iter().filter(reachable).map(|id| id.0).collect()
    }
}
