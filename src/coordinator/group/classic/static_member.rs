//! A static member comes back under an id that it does not remember (KIP-345): it takes its old place, if it can without a rebalance
//! (KIP-814: then it need not assign even if it leads).

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::messages::join_group_response::JoinGroupResponse;

use super::join::JoinAttempt;
use super::operation::ClassicOperation;
use super::state::ClassicGroupState;
use crate::group::events::GroupEvent;
use crate::group::writes::{StaticMemberReplaced, WriteEffect};

/// The first version in which a leader can be told to skip the assignment (KIP-814).
const FIRST_VERSION_WITH_SKIP_ASSIGNMENT: i16 = 9;

impl ClassicOperation<'_> {
    pub(super) fn replace_static_member(&mut self, attempt: &JoinAttempt<'_>, group_instance_id: &str, new_member_id: Arc<str>) {
        let Some(old_member_id) = self.group.static_members.get(group_instance_id).cloned() else { return };
        let leader_id = self.group.leader_id.clone();
        self.swap_member_id(group_instance_id, &old_member_id, &new_member_id);
        let Some(member) = self.group.members.get(&new_member_id) else { return };
        let replaced = StaticMemberReplaced {
            group_id: self.group.group_id.clone(),
            group_instance_id: group_instance_id.to_owned(),
            old_member_id,
            new_member_id: new_member_id.clone(),
            leader_id,
            old_protocols: member.protocols.clone(),
            old_rebalance_timeout_ms: member.rebalance_timeout_ms,
            old_session_timeout_ms: member.session_timeout_ms,
            join: attempt.parked,
        };
        self.take_over(attempt, &new_member_id);
        let reason = format!("static member {group_instance_id} is back as {new_member_id}; client reason: {}", attempt.reason());
        match self.group.state {
            ClassicGroupState::Stable if self.group.protocol_name == self.group.select_protocol() => {
                let record = self.group.to_record_as_assigned();
                self.effects.write_group(record, WriteEffect::StaticMemberReplaced(Box::new(replaced)));
            }
            ClassicGroupState::Stable => self.rebalance_or_complete_join(format!("the selected protocol will change: {reason}")),
            // The leader may be assigning to the old id at this moment.
            ClassicGroupState::CompletingRebalance => self.prepare_rebalance(reason),
            // An empty group has no static members.
            ClassicGroupState::PreparingRebalance | ClassicGroupState::Empty => self.maybe_complete_join_phase(),
        }
    }

    /// Gives the member its new id. Whoever waits under the old one is fenced.
    fn swap_member_id(&mut self, group_instance_id: &str, old_member_id: &Arc<str>, new_member_id: &Arc<str>) {
        let Some((join, sync)) = self.group.replace_static_member(group_instance_id, new_member_id.clone()) else { return };
        if let Some(join) = join {
            let response = JoinGroupResponse {
                member_id: old_member_id.to_string(),
                error_code: ErrorCode::FencedInstanceId as i16,
                protocol_name: None,
                ..JoinGroupResponse::default()
            };
            self.effects.reply_join(join, response);
        }
        self.answer_parked(None, sync, ErrorCode::FencedInstanceId, "");
        // The old id's timer finds no member and does nothing.
        self.restart_session(new_member_id);
        self.effects.events.push(GroupEvent::StaticMemberReplaced {
            group_id: self.group.group_id.clone(),
            group_instance_id: group_instance_id.to_owned(),
            old_member_id: old_member_id.clone(),
            new_member_id: new_member_id.clone(),
        });
    }

    /// The record with the member's new id is safe: it may go on with the assignment that it had.
    pub fn static_member_stored(&mut self, replaced: &StaticMemberReplaced) {
        if !self.still_waits(replaced) {
            return;
        }
        let Some(join) = self.group.take_parked_join(&replaced.new_member_id) else { return };
        let response = if replaced.join.api_version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT {
            let is_leader = self.group.is_leader(&replaced.new_member_id);
            JoinGroupResponse { skip_assignment: is_leader, ..self.joined(&replaced.new_member_id, is_leader) }
        } else {
            // Older clients that read that they lead would assign; so they are told of the id that they no longer have.
            JoinGroupResponse {
                leader: replaced.leader_id.as_deref().unwrap_or_default().to_owned(),
                ..self.joined(&replaced.new_member_id, false)
            }
        };
        self.effects.reply_join(join, response);
    }

    /// The record was not written: the member has its old id again and is told to come back.
    pub fn static_member_not_stored(&mut self, replaced: &StaticMemberReplaced, error: ErrorCode) {
        self.effects.events.push(GroupEvent::WriteFailed { group_id: self.group.group_id.clone(), error });
        if !self.still_waits(replaced) {
            return;
        }
        let Some(join) = self.group.take_parked_join(&replaced.new_member_id) else { return };
        let response = JoinGroupResponse {
            error_code: error as i16,
            leader: replaced.leader_id.as_deref().unwrap_or_default().to_owned(),
            ..self.joined("", false)
        };
        self.effects.reply_join(join, response);
        self.group.update_member(
            &replaced.new_member_id,
            replaced.old_protocols.clone(),
            replaced.old_rebalance_timeout_ms,
            replaced.old_session_timeout_ms,
        );
        self.swap_member_id(&replaced.group_instance_id, &replaced.new_member_id, &replaced.old_member_id);
    }

    fn still_waits(&self, replaced: &StaticMemberReplaced) -> bool {
        let member = self.group.members.get(&replaced.new_member_id);
        member.and_then(|member| member.parked_join).is_some_and(|join| join == replaced.join)
    }
}
