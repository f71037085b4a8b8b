//! SyncGroup: the leader brings the assignment, every member takes its part away (`classicGroupSync` of `GroupMetadataManager`).

use std::collections::BTreeMap;

use bytes::Bytes;
use ottla_model::ErrorCode;
use ottla_protocol::messages::sync_group_request::SyncGroupRequest;
use ottla_protocol::messages::sync_group_response::SyncGroupResponse;

use super::member::ParkedSync;
use super::operation::ClassicOperation;
use super::state::ClassicGroupState;
use crate::group::events::GroupEvent;
use crate::group::timers::TimerKey;
use crate::group::writes::WriteEffect;

/// The answer to a sync that failed.
pub(in crate::group) fn sync_group_error(error: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code: error as i16, protocol_type: None, protocol_name: None, ..SyncGroupResponse::default() }
}

impl ClassicOperation<'_> {
    /// Handles a sync.
    pub fn sync(&mut self, request: &SyncGroupRequest, parked: ParkedSync) {
        if let Err(error) = self.validate_sync(request) {
            self.effects.reply_sync(parked, sync_group_error(error));
            return;
        }
        match self.group.state {
            // An empty group has no members, so `validate_sync` has refused it.
            ClassicGroupState::Empty => self.effects.reply_sync(parked, sync_group_error(ErrorCode::UnknownMemberId)),
            ClassicGroupState::PreparingRebalance => {
                self.effects.reply_sync(parked, sync_group_error(ErrorCode::RebalanceInProgress));
            }
            ClassicGroupState::CompletingRebalance => self.park_sync(request, parked),
            ClassicGroupState::Stable => {
                self.remove_pending_sync(&request.member_id);
                let assignment = self.group.members.get(&*request.member_id).map(|member| member.assignment.clone());
                let response = self.assigned(assignment.unwrap_or_default());
                self.effects.reply_sync(parked, response);
            }
        }
    }

    fn validate_sync(&self, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        self.group.validate_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.group.generation_id {
            return Err(ErrorCode::IllegalGeneration);
        }
        let differs = |asked: &Option<String>, own: &Option<String>| asked.is_some() && own.is_some() && asked != own;
        if differs(&request.protocol_type, &self.group.protocol_type) || differs(&request.protocol_name, &self.group.protocol_name) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn park_sync(&mut self, request: &SyncGroupRequest, parked: ParkedSync) {
        if let Some(member) = self.group.members.get_mut(&*request.member_id) {
            // One that was parked before is of a connection that the member has given up.
            let superseded = member.parked_sync.replace(parked);
            self.answer_parked(None, superseded, ErrorCode::RebalanceInProgress, "");
        }
        self.remove_pending_sync(&request.member_id);
        if !self.group.is_leader(&request.member_id) {
            return;
        }
        let copied = |assignment: &Bytes| Bytes::copy_from_slice(assignment);
        let assignment: BTreeMap<String, Bytes> =
            request.assignments.iter().map(|part| (part.member_id.clone(), copied(&part.assignment))).collect();
        let record = self.group.to_record_with(&assignment);
        let effect = WriteEffect::AssignmentStored {
            group_id: self.group.group_id.clone(),
            generation_id: self.group.generation_id,
            member_id: request.member_id.clone(),
            assignment,
        };
        self.effects.write_group(record, effect);
    }

    /// The member has synced; once all have, nobody has to be waited for.
    fn remove_pending_sync(&mut self, member_id: &str) {
        self.group.pending_sync_members.remove(member_id);
        if self.group.pending_sync_members.is_empty() {
            self.timers.cancel(&TimerKey::Sync(self.group.group_id.clone()));
        }
    }

    /// The assignment of a generation is safe: members get theirs, unless the group has moved on meanwhile.
    pub fn assignment_stored(&mut self, generation_id: i32, assignment: &BTreeMap<String, Bytes>) {
        if !self.is_completing(generation_id) {
            return;
        }
        for member in self.group.members.values_mut() {
            member.assignment = assignment.get(&*member.member_id).cloned().unwrap_or_default();
        }
        self.propagate_assignment(ErrorCode::None);
        self.group.transition_to(ClassicGroupState::Stable, self.now_ms);
        self.effects.events.push(GroupEvent::Assigned { group_id: self.group.group_id.clone(), generation_id });
    }

    /// The assignment was not written: the members are told, and join again.
    pub fn assignment_not_stored(&mut self, generation_id: i32, member_id: &str, error: ErrorCode) {
        self.effects.events.push(GroupEvent::WriteFailed { group_id: self.group.group_id.clone(), error });
        if self.is_completing(generation_id) {
            self.withdraw_assignment(error);
            self.rebalance_or_complete_join(format!("{} when storing the assignment of member {member_id}", error.name()));
        }
    }

    fn is_completing(&self, generation_id: i32) -> bool {
        self.group.state == ClassicGroupState::CompletingRebalance && self.group.generation_id == generation_id
    }

    /// Nobody has an assignment any more; those who wait for it are told why.
    pub(super) fn withdraw_assignment(&mut self, error: ErrorCode) {
        for member in self.group.members.values_mut() {
            member.assignment = Bytes::new();
        }
        self.propagate_assignment(error);
    }

    /// Answers all parked syncs. A session that ended while its sync was parked was let pass, so it starts anew.
    fn propagate_assignment(&mut self, error: ErrorCode) {
        let waiting = self.group.members.values().filter(|member| member.parked_sync.is_some());
        let waiting: Vec<_> = waiting.map(|member| (member.member_id.clone(), member.assignment.clone())).collect();
        for (member_id, assignment) in waiting {
            let response = if error == ErrorCode::None { self.assigned(assignment) } else { sync_group_error(error) };
            if let Some(sync) = self.group.take_parked_sync(&member_id) {
                self.effects.reply_sync(sync, response);
            }
            self.restart_session(&member_id);
        }
    }

    fn assigned(&self, assignment: Bytes) -> SyncGroupResponse {
        SyncGroupResponse {
            protocol_type: self.group.protocol_type.clone(),
            protocol_name: self.group.protocol_name.clone(),
            assignment,
            ..SyncGroupResponse::default()
        }
    }
}
