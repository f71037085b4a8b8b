//! Messages of the quorum as the protocol lays them out. Every API has its file: requests and responses, both ways. Nothing is decided
//! here but whether a message is about this quorum at all.

pub mod add_raft_voter;
pub mod begin_quorum_epoch;
pub mod describe_quorum;
pub mod end_quorum_epoch;
pub mod fetch;
pub mod fetch_snapshot;
pub mod remove_raft_voter;
pub mod update_raft_voter;
pub mod vote;

#[cfg(test)]
mod tests;

use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};

use crate::message::LeaderAndEpoch;
use crate::replica::{Endpoint, Endpoints};

/// The only topic of the quorum.
pub(crate) const TOPIC: &str = ottla_model::internal_topic::CLUSTER_METADATA;
/// Its only partition.
pub(crate) const PARTITION: i32 = 0;
const NO_LEADER: i32 = -1;

/// Whom a message is between.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// The cluster that this node is in.
    pub cluster_id: &'a str,
    /// The listener that the message goes by: endpoints in a response are those of this listener.
    pub listener: &'a str,
    /// The version of the message.
    pub version: i16,
}

impl Wire<'_> {
    /// A request that names a cluster must name this one.
    pub(crate) fn check_cluster(&self, cluster_id: Option<&str>) -> Result<(), ErrorCode> {
        match cluster_id {
            Some(id) if id != self.cluster_id => Err(ErrorCode::InconsistentClusterId),
            Some(_) | None => Ok(()),
        }
    }

    /// The leader's endpoint for a response, from version 1 on.
    pub(crate) fn node_endpoint<'e>(&self, leader: LeaderAndEpoch, endpoints: &'e Endpoints) -> Option<(i32, &'e Endpoint)> {
        if self.version < 1 {
            return None;
        }
        Some((leader.leader_id?.0, endpoints.get(self.listener)?))
    }

    /// Endpoints out of a response: only the leader's matter.
    pub(crate) fn endpoints_of_leader(&self, leader: LeaderAndEpoch, nodes: impl IntoIterator<Item = (i32, String, i64)>) -> Endpoints {
        let Some(leader_id) = leader.leader_id else { return Endpoints::default() };
        let of_leader = nodes.into_iter().find(|(id, _, _)| *id == leader_id.0);
        match of_leader.and_then(|(_, host, port)| Some(Endpoint { host, port: u16::try_from(port).ok()? })) {
            Some(endpoint) => Endpoints::single(self.listener, endpoint),
            None => Endpoints::default(),
        }
    }
}

pub(crate) fn leader(leader_id: i32, epoch: i32) -> LeaderAndEpoch {
    LeaderAndEpoch { leader_id: (leader_id >= 0).then_some(BrokerId(leader_id)), epoch: LeaderEpoch(epoch) }
}

pub(crate) fn leader_id_or_none(leader: LeaderAndEpoch) -> i32 {
    leader.leader_id.map_or(NO_LEADER, |id| id.0)
}

/// An error code of a peer; what this node does not know is unknown to it.
pub(crate) fn error(code: i16) -> ErrorCode {
    ErrorCode::from_code(code).unwrap_or(ErrorCode::UnknownServerError)
}

/// Why a response cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The peer refused the request as a whole.
    #[error("the request was refused: {0}")]
    Refused(ErrorCode),
    /// The response is not about the metadata log.
    #[error("the response is not about the metadata log")]
    NotAboutMetadata,
}

/// `Refused` unless the code is 0.
pub(crate) fn check_top_level(code: i16) -> Result<(), ResponseError> {
    if code == 0 { Ok(()) } else { Err(ResponseError::Refused(error(code))) }
}
