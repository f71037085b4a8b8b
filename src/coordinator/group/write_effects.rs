//! What classic groups do when a record of theirs is committed, or is not.

use ottla_model::ErrorCode;

use super::classic::{ParkedJoin, join_group_error};
use super::effects::Effects;
use super::events::GroupEvent;
use super::record_type::GroupType;
use super::shard::GroupCoordinatorShard;
use super::writes::WriteEffect;

impl GroupCoordinatorShard {
    pub(super) fn effect_committed(&mut self, now_ms: i64, effect: WriteEffect, effects: &mut Effects) {
        match effect {
            WriteEffect::None | WriteEffect::GroupCreated { .. } | WriteEffect::GroupEmptied { .. } => {}
            WriteEffect::AssignmentStored { group_id, generation_id, assignment, .. } => {
                self.with_classic_group(&group_id, now_ms, effects, |operation| operation.assignment_stored(generation_id, &assignment));
            }
            WriteEffect::StaticMemberReplaced(replaced) => {
                self.with_classic_group(&replaced.group_id, now_ms, effects, |operation| operation.static_member_stored(&replaced));
            }
        }
    }

    /// `was_appended`: the write is in the log and may yet be committed, but not in time.
    pub(super) fn effect_failed(&mut self, now_ms: i64, effect: WriteEffect, error: ErrorCode, was_appended: bool, effects: &mut Effects) {
        match effect {
            WriteEffect::None => {}
            WriteEffect::GroupEmptied { group_id } => effects.events.push(GroupEvent::WriteFailed { group_id, error }),
            WriteEffect::GroupCreated { group_id, join } => {
                self.group_not_created(&group_id, join, error, was_appended, effects);
                effects.events.push(GroupEvent::WriteFailed { group_id, error });
            }
            WriteEffect::AssignmentStored { group_id, generation_id, member_id, .. } => {
                self.with_classic_group(&group_id, now_ms, effects, |operation| {
                    operation.assignment_not_stored(generation_id, &member_id, error);
                });
            }
            WriteEffect::StaticMemberReplaced(replaced) => {
                self.with_classic_group(&replaced.group_id, now_ms, effects, |operation| {
                    operation.static_member_not_stored(&replaced, error);
                });
            }
        }
    }

    /// The join that made the group fails, unless it was answered already; without a record there is no group.
    fn group_not_created(&mut self, group_id: &str, join: ParkedJoin, error: ErrorCode, was_appended: bool, effects: &mut Effects) {
        let Some(group) = self.groups.classic_mut(group_id) else { return };
        let waiting = group.members.values().find(|member| member.parked_join == Some(join));
        if let Some(member_id) = waiting.map(|member| member.member_id.clone()) {
            group.take_parked_join(&member_id);
            effects.reply_join(join, join_group_error("", error));
        }
        if !was_appended {
            self.groups.remove(group_id, GroupType::Classic);
        }
    }
}
