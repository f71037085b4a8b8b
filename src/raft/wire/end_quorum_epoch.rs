//! EndQuorumEpoch (54), versions 0 and 1.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_protocol::messages::end_quorum_epoch_request as request;
use ottla_protocol::messages::end_quorum_epoch_response as response;

use crate::message::{EndQuorumEpochRequest, Response, ResponseBody};
use crate::replica::{Endpoint, Endpoints, ReplicaKey};
use crate::wire::{PARTITION, ResponseError, TOPIC, Wire, check_top_level, error, leader, leader_id_or_none};

impl Wire<'_> {
    /// What a peer asks, or the error to answer it with.
    pub fn read_end_quorum_epoch_request(&self, message: &request::EndQuorumEpochRequest) -> Result<EndQuorumEpochRequest, ErrorCode> {
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
        // Version 0 names the successors by id alone.
        let preferred_successors = if partition.preferred_candidates.is_empty() {
            partition.preferred_successors.iter().map(|&id| ReplicaKey { id: BrokerId(id), directory_id: None }).collect()
        } else {
            let candidates = partition.preferred_candidates.iter();
            candidates.map(|c| ReplicaKey::new(BrokerId(c.candidate_id), c.candidate_directory_id)).collect()
        };
        Ok(EndQuorumEpochRequest {
            epoch: LeaderEpoch(partition.leader_epoch),
            leader_id: BrokerId(partition.leader_id),
            leader_endpoints: Endpoints(endpoints),
            preferred_successors,
        })
    }

    /// The request as it is sent.
    pub fn write_end_quorum_epoch_request(&self, end: &EndQuorumEpochRequest) -> request::EndQuorumEpochRequest {
        let is_flexible = self.version >= 1;
        let candidates = end.preferred_successors.iter().filter(|_| is_flexible);
        let preferred_candidates = candidates.map(|candidate| request::ReplicaInfo {
            candidate_id: candidate.id.0,
            candidate_directory_id: candidate.directory_id_or_zero(),
            ..Default::default()
        });
        let by_id = end.preferred_successors.iter().filter(|_| !is_flexible);
        let partition = request::PartitionData {
            partition_index: PARTITION,
            leader_id: end.leader_id.0,
            leader_epoch: end.epoch.0,
            preferred_successors: by_id.map(|successor| successor.id.0).collect(),
            preferred_candidates: preferred_candidates.collect(),
            ..Default::default()
        };
        let topic = request::TopicData { topic_name: TOPIC.to_owned(), partitions: vec![partition], ..Default::default() };
        let endpoints = end.leader_endpoints.0.iter().filter(|_| is_flexible);
        let leader_endpoints = endpoints.map(|(name, endpoint)| request::LeaderEndpoint {
            name: name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        request::EndQuorumEpochRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            topics: vec![topic],
            leader_endpoints: leader_endpoints.collect(),
            ..Default::default()
        }
    }

    /// The answer as it is sent.
    pub fn write_end_quorum_epoch_response(&self, answer: &Response) -> response::EndQuorumEpochResponse {
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
        response::EndQuorumEpochResponse { topics: vec![topic], node_endpoints, ..Default::default() }
    }

    /// What a peer answers.
    pub fn read_end_quorum_epoch_response(&self, message: response::EndQuorumEpochResponse) -> Result<Response, ResponseError> {
        check_top_level(message.error_code)?;
        let topic = message.topics.first().filter(|topic| topic.topic_name == TOPIC);
        let partition = topic.and_then(|topic| topic.partitions.first()).ok_or(ResponseError::NotAboutMetadata)?;
        let leader = leader(partition.leader_id, partition.leader_epoch);
        let nodes = message.node_endpoints.into_iter().map(|node| (node.node_id, node.host, i64::from(node.port)));
        Ok(Response {
            error: error(partition.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, nodes),
            body: ResponseBody::EndQuorumEpoch,
        })
    }
}
