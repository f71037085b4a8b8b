//! Which requests a classic group takes: of whom, of which generation, in which state.

use ottla_model::ErrorCode;

use super::group::ClassicGroup;
use super::state::ClassicGroupState;

/// Who a commit says that it comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::group) struct Committer<'a> {
    /// Empty when it is not a member.
    pub member_id: &'a str,
    /// Of a static member.
    pub group_instance_id: Option<&'a str>,
    /// Negative when it is not a member.
    pub generation_id: i32,
    /// Whether the commit is part of a transaction: these are not bound to the group's state.
    pub is_transactional: bool,
}

impl ClassicGroup {
    /// Whether there is this member, under this instance id if one is given.
    pub fn validate_member(&self, member_id: &str, group_instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(group_instance_id) = group_instance_id {
            match self.static_members.get(group_instance_id) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(existing) if **existing != *member_id => return Err(ErrorCode::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member_id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    /// Whether it takes this commit.
    pub fn validate_offset_commit(&self, committer: Committer<'_>) -> Result<(), ErrorCode> {
        let is_empty = self.state == ClassicGroupState::Empty;
        if committer.generation_id < 0 && is_empty {
            // An admin client, or a consumer without membership.
            return Ok(());
        }
        if committer.generation_id >= 0 || !committer.member_id.is_empty() || committer.group_instance_id.is_some() {
            self.validate_member(committer.member_id, committer.group_instance_id)?;
            if committer.generation_id != self.generation_id {
                return Err(ErrorCode::IllegalGeneration);
            }
        } else if !committer.is_transactional && !is_empty {
            return Err(ErrorCode::UnknownMemberId);
        }
        if !committer.is_transactional && self.state == ClassicGroupState::CompletingRebalance {
            return Err(ErrorCode::RebalanceInProgress);
        }
        Ok(())
    }

    /// Whether offsets of topics that nobody reads may be deleted.
    pub fn validate_offset_delete(&self) -> Result<(), ErrorCode> {
        match self.state {
            ClassicGroupState::Empty => Ok(()),
            ClassicGroupState::PreparingRebalance | ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                if self.uses_consumer_protocol() { Ok(()) } else { Err(ErrorCode::NonEmptyGroup) }
            }
        }
    }

    /// Whether the group may be deleted.
    pub fn validate_delete(&self) -> Result<(), ErrorCode> {
        match self.state {
            ClassicGroupState::Empty => Ok(()),
            ClassicGroupState::PreparingRebalance | ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => {
                Err(ErrorCode::NonEmptyGroup)
            }
        }
    }
}
