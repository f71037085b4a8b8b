//! What DescribeGroups and ListGroups show of a classic group.

use ottla_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use ottla_protocol::messages::list_groups_response::ListedGroup;

use super::group::ClassicGroup;
use super::state::ClassicGroupState;
use crate::group::record_type::GroupType;

impl ClassicGroup {
    /// The group with its members. Their metadata is shown only while the generation is stable.
    pub fn describe(&self) -> DescribedGroup {
        let protocol = if self.state == ClassicGroupState::Stable { self.protocol_name.as_deref() } else { None };
        let members = self.members.values().map(|member| DescribedGroupMember {
            member_id: member.member_id.to_string(),
            group_instance_id: member.group_instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            member_metadata: protocol.and_then(|protocol| member.metadata(protocol)).cloned().unwrap_or_default(),
            member_assignment: member.assignment.clone(),
            ..DescribedGroupMember::default()
        });
        DescribedGroup {
            group_id: self.group_id.to_string(),
            group_state: self.state.name().to_owned(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol_data: protocol.unwrap_or_default().to_owned(),
            members: members.collect(),
            ..DescribedGroup::default()
        }
    }

    /// The group's line in a list.
    pub fn list(&self) -> ListedGroup {
        ListedGroup {
            group_id: self.group_id.to_string(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            group_state: self.state.name().to_owned(),
            group_type: GroupType::Classic.name().to_owned(),
            ..ListedGroup::default()
        }
    }
}
