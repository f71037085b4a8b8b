//! DescribeQuorum (55), versions 0 to 2: what a leader tells an operator of its quorum.

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::describe_quorum_request::DescribeQuorumRequest;
use ottla_protocol::messages::describe_quorum_response as response;

use crate::core::QuorumDescription;
use crate::leader::ReplicaState;
use crate::wire::{PARTITION, TOPIC};

/// Kafka's text for `UNKNOWN_TOPIC_OR_PARTITION`.
const UNKNOWN_TOPIC: &str = "This server does not host this topic-partition.";
/// Kafka's text for `NOT_LEADER_OR_FOLLOWER`.
const NOT_LEADER: &str = "For requests intended only for the leader, this error indicates that the broker is not the current leader. \
    For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.";

/// The answer of a node at `now_ms`; `quorum` is `None` on one that does not lead.
pub fn describe_quorum(
    request: &DescribeQuorumRequest,
    quorum: Option<&QuorumDescription>,
    version: i16,
    now_ms: i64,
) -> response::DescribeQuorumResponse {
    if !is_about_metadata(request) {
        return unknown_partitions(request);
    }
    let Some(quorum) = quorum else { return not_leader() };
    let state = |replica: &ReplicaState| replica_state(replica, quorum, version, now_ms);
    let partition = response::PartitionData {
        partition_index: PARTITION,
        leader_id: quorum.leader_id.0,
        leader_epoch: quorum.epoch.0,
        high_watermark: quorum.high_watermark.unwrap_or(-1),
        current_voters: quorum.voters.iter().map(state).collect(),
        observers: quorum.observers.iter().map(state).collect(),
        ..Default::default()
    };
    let nodes = if version >= 2 { quorum.voters.iter().map(node).collect() } else { Vec::new() };
    response::DescribeQuorumResponse { topics: vec![topic(TOPIC, vec![partition])], nodes, ..Default::default() }
}

fn is_about_metadata(request: &DescribeQuorumRequest) -> bool {
    let [topic] = request.topics.as_slice() else { return false };
    let [partition] = topic.partitions.as_slice() else { return false };
    topic.topic_name == TOPIC && partition.partition_index == PARTITION
}

fn unknown_partitions(request: &DescribeQuorumRequest) -> response::DescribeQuorumResponse {
    let topics = request.topics.iter().map(|asked| {
        let indexes = asked.partitions.iter().map(|partition| partition.partition_index);
        topic(&asked.topic_name, indexes.map(|index| failed(index, ErrorCode::UnknownTopicOrPartition, UNKNOWN_TOPIC)).collect())
    });
    response::DescribeQuorumResponse { topics: topics.collect(), ..Default::default() }
}

fn not_leader() -> response::DescribeQuorumResponse {
    let partition = failed(PARTITION, ErrorCode::NotLeaderOrFollower, NOT_LEADER);
    response::DescribeQuorumResponse { topics: vec![topic(TOPIC, vec![partition])], ..Default::default() }
}

fn topic(name: &str, partitions: Vec<response::PartitionData>) -> response::TopicData {
    response::TopicData { topic_name: name.to_owned(), partitions, ..Default::default() }
}

fn failed(partition_index: i32, error: ErrorCode, message: &str) -> response::PartitionData {
    response::PartitionData { partition_index, error_code: error.code(), error_message: Some(message.to_owned()), ..Default::default() }
}

/// The leader itself is always up to date.
fn replica_state(replica: &ReplicaState, quorum: &QuorumDescription, version: i16, now_ms: i64) -> response::ReplicaState {
    let is_leader = replica.key.id == quorum.leader_id;
    response::ReplicaState {
        replica_id: replica.key.id.0,
        replica_directory_id: if version >= 2 { replica.key.directory_id_or_zero() } else { Uuid::ZERO },
        log_end_offset: replica.end_offset.unwrap_or(-1),
        last_fetch_timestamp: if is_leader { now_ms } else { replica.last_fetch_ms },
        last_caught_up_timestamp: if is_leader { now_ms } else { replica.last_caught_up_ms },
        ..Default::default()
    }
}

fn node(voter: &ReplicaState) -> response::Node {
    let listeners = voter.endpoints.0.iter().map(|(name, endpoint)| response::Listener {
        name: name.clone(),
        host: endpoint.host.clone(),
        port: endpoint.port,
        ..Default::default()
    });
    response::Node { node_id: voter.key.id.0, listeners: listeners.collect(), ..Default::default() }
}
