//! LeaveGroup: members go, or are removed by an administrator (`classicGroupLeave` of `GroupMetadataManager`; KIP-345, KIP-800).

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::messages::leave_group_request::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::messages::leave_group_response::{LeaveGroupResponse, MemberResponse};

use super::operation::ClassicOperation;
use super::state::ClassicGroupState;

/// The first version that names several members.
const FIRST_VERSION_WITH_MEMBERS: i16 = 3;

/// The members that a request names, whatever its version.
pub(in crate::group) fn leaving_members(request: LeaveGroupRequest, api_version: i16) -> Vec<MemberIdentity> {
    if api_version >= FIRST_VERSION_WITH_MEMBERS {
        request.members
    } else {
        vec![MemberIdentity { member_id: request.member_id, ..MemberIdentity::default() }]
    }
}

/// The response at a version: before version 3 it is the error of the only member.
pub(in crate::group) fn leave_group_answer(members: Vec<MemberResponse>, api_version: i16) -> LeaveGroupResponse {
    if api_version >= FIRST_VERSION_WITH_MEMBERS {
        return LeaveGroupResponse { members, ..LeaveGroupResponse::default() };
    }
    let error_code = members.first().map_or(ErrorCode::None as i16, |member| member.error_code);
    LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() }
}

/// What a member that asked to leave is told.
pub(in crate::group) fn member_answer(member: &MemberIdentity, result: Result<(), ErrorCode>) -> MemberResponse {
    MemberResponse {
        member_id: member.member_id.clone(),
        group_instance_id: member.group_instance_id.clone(),
        error_code: result.err().unwrap_or(ErrorCode::None) as i16,
        ..MemberResponse::default()
    }
}

impl ClassicOperation<'_> {
    /// Handles the leaving of these members.
    pub fn leave(&mut self, members: &[MemberIdentity]) -> Vec<MemberResponse> {
        let mut answers = Vec::with_capacity(members.len());
        let mut left: Vec<Arc<str>> = Vec::new();
        for member in members {
            let result = self.leave_one(member);
            answers.push(member_answer(member, result.map(|member_id| left.push(member_id))));
        }
        if !left.is_empty() {
            match self.group.state {
                ClassicGroupState::Stable | ClassicGroupState::CompletingRebalance => {
                    self.rebalance_or_complete_join(format!("members {} have left", left.join(", ")));
                }
                ClassicGroupState::PreparingRebalance => self.maybe_complete_join_phase(),
                ClassicGroupState::Empty => {}
            }
        }
        answers
    }

    fn leave_one(&mut self, member: &MemberIdentity) -> Result<Arc<str>, ErrorCode> {
        let group_instance_id = member.group_instance_id.as_deref();
        let member_id: Arc<str> = if member.member_id.is_empty() {
            // An administrator removes a static member by its instance id alone.
            let member_id = group_instance_id.and_then(|group_instance_id| self.group.static_members.get(group_instance_id));
            member_id.ok_or(ErrorCode::UnknownMemberId)?.clone()
        } else {
            if !self.group.pending_join_members.contains(&*member.member_id) {
                self.group.validate_member(&member.member_id, group_instance_id)?;
            }
            member.member_id.as_str().into()
        };
        self.remove_member(&member_id);
        let reason = member.reason.as_deref().unwrap_or("not provided");
        self.note_removed(vec![member_id.clone()], format!("it asked to leave; client reason: {reason}"));
        Ok(member_id)
    }
}
