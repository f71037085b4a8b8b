//! One classic group in the hands of a step of its protocol, with all that the step may touch, and what several steps have in common.

use std::sync::Arc;

use ottla_model::ErrorCode;
use ottla_protocol::messages::join_group_response::{JoinGroupResponse, JoinGroupResponseMember};

use super::group::ClassicGroup;
use super::join::join_group_error;
use super::member::{ParkedJoin, ParkedSync};
use super::sync::sync_group_error;
use crate::group::config::GroupCoordinatorConfig;
use crate::group::effects::Effects;
use crate::group::events::GroupEvent;
use crate::group::timers::{TimerAction, TimerKey, Timers};

/// A step on a group.
pub(in crate::group) struct ClassicOperation<'a> {
    pub group: &'a mut ClassicGroup,
    pub config: &'a GroupCoordinatorConfig,
    pub timers: &'a mut Timers,
    pub effects: &'a mut Effects,
    pub now_ms: i64,
}

impl ClassicOperation<'_> {
    /// Starts a member's session anew.
    pub fn restart_session(&mut self, member_id: &str) {
        if let Some(member) = self.group.members.get(member_id) {
            let session_timeout_ms = i64::from(member.session_timeout_ms);
            self.schedule_expiry(member_id, session_timeout_ms);
        }
    }

    /// Expires the member, or the id that was handed out, unless it is heard of within `timeout_ms`.
    pub(super) fn schedule_expiry(&mut self, member_id: &str, timeout_ms: i64) {
        let key = TimerKey::Heartbeat { group_id: self.group.group_id.clone(), member_id: member_id.into() };
        self.timers.schedule(key, self.now_ms + timeout_ms, TimerAction::ExpireMember);
    }

    /// Removes a member, or an id that was handed out, with its timer; what it has parked here is answered with UNKNOWN_MEMBER_ID, so
    /// that a client that is still there joins anew. (Kafka lets a parked sync of a member that leaves hang.)
    pub(super) fn remove_member(&mut self, member_id: &str) {
        self.timers.cancel(&TimerKey::Heartbeat { group_id: self.group.group_id.clone(), member_id: member_id.into() });
        let Some(member) = self.group.remove(member_id) else { return };
        self.answer_parked(member.parked_join, member.parked_sync, ErrorCode::UnknownMemberId, "");
    }

    /// Answers what was parked with a member.
    pub(super) fn answer_parked(&mut self, join: Option<ParkedJoin>, sync: Option<ParkedSync>, error: ErrorCode, member_id: &str) {
        if let Some(join) = join {
            self.effects.reply_join(join, join_group_error(member_id, error));
        }
        if let Some(sync) = sync {
            self.effects.reply_sync(sync, sync_group_error(error));
        }
    }

    /// Answers everything that is parked in the group: it goes elsewhere.
    pub fn answer_all_parked(&mut self, error: ErrorCode) {
        let member_ids: Vec<Arc<str>> = self.group.members.keys().cloned().collect();
        for member_id in member_ids {
            let join = self.group.take_parked_join(&member_id);
            let sync = self.group.take_parked_sync(&member_id);
            self.answer_parked(join, sync, error, &member_id);
        }
    }

    /// The answer to a join with the current generation; the members are for a leader that is to assign.
    pub(super) fn joined(&self, member_id: &str, with_members: bool) -> JoinGroupResponse {
        JoinGroupResponse {
            generation_id: self.group.generation_id,
            protocol_type: self.group.protocol_type.clone(),
            protocol_name: self.group.protocol_name.clone(),
            leader: self.group.leader_or_empty(),
            member_id: member_id.to_owned(),
            members: if with_members { self.members_to_assign() } else { Vec::new() },
            ..JoinGroupResponse::default()
        }
    }

    fn members_to_assign(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.group.protocol_name.as_deref().unwrap_or_default();
        let members = self.group.members.values().map(|member| JoinGroupResponseMember {
            member_id: member.member_id.to_string(),
            group_instance_id: member.group_instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
            ..JoinGroupResponseMember::default()
        });
        members.collect()
    }

    /// Says that members were removed.
    pub(super) fn note_removed(&mut self, member_ids: Vec<Arc<str>>, reason: impl Into<String>) {
        let group_id = self.group.group_id.clone();
        self.effects.events.push(GroupEvent::MembersRemoved { group_id, member_ids, reason: reason.into() });
    }
}
