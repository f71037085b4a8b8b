//! A member of a classic group, and the request of its own that may be parked with it.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::messages::join_group_request::JoinGroupRequestProtocol;

use crate::group::outcome::RequestToken;

/// A way of assigning that a member supports, with what the assignor needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct SupportedProtocol {
    /// The assignor's name, e.g. `range`.
    pub name: String,
    /// The member's subscription, opaque but for the consumer protocol.
    pub metadata: Bytes,
}

impl SupportedProtocol {
    /// The protocols of a request, copied: the request's bytes are slices of a frame that would otherwise live as long as the member.
    pub fn copied(protocols: &[JoinGroupRequestProtocol]) -> Vec<SupportedProtocol> {
        let copy = |protocol: &JoinGroupRequestProtocol| SupportedProtocol {
            name: protocol.name.clone(),
            metadata: Bytes::copy_from_slice(&protocol.metadata),
        };
        protocols.iter().map(copy).collect()
    }
}

/// A JoinGroup that waits for the generation to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::group) struct ParkedJoin {
    /// The request.
    pub token: RequestToken,
    /// Its version.
    pub api_version: i16,
}

/// A SyncGroup that waits for the assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::group) struct ParkedSync {
    /// The request.
    pub token: RequestToken,
    /// Its version.
    pub api_version: i16,
}

/// A member (`ClassicGroupMember`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::group) struct ClassicGroupMember {
    /// Its id, given by the coordinator.
    pub member_id: Arc<str>,
    /// `group.instance.id` of a static member (KIP-345).
    pub group_instance_id: Option<String>,
    /// The client's name for itself.
    pub client_id: String,
    /// Where the client is.
    pub client_host: String,
    /// How long it may take to rejoin.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent.
    pub session_timeout_ms: i32,
    /// What it supports, in its order of preference.
    pub protocols: Vec<SupportedProtocol>,
    /// What the leader assigned to it; empty when there is nothing.
    pub assignment: Bytes,
    /// Set while it waits for the next generation. Change it through the group only, which counts.
    pub parked_join: Option<ParkedJoin>,
    /// Set while it waits for the assignment.
    pub parked_sync: Option<ParkedSync>,
    /// Whether it is not yet part of a generation: it then has no session, only the time in which a join must complete.
    pub is_new: bool,
}

impl ClassicGroupMember {
    /// What it sent along with `protocol`; `None` where it does not support it.
    pub fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|supported| supported.name == protocol).map(|supported| &supported.metadata)
    }

    /// Whether `protocols` are what it supports already, in the same order and with the same metadata.
    pub fn matches(&self, protocols: &[JoinGroupRequestProtocol]) -> bool {
        self.protocols.len() == protocols.len()
            && self.protocols.iter().zip(protocols).all(|(own, other)| own.name == other.name && own.metadata == other.metadata)
    }

    /// Whether a silent member is excused: it waits for us. New members are not, they may have given up long ago.
    pub fn has_satisfied_heartbeat(&self) -> bool {
        !self.is_new && (self.parked_join.is_some() || self.parked_sync.is_some())
    }
}
