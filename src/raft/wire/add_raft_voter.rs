//! AddRaftVoter (80), versions 0 and 1.

use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::add_raft_voter_request as request;
use ottla_protocol::messages::add_raft_voter_response as response;

use crate::message::{AddVoterRequest, LeaderAndEpoch, Response, ResponseBody};
use crate::replica::{Endpoint, Endpoints, ReplicaKey};
use crate::wire::{Wire, error};

impl Wire<'_> {
    /// What an operator or a peer asks, or the error to answer it with.
    pub fn read_add_raft_voter_request(&self, message: &request::AddRaftVoterRequest) -> Result<AddVoterRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        let listeners = message.listeners.iter();
        let endpoints = listeners.map(|l| (l.name.clone(), Endpoint { host: l.host.clone(), port: l.port })).collect();
        Ok(AddVoterRequest {
            voter: ReplicaKey::new(BrokerId(message.voter_id), message.voter_directory_id),
            endpoints: Endpoints(endpoints),
            // Version 0 is answered when the change is committed.
            ack_when_committed: self.version < 1 || message.ack_when_committed,
        })
    }

    /// The request as it is sent.
    pub fn write_add_raft_voter_request(&self, add: &AddVoterRequest, timeout_ms: i32) -> request::AddRaftVoterRequest {
        let listeners = add.endpoints.0.iter().map(|(name, endpoint)| request::Listener {
            name: name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        });
        request::AddRaftVoterRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            timeout_ms,
            voter_id: add.voter.id.0,
            voter_directory_id: add.voter.directory_id_or_zero(),
            listeners: listeners.collect(),
            ack_when_committed: self.version < 1 || add.ack_when_committed,
            ..Default::default()
        }
    }

    /// The answer as it is sent.
    pub fn write_add_raft_voter_response(&self, answer: &Response) -> response::AddRaftVoterResponse {
        let error_message = match &answer.body {
            ResponseBody::AddVoter { message } => message.clone(),
            _ => None,
        };
        response::AddRaftVoterResponse { error_code: answer.error.code(), error_message, ..Default::default() }
    }

    /// What the leader answers.
    pub fn read_add_raft_voter_response(&self, message: response::AddRaftVoterResponse) -> Response {
        Response {
            error: error(message.error_code),
            leader: LeaderAndEpoch::default(),
            leader_endpoints: Endpoints::default(),
            body: ResponseBody::AddVoter { message: message.error_message },
        }
    }
}
