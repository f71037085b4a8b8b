//! UpdateRaftVoter (82), version 0.

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_protocol::messages::update_raft_voter_request as request;
use ottla_protocol::messages::update_raft_voter_response as response;

use crate::message::{Response, ResponseBody, UpdateVoterRequest};
use crate::replica::{Endpoint, Endpoints, ReplicaKey, SupportedKRaftVersions};
use crate::wire::{Wire, error, leader, leader_id_or_none};

impl Wire<'_> {
    /// What a voter says of itself, or the error to answer it with.
    pub fn read_update_raft_voter_request(&self, message: &request::UpdateRaftVoterRequest) -> Result<UpdateVoterRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let listeners = message.listeners.iter();
        let endpoints = listeners.map(|l| (l.name.clone(), Endpoint { host: l.host.clone(), port: l.port })).collect();
        let feature = &message.k_raft_version_feature;
        Ok(UpdateVoterRequest {
            epoch: LeaderEpoch(message.current_leader_epoch),
            voter: ReplicaKey::new(BrokerId(message.voter_id), message.voter_directory_id),
            endpoints: Endpoints(endpoints),
            kraft_versions: SupportedKRaftVersions { min: feature.min_supported_version, max: feature.max_supported_version },
        })
    }

    /// The request as it is sent.
    pub fn write_update_raft_voter_request(&self, update: &UpdateVoterRequest) -> request::UpdateRaftVoterRequest {
        let listeners = update.endpoints.0.iter().map(|(name, endpoint)| request::Listener {
            name: name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        let mut message = request::UpdateRaftVoterRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            current_leader_epoch: update.epoch.0,
            voter_id: update.voter.id.0,
            voter_directory_id: update.voter.directory_id_or_zero(),
            listeners: listeners.collect(),
            ..Default::default()
        };
        message.k_raft_version_feature.min_supported_version = update.kraft_versions.min;
        message.k_raft_version_feature.max_supported_version = update.kraft_versions.max;
        message
    }

    /// The answer as it is sent.
    pub fn write_update_raft_voter_response(&self, answer: &Response) -> response::UpdateRaftVoterResponse {
        let mut message = response::UpdateRaftVoterResponse { error_code: answer.error.code(), ..Default::default() };
        message.current_leader.leader_id = leader_id_or_none(answer.leader);
        message.current_leader.leader_epoch = answer.leader.epoch.0;
        if let Some(endpoint) = answer.leader_endpoints.get(self.listener) {
            message.current_leader.host.clone_from(&endpoint.host);
            message.current_leader.port = i32::from(endpoint.port);
        }
        message
    }

    /// What the leader answers.
    pub fn read_update_raft_voter_response(&self, message: response::UpdateRaftVoterResponse) -> Response {
        let current = message.current_leader;
        let leader = leader(current.leader_id, current.leader_epoch);
        let node = (!current.host.is_empty()).then(|| (current.leader_id, current.host.clone(), i64::from(current.port)));
        Response {
            error: error(message.error_code),
            leader,
            leader_endpoints: self.endpoints_of_leader(leader, node),
            body: ResponseBody::UpdateVoter,
        }
    }
}
