//! Which way of assigning a group agrees on, and what the consumer protocol tells of its topics.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use ottla_protocol::{DecodeError, Message, Reader};

use super::group::ClassicGroup;
use super::member::SupportedProtocol;
use super::state::ClassicGroupState;

/// The protocol type of consumers (`ConsumerProtocol.PROTOCOL_TYPE`).
const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// The members' metadata is not that of the consumer protocol.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::group) struct UnknownSubscription;

impl ClassicGroup {
    /// Whether a member of this type and with these protocols can be in the group.
    pub fn supports_protocols(&self, protocol_type: &str, protocols: &[JoinGroupRequestProtocol]) -> bool {
        if self.state == ClassicGroupState::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        let supporters = |name: &str| self.protocol_support.get(name).copied().unwrap_or(0);
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|protocol| supporters(&protocol.name) == self.members.len())
    }

    /// The protocol that most members prefer among those that all support; of equals the first by name. `None` without members.
    pub fn select_protocol(&self) -> Option<String> {
        let candidates: BTreeSet<&str> = self
            .protocol_support
            .iter()
            .filter(|(_, supporters)| **supporters == self.members.len())
            .map(|(name, _)| name.as_str())
            .collect();
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(vote) = member.protocols.iter().find(|protocol| candidates.contains(protocol.name.as_str())) {
                *votes.entry(&vote.name).or_default() += 1;
            }
        }
        votes.into_iter().rev().max_by_key(|(_, count)| *count).map(|(name, _)| name.to_owned())
    }

    /// Whether the members are consumers.
    pub fn uses_consumer_protocol(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether a member reads this topic. A group of consumers whose topics are not known is taken to read any.
    pub fn is_subscribed_to(&self, topic: &str) -> bool {
        match &self.subscribed_topics {
            Some(topics) => topics.contains(topic),
            None => self.uses_consumer_protocol(),
        }
    }

    /// Works out anew which topics the members read. On failure they are unknown.
    pub fn update_subscribed_topics(&mut self) -> Result<(), UnknownSubscription> {
        self.subscribed_topics = None;
        if !self.uses_consumer_protocol() {
            return Ok(());
        }
        if self.members.is_empty() {
            self.subscribed_topics = Some(BTreeSet::new());
            return Ok(());
        }
        let Some(protocol) = self.protocol_name.as_deref() else { return Ok(()) };
        let mut topics = BTreeSet::new();
        for metadata in self.members.values().filter_map(|member| member.metadata(protocol)) {
            topics.extend(subscribed_topics(metadata.clone()).map_err(|_| UnknownSubscription)?);
        }
        self.subscribed_topics = Some(topics);
        Ok(())
    }

    pub(super) fn count_protocols(&mut self, protocols: &[SupportedProtocol]) {
        for name in distinct_names(protocols) {
            *self.protocol_support.entry(name.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn discount_protocols(&mut self, protocols: &[SupportedProtocol]) {
        for name in distinct_names(protocols) {
            match self.protocol_support.get_mut(name) {
                Some(supporters) if *supporters > 1 => *supporters -= 1,
                _ => {
                    self.protocol_support.remove(name);
                }
            }
        }
    }
}

/// A member supports a protocol once, however often it says so.
fn distinct_names(protocols: &[SupportedProtocol]) -> BTreeSet<&str> {
    protocols.iter().map(|protocol| protocol.name.as_str()).collect()
}

/// The topics of a consumer's metadata. Whatever its version, it begins like version 0.
fn subscribed_topics(metadata: Bytes) -> Result<Vec<String>, DecodeError> {
    let mut reader = Reader::new(metadata);
    let version = reader.i16()?;
    if version < 0 {
        return Err(DecodeError::UnsupportedVersion { message: ConsumerProtocolSubscription::NAME, version });
    }
    Ok(ConsumerProtocolSubscription::decode(&mut reader, 0)?.topics)
}
