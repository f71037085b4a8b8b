//! From one generation to the next: members are given time to join, then those who have are the generation (`prepareRebalance`,
//! `completeClassicGroupJoin` and their timers in `GroupMetadataManager`).

use std::sync::Arc;

use ottla_model::ErrorCode;

use super::operation::ClassicOperation;
use super::state::ClassicGroupState;
use crate::group::events::GroupEvent;
use crate::group::timers::{TimerAction, TimerKey};
use crate::group::writes::WriteEffect;

impl ClassicOperation<'_> {
    /// Begins a rebalance if the group is not in one; otherwise ends its join phase if everybody is back.
    pub fn rebalance_or_complete_join(&mut self, reason: String) {
        match self.group.state {
            ClassicGroupState::Empty | ClassicGroupState::CompletingRebalance | ClassicGroupState::Stable => self.prepare_rebalance(reason),
            ClassicGroupState::PreparingRebalance => self.maybe_complete_join_phase(),
        }
    }

    /// Begins a rebalance. The group is in any state but PreparingRebalance.
    pub fn prepare_rebalance(&mut self, reason: String) {
        if self.group.state == ClassicGroupState::CompletingRebalance {
            self.withdraw_assignment(ErrorCode::RebalanceInProgress);
        }
        self.group.pending_sync_members.clear();
        self.timers.cancel(&TimerKey::Sync(self.group.group_id.clone()));
        let is_initial = self.group.state == ClassicGroupState::Empty;
        self.effects.events.push(GroupEvent::PreparingRebalance {
            group_id: self.group.group_id.clone(),
            generation_id: self.group.generation_id,
            reason,
        });
        self.group.transition_to(ClassicGroupState::PreparingRebalance, self.now_ms);
        if is_initial {
            // A group that starts is likely to get more members in a moment.
            let delay_ms = self.config.classic_group_initial_rebalance_delay_ms;
            let remaining_ms = self.group.rebalance_timeout_ms().saturating_sub(delay_ms).max(0);
            self.schedule_initial_join(delay_ms, remaining_ms);
        } else if self.group.has_all_members_joined() {
            self.complete_join();
        } else {
            self.schedule_join();
        }
    }

    /// Whether the group was empty when the current rebalance began.
    pub(super) fn is_initial_rebalance(&self) -> bool {
        self.group.state == ClassicGroupState::PreparingRebalance && self.group.previous_state == ClassicGroupState::Empty
    }

    /// Ends the join phase if nobody has to be waited for. The initial rebalance always takes its delay.
    pub(super) fn maybe_complete_join_phase(&mut self) {
        let is_preparing = self.group.state == ClassicGroupState::PreparingRebalance;
        if is_preparing && !self.is_initial_rebalance() && self.group.has_all_members_joined() {
            self.complete_join();
        }
    }

    /// The delay of the initial rebalance is over. If somebody came meanwhile, the group waits on, within the rebalance timeout.
    pub fn complete_initial_join(&mut self, delay_ms: i32, remaining_ms: i32) {
        if self.group.new_member_added && remaining_ms != 0 {
            self.group.new_member_added = false;
            let new_delay_ms = self.config.classic_group_initial_rebalance_delay_ms.min(remaining_ms);
            self.schedule_initial_join(new_delay_ms, (remaining_ms - delay_ms).max(0));
        } else {
            self.complete_join();
        }
    }

    /// Ends the join phase: dynamic members that are not back are out, and the rest is the next generation. Static members keep their
    /// place until their session ends.
    pub fn complete_join(&mut self) {
        self.timers.cancel(&TimerKey::Join(self.group.group_id.clone()));
        if self.group.state != ClassicGroupState::PreparingRebalance {
            return;
        }
        self.remove_absent_dynamic_members();
        if !self.group.elect_joined_leader() && !self.group.members.is_empty() {
            // Only static members are left and none of them is back. They are waited for until their sessions end.
            self.effects.events.push(GroupEvent::NobodyRejoined { group_id: self.group.group_id.clone() });
            self.schedule_join();
            return;
        }
        self.group.generation_id = self.group.generation_id.wrapping_add(1);
        self.group.pending_sync_members.clear();
        self.group.protocol_name = self.group.select_protocol();
        if self.group.update_subscribed_topics().is_err() {
            self.effects.events.push(GroupEvent::SubscriptionNotParsed { group_id: self.group.group_id.clone() });
        }
        if self.group.members.is_empty() { self.become_empty() } else { self.begin_generation() }
    }

    fn remove_absent_dynamic_members(&mut self) {
        let members = self.group.members.values();
        let absent = members.filter(|member| member.parked_join.is_none() && member.group_instance_id.is_none());
        let absent: Vec<Arc<str>> = absent.map(|member| member.member_id.clone()).collect();
        if absent.is_empty() {
            return;
        }
        for member_id in &absent {
            self.remove_member(member_id);
        }
        self.note_removed(absent, "they have not rejoined in time");
    }

    fn become_empty(&mut self) {
        self.group.transition_to(ClassicGroupState::Empty, self.now_ms);
        let group_id = self.group.group_id.clone();
        self.effects.events.push(GroupEvent::Emptied { group_id: group_id.clone(), generation_id: self.group.generation_id });
        // Should this record be lost, the members of the generation before come back with a restart, and time out.
        let record = self.group.to_record_as_assigned();
        self.effects.write_group(record, WriteEffect::GroupEmptied { group_id });
    }

    fn begin_generation(&mut self) {
        self.group.transition_to(ClassicGroupState::CompletingRebalance, self.now_ms);
        self.effects.events.push(GroupEvent::Stabilized {
            group_id: self.group.group_id.clone(),
            generation_id: self.group.generation_id,
            members: self.group.members.len(),
        });
        let member_ids: Vec<Arc<str>> = self.group.members.keys().cloned().collect();
        for member_id in &member_ids {
            if let Some(join) = self.group.take_parked_join(member_id) {
                let response = self.joined(member_id, self.group.is_leader(member_id));
                self.effects.reply_join(join, response);
            }
            self.restart_session(member_id);
            if let Some(member) = self.group.members.get_mut(member_id) {
                member.is_new = false;
            }
        }
        self.group.pending_sync_members.extend(member_ids);
        let key = TimerKey::Sync(self.group.group_id.clone());
        let action = TimerAction::ExpirePendingSync { generation_id: self.group.generation_id };
        self.timers.schedule(key, self.now_ms + i64::from(self.group.rebalance_timeout_ms()), action);
    }

    fn schedule_join(&mut self) {
        let deadline_ms = self.now_ms + i64::from(self.group.rebalance_timeout_ms());
        self.timers.schedule(TimerKey::Join(self.group.group_id.clone()), deadline_ms, TimerAction::CompleteJoin);
    }

    fn schedule_initial_join(&mut self, delay_ms: i32, remaining_ms: i32) {
        let key = TimerKey::Join(self.group.group_id.clone());
        let action = TimerAction::CompleteInitialJoin { delay_ms, remaining_ms };
        self.timers.schedule(key, self.now_ms + i64::from(delay_ms), action);
    }
}
