//! DescribeTopicPartitions: topics and their partitions, a bounded number at a time, with the eligible leader replicas (KIP-966).

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_metadata::{MetadataImage, PartitionRegistration, TopicImage};
use ottla_model::{ErrorCode, internal_topic, validate_topic_name};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_topic_partitions_request::DescribeTopicPartitionsRequest;
use ottla_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};

use crate::api::{Handler, Operation, Rights};
use crate::authorized_operations;
use crate::broker::Broker;
use crate::endpoints;
use crate::request::RequestContext;

/// The API.
pub struct DescribeTopicPartitions;

impl Handler for DescribeTopicPartitions {
    type Request = DescribeTopicPartitionsRequest;
    const KEY: ApiKey = ApiKey::DescribeTopicPartitions;
    const RIGHTS: Rights = Rights::Topic(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeTopicPartitionsRequest) {
        let image = broker.image();
        let response = match requested_topics(&image, &request) {
            // Kafka takes the empty name for the cursor's, and has no cursor.
            Some(topics) if request.cursor.is_none() && topics.contains("") => failed(&request, ErrorCode::UnknownServerError),
            Some(topics) => {
                let limit = request.response_partition_limit.min(broker.config().max_request_partition_size_limit).max(1);
                Description {
                    image: &image,
                    listener: &context.connection.info.listener,
                    request: &request,
                    partitions_left: limit as usize,
                }
                .describe(topics)
            }
            None => failed(&request, ErrorCode::InvalidRequest),
        };
        context.reply(&response);
    }
}

/// The topics from the cursor on, in order; `None` when the cursor is not valid.
fn requested_topics<'a>(image: &'a MetadataImage, request: &'a DescribeTopicPartitionsRequest) -> Option<BTreeSet<&'a str>> {
    let first = request.cursor.as_ref().map_or("", |cursor| cursor.topic_name.as_str());
    let topics: BTreeSet<&str> = if request.topics.is_empty() {
        image.topics.iter().map(|topic| &*topic.name).filter(|name| *name >= first).collect()
    } else {
        request.topics.iter().map(|topic| topic.name.as_str()).filter(|name| *name >= first).collect()
    };
    let Some(cursor) = &request.cursor else { return Some(topics) };
    let is_listed = request.topics.is_empty() || topics.contains(first);
    (is_listed && cursor.partition_index >= 0).then_some(topics)
}

fn failed(request: &DescribeTopicPartitionsRequest, error: ErrorCode) -> DescribeTopicPartitionsResponse {
    let topics = request.topics.iter().map(|topic| DescribeTopicPartitionsResponseTopic {
        error_code: error.code(),
        name: Some(topic.name.clone()),
        ..DescribeTopicPartitionsResponseTopic::default()
    });
    DescribeTopicPartitionsResponse { topics: topics.collect(), ..DescribeTopicPartitionsResponse::default() }
}

struct Description<'a> {
    image: &'a MetadataImage,
    listener: &'a str,
    request: &'a DescribeTopicPartitionsRequest,
    partitions_left: usize,
}

impl Description<'_> {
    fn describe(mut self, topics: BTreeSet<&str>) -> DescribeTopicPartitionsResponse {
        let mut response = DescribeTopicPartitionsResponse::default();
        for name in topics {
            if self.partitions_left == 0 {
                response.next_cursor = Some(cursor(name, 0));
                break;
            }
            match self.image.topics.by_name(name) {
                Some(topic) => {
                    let (described, next_partition) = self.topic(topic);
                    self.partitions_left -= described.partitions.len();
                    response.topics.push(described);
                    if let Some(next_partition) = next_partition {
                        response.next_cursor = Some(cursor(name, next_partition));
                        break;
                    }
                }
                None if self.request.topics.is_empty() => {}
                None => response.topics.push(unknown(name)),
            }
        }
        for topic in &mut response.topics {
            topic.topic_authorized_operations = authorized_operations::TOPIC;
        }
        response
    }

    /// The topic's partitions from the cursor on, as many as are left, and the first that did not fit.
    fn topic(&self, topic: &TopicImage) -> (DescribeTopicPartitionsResponseTopic, Option<i32>) {
        let at_cursor = self.request.cursor.as_ref().filter(|cursor| *cursor.topic_name == *topic.name);
        let first = at_cursor.map_or(0, |cursor| cursor.partition_index);
        let end = (first as usize).saturating_add(self.partitions_left).min(topic.partitions.len());
        let partitions = topic
            .partitions
            .iter()
            .skip(first as usize)
            .take(self.partitions_left)
            .map(|(&index, partition)| self.partition(index, partition));
        let described = DescribeTopicPartitionsResponseTopic {
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            is_internal: internal_topic::is_internal(&topic.name),
            partitions: partitions.collect(),
            ..DescribeTopicPartitionsResponseTopic::default()
        };
        (described, (end < topic.partitions.len()).then_some(end as i32))
    }

    fn partition(&self, partition_index: i32, partition: &PartitionRegistration) -> DescribeTopicPartitionsResponsePartition {
        let ids = |brokers: &[ottla_model::BrokerId]| brokers.iter().map(|id| id.0).collect::<Vec<_>>();
        DescribeTopicPartitionsResponsePartition {
            partition_index,
            leader_id: endpoints::alive_broker(self.image, partition.leader, self.listener).map_or(-1, |node| node.id.0),
            leader_epoch: partition.leader_epoch.0,
            replica_nodes: ids(&partition.replicas),
            isr_nodes: ids(&partition.isr),
            eligible_leader_replicas: Some(ids(&partition.elr)),
            last_known_elr: Some(ids(&partition.last_known_elr)),
            offline_replicas: endpoints::offline_replicas(self.image, partition, self.listener),
            ..DescribeTopicPartitionsResponsePartition::default()
        }
    }
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    let error = if validate_topic_name(name).is_ok() { ErrorCode::UnknownTopicOrPartition } else { ErrorCode::InvalidTopicException };
    DescribeTopicPartitionsResponseTopic {
        error_code: error.code(),
        name: Some(name.to_owned()),
        is_internal: internal_topic::is_internal(name),
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}

fn cursor(topic_name: &str, partition_index: i32) -> Cursor {
    Cursor { topic_name: topic_name.to_owned(), partition_index, ..Cursor::default() }
}
