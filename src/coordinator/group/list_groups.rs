//! ListGroups and DescribeGroups: what groups there are, and who is in them.

use ottla_model::ErrorCode;
use ottla_protocol::messages::describe_groups_response::DescribedGroup;
use ottla_protocol::messages::list_groups_request::ListGroupsRequest;
use ottla_protocol::messages::list_groups_response::ListedGroup;

use super::group_map::Group;
use super::record_type::GroupType;
use super::shard::GroupCoordinatorShard;

/// The first version of DescribeGroups that says that a group does not exist (KIP-1043).
const FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND: i16 = 6;
/// The state of a group that is not there.
const DEAD: &str = "Dead";
/// The state of a group that is there and not served.
const UNKNOWN: &str = "Unknown";

impl GroupCoordinatorShard {
    /// The groups that pass the filters; an empty filter lets all pass, one of names that nobody knows lets none.
    pub(super) fn list_groups(&self, request: &ListGroupsRequest) -> Vec<ListedGroup> {
        let states: Vec<String> = request.states_filter.iter().map(|state| state.trim().to_lowercase()).collect();
        let types: Vec<Option<GroupType>> = request.types_filter.iter().map(|name| GroupType::parse(name)).collect();
        let passes = |group_type: GroupType, state: &str| {
            (types.is_empty() || types.contains(&Some(group_type))) && (states.is_empty() || states.contains(&state.to_lowercase()))
        };
        let listed = self.groups.iter().filter_map(|(group_id, group)| match group {
            Group::Classic(group) => passes(GroupType::Classic, group.state.name()).then(|| group.list()),
            Group::NotServed(group_type) => passes(*group_type, UNKNOWN).then(|| ListedGroup {
                group_id: group_id.to_string(),
                protocol_type: protocol_type_of(*group_type).to_owned(),
                group_state: UNKNOWN.to_owned(),
                group_type: group_type.name().to_owned(),
                ..ListedGroup::default()
            }),
        });
        listed.collect()
    }

    /// The groups in the order of the request. One that is not there is dead.
    pub(super) fn describe_groups(&self, group_ids: &[String], api_version: i16) -> Vec<DescribedGroup> {
        let describe = |group_id: &String| match self.groups.get(group_id) {
            Some(Group::Classic(group)) => group.describe(),
            Some(Group::NotServed(_)) => dead(group_id, format!("Group {group_id} is not a classic group."), api_version),
            None => dead(group_id, format!("Group {group_id} not found."), api_version),
        };
        group_ids.iter().map(describe).collect()
    }
}

fn protocol_type_of(group_type: GroupType) -> &'static str {
    match group_type {
        GroupType::Classic | GroupType::Consumer => "consumer",
        GroupType::Share => "share",
        GroupType::Streams => "streams",
    }
}

fn dead(group_id: &str, message: String, api_version: i16) -> DescribedGroup {
    let group = DescribedGroup { group_id: group_id.to_owned(), group_state: DEAD.to_owned(), ..DescribedGroup::default() };
    if api_version < FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND {
        return group;
    }
    DescribedGroup { error_code: ErrorCode::GroupIdNotFound as i16, error_message: Some(message), ..group }
}
