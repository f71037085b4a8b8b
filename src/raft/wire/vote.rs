//! Vote (52), versions 0 to 2.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_protocol::messages::vote_request as request;
use ottla_protocol::messages::vote_response as response;

use crate::message::{Response, ResponseBody, VoteRequest};
use crate::replica::{OffsetAndEpoch, ReplicaKey};
use crate::wire::{PARTITION, ResponseError, TOPIC, Wire, check_top_level, error, leader, leader_id_or_none};

impl Wire<'_> {
    /// What a peer asks, or the error to answer it with.
    pub fn read_vote_request(&self, message: &request::VoteRequest) -> Result<VoteRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let [topic] = message.topics.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        let ([partition], TOPIC) = (topic.partitions.as_slice(), topic.topic_name.as_str()) else {
            return Err(ErrorCode::InvalidRequest);
        };
        if partition.partition_index != PARTITION {
            return Err(ErrorCode::InvalidRequest);
        }
        let voter = ReplicaKey::new(BrokerId(message.voter_id), partition.voter_directory_id);
        Ok(VoteRequest {
            epoch: LeaderEpoch(partition.replica_epoch),
            candidate: ReplicaKey::new(BrokerId(partition.replica_id), partition.replica_directory_id),
            voter: (message.voter_id >= 0).then_some(voter),
            last: OffsetAndEpoch::new(partition.last_offset, LeaderEpoch(partition.last_offset_epoch)),
            pre_vote: partition.pre_vote,
        })
    }

    /// The request as it is sent; a version that the peer does not know leaves out what it has no field for. A pre-vote needs version 2.
    pub fn write_vote_request(&self, vote: &VoteRequest) -> request::VoteRequest {
        let has_directories = self.version >= 1;
        let voter = vote.voter.filter(|_| has_directories);
        let partition = request::PartitionData {
            partition_index: PARTITION,
            replica_epoch: vote.epoch.0,
            replica_id: vote.candidate.id.0,
            replica_directory_id: if has_directories { vote.candidate.directory_id_or_zero() } else { Default::default() },
            voter_directory_id: voter.map(ReplicaKey::directory_id_or_zero).unwrap_or_default(),
            last_offset_epoch: vote.last.epoch.0,
            last_offset: vote.last.offset,
            pre_vote: vote.pre_vote,
            ..Default::default()
        };
        let topic = request::TopicData { topic_name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        request::VoteRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            voter_id: voter.map_or(-1, |voter| voter.id.0),
            topics: vec![topic],
            ..Default::default()
        }
    }

    /// The answer as it is sent.
    pub fn write_vote_response(&self, answer: &Response) -> response::VoteResponse {
        let partition = response::PartitionData {
            partition_index: PARTITION,
            error_code: answer.error.code(),
            leader_id: leader_id_or_none(answer.leader),
            leader_epoch: answer.leader.epoch.0,
            vote_granted: answer.body == ResponseBody::Vote { granted: true },
            ..Default::default()
        };
        let topic = response::TopicData { topic_name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        let endpoint = self.node_endpoint(answer.leader, &answer.leader_endpoints);
        let node_endpoints = endpoint.map(|(node_id, endpoint)| response::NodeEndpoint {
            node_id,
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        response::VoteResponse { topics: vec![topic], node_endpoints: node_endpoints.into_iter().collect(), ..Default::default() }
    }

    /// What a peer answers.
    pub fn read_vote_response(&self, message: response::VoteResponse) -> Result<Response, ResponseError> {
        check_top_level(message.error_code)?;
        let topic = message.topics.first().filter(|topic| topic.topic_name == TOPIC);
        let partition = topic.and_then(|topic| topic.partitions.first()).ok_or(ResponseError::NotAboutMetadata)?;
        let leader = leader(partition.leader_id, partition.leader_epoch);
        let nodes = message.node_endpoints.into_iter().map(|node| (node.node_id, node.host, i64::from(node.port)));
        Ok(Response {
            error: error(partition.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, nodes),
            body: ResponseBody::Vote { granted: partition.vote_granted },
        })
    }
}
