//! RemoveRaftVoter (81), version 0.

use ottla_model::{BrokerId, ErrorCode};
use ottla_protocol::messages::remove_raft_voter_request as request;
use ottla_protocol::messages::remove_raft_voter_response as response;

use crate::message::{LeaderAndEpoch, RemoveVoterRequest, Response, ResponseBody};
use crate::replica::{Endpoints, ReplicaKey};
use crate::wire::{Wire, error};

impl Wire<'_> {
    /// What an operator or a peer asks, or the error to answer it with.
    pub fn read_remove_raft_voter_request(&self, message: &request::RemoveRaftVoterRequest) -> Result<RemoveVoterRequest, ErrorCode> {
        self.check_cluster(message.cluster_id.as_deref())?;
        Ok(RemoveVoterRequest { voter: ReplicaKey::new(BrokerId(message.voter_id), message.voter_directory_id) })
    }

    /// The request as it is sent.
    pub fn write_remove_raft_voter_request(&self, remove: &RemoveVoterRequest) -> request::RemoveRaftVoterRequest {
        request::RemoveRaftVoterRequest {
            cluster_id: Some(self.cluster_id.to_owned()),
            voter_id: remove.voter.id.0,
            voter_directory_id: remove.voter.directory_id_or_zero(),
            ..Default::default()
        }
    }

    /// The answer as it is sent.
    pub fn write_remove_raft_voter_response(&self, answer: &Response) -> response::RemoveRaftVoterResponse {
        let error_message = match &answer.body {
            ResponseBody::RemoveVoter { message } => message.clone(),
            _ => None,
        };
        response::RemoveRaftVoterResponse { error_code: answer.error.code(), error_message, ..Default::default() }
    }

    /// What the leader answers.
    pub fn read_remove_raft_voter_response(&self, message: response::RemoveRaftVoterResponse) -> Response {
        Response {
            error: error(message.error_code),
            leader: LeaderAndEpoch::default(),
            leader_endpoints: Endpoints::default(),
            body: ResponseBody::RemoveVoter { message: message.error_message },
        }
    }
}
