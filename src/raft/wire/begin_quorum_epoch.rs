//! BeginQuorumEpoch (53), versions 0 and 1.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_protocol::messages::begin_quorum_epoch_request as request;
use ottla_protocol::messages::begin_quorum_epoch_response as response;

use crate::message::{BeginQuorumEpochRequest, Response, ResponseBody};
use crate::replica::{Endpoint, Endpoints, ReplicaKey};
use crate::wire::{PARTITION, ResponseError, TOPIC, Wire, check_top_level, error, leader, leader_id_or_none};

impl Wire<'_> {
    /// What a peer asks, or the error to answer it with.
    pub fn read_begin_quorum_epoch_request(
        &self,
        message: &request::BeginQuorumEpochRequest,
    ) -> Result<BeginQuorumEpochRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let [topic] = message.topics.as_slice() else { return Err(ErrorCode::InvalidRequest) };
        let ([partition], TOPIC) = (topic.partitions.as_slice(), topic.topic_name.as_str()) else {
            return Err(ErrorCode::InvalidRequest);
        };
        if partition.partition_index != PARTITION {
            return Err(ErrorCode::InvalidRequest);
        }
        let endpoints = message.leader_endpoints.iter();
        let endpoints = endpoints.map(|e| (e.name.clone(), Endpoint { host: e.host.clone(), port: e.port })).collect();
        let voter = ReplicaKey::new(BrokerId(message.voter_id), partition.voter_directory_id);
        Ok(BeginQuorumEpochRequest {
            epoch: LeaderEpoch(partition.leader_epoch),
            leader_id: BrokerId(partition.leader_id),
            leader_endpoints: Endpoints(endpoints),
            voter: (message.voter_id >= 0).then_some(voter),
        })
    }

    /// The request as it is sent.
    pub fn write_begin_quorum_epoch_request(&self, begin: &BeginQuorumEpochRequest) -> request::BeginQuorumEpochRequest {
        let is_flexible = self.version >= 1;
        let voter = begin.voter.filter(|_| is_flexible);
        let partition = request::PartitionData {
            partition_index: PARTITION,
            leader_id: begin.leader_id.0,
            leader_epoch: begin.epoch.0,
            voter_directory_id: voter.map(ReplicaKey::directory_id_or_zero).unwrap_or_default(),
            ..Default::default()
        };
        let topic = request::TopicData { topic_name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        let endpoints = begin.leader_endpoints.0.iter().filter(|_| is_flexible);
        let leader_endpoints = endpoints.map(|(name, endpoint)| request::LeaderEndpoint {
            name: name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        request::BeginQuorumEpochRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            voter_id: voter.map_or(-1, |voter| voter.id.0),
            topics: vec![topic],
            leader_endpoints: leader_endpoints.collect(),
            ..Default::default()
        }
    }

    /// The answer as it is sent.
    pub fn write_begin_quorum_epoch_response(&self, answer: &Response) -> response::BeginQuorumEpochResponse {
        let partition = response::PartitionData {
            partition_index: PARTITION,
            error_code: answer.error.code(),
            leader_id: leader_id_or_none(answer.leader),
            leader_epoch: answer.leader.epoch.0,
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
        let node_endpoints = node_endpoints.into_iter().collect();
        response::BeginQuorumEpochResponse { topics: vec![topic], node_endpoints, ..Default::default() }
    }

    /// What a peer answers.
    pub fn read_begin_quorum_epoch_response(&self, message: response::BeginQuorumEpochResponse) -> Result<Response, ResponseError> {
        check_top_level(message.error_code)?;
        let topic = message.topics.first().filter(|topic| topic.topic_name == TOPIC);
        let partition = topic.and_then(|topic| topic.partitions.first()).ok_or(ResponseError::NotAboutMetadata)?;
        let leader = leader(partition.leader_id, partition.leader_epoch);
        let nodes = message.node_endpoints.into_iter().map(|node| (node.node_id, node.host, i64::from(node.port)));
        Ok(Response {
            error: error(partition.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, nodes),
            body: ResponseBody::BeginQuorumEpoch,
        })
    }
}
