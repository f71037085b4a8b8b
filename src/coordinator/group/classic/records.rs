//! A classic group as the record that the log keeps of it, and back.

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_protocol::messages::group_metadata_value::{GroupMetadataValue, MemberMetadata};

use super::group::ClassicGroup;
use super::member::{ClassicGroupMember, SupportedProtocol};
use super::state::ClassicGroupState;
use crate::group::record::GroupRecord;
use crate::group::replay::ReplayError;

impl ClassicGroup {
    /// The group as a record of the log has it: stable when it has members, with only the protocol that was chosen.
    pub fn from_record(group_id: String, value: GroupMetadataValue) -> Result<ClassicGroup, ReplayError> {
        if value.protocol.is_none() && !value.members.is_empty() {
            return Err(ReplayError::MembersWithoutProtocol { group_id });
        }
        let mut group = ClassicGroup::new(group_id.into(), value.current_state_timestamp);
        group.state = if value.members.is_empty() { ClassicGroupState::Empty } else { ClassicGroupState::Stable };
        group.state_timestamp_ms = (value.current_state_timestamp != -1).then_some(value.current_state_timestamp);
        group.generation_id = value.generation;
        group.leader_id = value.leader.map(Into::into);
        let protocol = value.protocol.as_deref().unwrap_or_default();
        for member in value.members {
            group.add(member_from_record(member, protocol), &value.protocol_type, None);
        }
        group.protocol_type = (!value.protocol_type.is_empty()).then_some(value.protocol_type);
        group.protocol_name = value.protocol;
        // Members whose subscriptions cannot be read are as good as members of which nothing is known; no one to tell while loading.
        let _ = group.update_subscribed_topics();
        Ok(group)
    }

    /// The record of the group with these assignments; members that are not among them have an empty one.
    pub fn to_record(&self, assignment_of: impl Fn(&ClassicGroupMember) -> Bytes) -> GroupRecord {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        let members = self.members.values().map(|member| MemberMetadata {
            member_id: member.member_id.to_string(),
            group_instance_id: member.group_instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            rebalance_timeout: member.rebalance_timeout_ms,
            session_timeout: member.session_timeout_ms,
            subscription: member.metadata(protocol).cloned().unwrap_or_default(),
            assignment: assignment_of(member),
            ..MemberMetadata::default()
        });
        let value = GroupMetadataValue {
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            generation: self.generation_id,
            protocol: self.protocol_name.clone(),
            leader: self.leader_id.as_deref().map(str::to_owned),
            current_state_timestamp: self.state_timestamp_ms.unwrap_or(-1),
            members: members.collect(),
            ..GroupMetadataValue::default()
        };
        GroupRecord::GroupMetadata { group_id: self.group_id.to_string(), value: Some(value) }
    }

    /// The record with the assignments that the members have.
    pub fn to_record_as_assigned(&self) -> GroupRecord {
        self.to_record(|member| member.assignment.clone())
    }

    /// The record with the assignments that the leader sent.
    pub fn to_record_with(&self, assignment: &BTreeMap<String, Bytes>) -> GroupRecord {
        self.to_record(|member| assignment.get(&*member.member_id).cloned().unwrap_or_default())
    }

    /// The record of a group that was made for a join and has no members yet.
    pub fn to_empty_record(&self) -> GroupRecord {
        let value = GroupMetadataValue {
            protocol: None,
            leader: None,
            current_state_timestamp: self.state_timestamp_ms.unwrap_or(-1),
            ..GroupMetadataValue::default()
        };
        GroupRecord::GroupMetadata { group_id: self.group_id.to_string(), value: Some(value) }
    }
}

fn member_from_record(member: MemberMetadata, protocol: &str) -> ClassicGroupMember {
    // Version 0 has no rebalance timeout.
    let rebalance_timeout_ms = if member.rebalance_timeout == -1 { member.session_timeout } else { member.rebalance_timeout };
    ClassicGroupMember {
        member_id: member.member_id.into(),
        group_instance_id: member.group_instance_id,
        client_id: member.client_id,
        client_host: member.client_host,
        rebalance_timeout_ms,
        session_timeout_ms: member.session_timeout,
        // Copied: while loading, the bytes are slices of the log's read buffer.
        protocols: vec![SupportedProtocol { name: protocol.to_owned(), metadata: Bytes::copy_from_slice(&member.subscription) }],
        assignment: Bytes::copy_from_slice(&member.assignment),
        parked_join: None,
        parked_sync: None,
        is_new: false,
    }
}
