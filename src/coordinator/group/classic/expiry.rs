//! Members that are not heard of: sessions that end, ids that nobody used, assignments that nobody fetched, and what a load does with
//! the members that it found.

use std::sync::Arc;

use super::operation::ClassicOperation;
use super::state::ClassicGroupState;

impl ClassicOperation<'_> {
    /// The time of a member, or of an id that was handed out, is over.
    pub fn expire_member(&mut self, member_id: &str) {
        let member = self.group.members.get(member_id);
        let is_pending = self.group.pending_join_members.contains(member_id);
        if !is_pending && member.is_none_or(|member| member.has_satisfied_heartbeat()) {
            return;
        }
        self.remove_member(member_id);
        self.note_removed(vec![member_id.into()], "nothing was heard of it for its session timeout");
        match self.group.state {
            ClassicGroupState::Stable | ClassicGroupState::CompletingRebalance if !is_pending => {
                self.rebalance_or_complete_join(format!("removing member {member_id} on heartbeat expiration"));
            }
            ClassicGroupState::PreparingRebalance if self.group.has_all_members_joined() => self.complete_join(),
            ClassicGroupState::Empty
            | ClassicGroupState::PreparingRebalance
            | ClassicGroupState::CompletingRebalance
            | ClassicGroupState::Stable => {}
        }
    }

    /// The time in which the members of a generation should have synced is over: those that have not are out.
    pub fn expire_pending_sync(&mut self, generation_id: i32) {
        let is_settled = matches!(self.group.state, ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable);
        if generation_id != self.group.generation_id || !is_settled || self.group.pending_sync_members.is_empty() {
            return;
        }
        let absent: Vec<Arc<str>> = self.group.pending_sync_members.iter().cloned().collect();
        for member_id in &absent {
            self.remove_member(member_id);
        }
        let reason = format!("removing {} on pending sync request expiration", absent.join(", "));
        self.note_removed(absent, "they have not synced in time");
        self.prepare_rebalance(reason);
    }

    /// The group was read from the log: its members are given a session to show themselves in.
    pub fn loaded(&mut self) {
        let member_ids: Vec<Arc<str>> = self.group.members.keys().cloned().collect();
        for member_id in &member_ids {
            self.restart_session(member_id);
        }
        let limit = self.config.classic_group_max_size;
        if member_ids.len() > limit {
            // The limit was lowered; a rebalance lets members commit before some are turned away.
            self.prepare_rebalance(format!("the loaded group has {} members, more than {limit}", member_ids.len()));
        }
    }
}
