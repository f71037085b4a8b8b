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

#[cfg(test)]
mod tests {
    use ottla_model::{BrokerId, LeaderEpoch};
    use ottla_protocol::messages::describe_quorum_request::{PartitionData, TopicData};

    use super::*;
    use crate::leader::{LeaderStart, LeaderState};
    use crate::replica::{Endpoint, Endpoints, ReplicaKey, SupportedKRaftVersions, VoterNode, VoterSet};

    fn voter(id: i32) -> VoterNode {
        VoterNode {
            key: ReplicaKey::new(BrokerId(id), Uuid::from_u64_pair(1, id as u64)),
            endpoints: Endpoints::single("CONTROLLER", Endpoint { host: format!("node{id}"), port: 9093 }),
            kraft_versions: SupportedKRaftVersions::LOCAL,
        }
    }

    /// A leader of two voters and an observer, at 1000 ms.
    fn quorum() -> QuorumDescription {
        let mut leader = LeaderState::new(LeaderStart {
            local: voter(1),
            voters: &VoterSet::new([voter(1), voter(2)]),
            granting_voters: vec![BrokerId(1)],
            epoch_start_offset: 0,
            supports_reconfiguration: true,
            fetch_timeout_ms: 2000,
            now_ms: 0,
        });
        leader.local_flushed(10);
        leader.replica_fetched(voter(2).key, 8, 10, 900);
        leader.replica_fetched(voter(3).key, 10, 10, 950);
        QuorumDescription {
            leader_id: BrokerId(1),
            epoch: LeaderEpoch(4),
            high_watermark: leader.high_watermark,
            voters: leader.voters().cloned().collect(),
            observers: leader.observers(1000).cloned().collect(),
        }
    }

    fn request(name: &str, partition_index: i32) -> DescribeQuorumRequest {
        let partitions = vec![PartitionData { partition_index, ..Default::default() }];
        DescribeQuorumRequest {
            topics: vec![TopicData { topic_name: name.to_owned(), partitions, ..Default::default() }],
            ..Default::default()
        }
    }

    #[test]
    fn a_leader_tells_how_far_everyone_is() {
        let response = describe_quorum(&request(TOPIC, 0), Some(&quorum()), 2, 1000);
        let partition = &response.topics[0].partitions[0];
        assert_eq!((partition.leader_id, partition.leader_epoch, partition.high_watermark), (1, 4, 8));
        let told =
            partition.current_voters.iter().chain(&partition.observers).map(|replica| {
                (replica.replica_id, replica.log_end_offset, replica.last_fetch_timestamp, replica.last_caught_up_timestamp)
            });
        assert_eq!(told.collect::<Vec<_>>(), [(1, 10, 1000, 1000), (2, 8, 900, -1), (3, 10, 950, 950)]);
        assert_eq!(partition.current_voters[1].replica_directory_id, Uuid::from_u64_pair(1, 2));
        assert_eq!(response.nodes[0].listeners[0].host, "node1");
        let old = describe_quorum(&request(TOPIC, 0), Some(&quorum()), 1, 1000);
        assert_eq!(old.nodes, []);
        assert_eq!(old.topics[0].partitions[0].current_voters[1].replica_directory_id, Uuid::ZERO);
    }

    #[test]
    fn others_and_other_partitions_get_their_errors() {
        let code = |response: response::DescribeQuorumResponse| response.topics[0].partitions[0].error_code;
        assert_eq!(code(describe_quorum(&request(TOPIC, 0), None, 2, 1000)), ErrorCode::NotLeaderOrFollower.code());
        for other in [request(TOPIC, 1), request("topic", 0)] {
            assert_eq!(code(describe_quorum(&other, Some(&quorum()), 2, 1000)), ErrorCode::UnknownTopicOrPartition.code());
        }
        assert_eq!(describe_quorum(&DescribeQuorumRequest::default(), Some(&quorum()), 2, 1000).topics, []);
    }
}
