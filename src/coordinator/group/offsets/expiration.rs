//! When offsets expire, and groups with them (KIP-211, `cleanupGroupMetadata`): an offset lives as long as somebody may still want it,
//! and for the retention time after that.

use super::offset::OffsetAndMetadata;
use crate::group::classic::{ClassicGroup, ClassicGroupState};
use crate::group::effects::Effects;
use crate::group::events::GroupEvent;
use crate::group::record::GroupRecord;
use crate::group::shard::GroupCoordinatorShard;

/// From when on an offset's retention counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetentionStart {
    /// Its commit.
    Commit,
    /// When the group lost its last member.
    Emptied(i64),
    /// Not yet.
    Never,
}

impl RetentionStart {
    fn of(group: &ClassicGroup) -> RetentionStart {
        if group.protocol_type.is_none() {
            // A consumer without membership: nobody knows whether it is there.
            return RetentionStart::Commit;
        }
        match (group.state, group.state_timestamp_ms) {
            (ClassicGroupState::Empty, Some(emptied_ms)) => RetentionStart::Emptied(emptied_ms),
            (ClassicGroupState::Empty, None) => RetentionStart::Commit,
            (ClassicGroupState::Stable, _) if group.uses_consumer_protocol() && group.subscribed_topics.is_some() => RetentionStart::Commit,
            (ClassicGroupState::Stable | ClassicGroupState::PreparingRebalance | ClassicGroupState::CompletingRebalance, _) => {
                RetentionStart::Never
            }
        }
    }

    fn is_over(self, offset: &OffsetAndMetadata, now_ms: i64, retention_ms: i64) -> bool {
        let start_ms = match self {
            RetentionStart::Never => return false,
            RetentionStart::Commit => offset.commit_timestamp_ms,
            RetentionStart::Emptied(emptied_ms) => emptied_ms,
        };
        match offset.expire_timestamp_ms {
            // An old client said itself how long.
            Some(expire_timestamp_ms) => now_ms >= expire_timestamp_ms,
            None => now_ms.saturating_sub(start_ms) >= retention_ms,
        }
    }
}

impl GroupCoordinatorShard {
    /// Looks through all groups: expired offsets go, and so do empty groups without offsets.
    pub(in crate::group) fn clean_up(&self, now_ms: i64, effects: &mut Effects) {
        let mut records = Vec::new();
        for group in self.groups.classic_groups() {
            let nothing_left = self.expire_offsets(group, now_ms, &mut records);
            if nothing_left && group.state == ClassicGroupState::Empty {
                records.push(GroupRecord::group_tombstone(&group.group_id));
            }
        }
        if !records.is_empty() {
            effects.events.push(GroupEvent::TombstonesWritten { count: records.len() });
        }
        effects.write_state(records, false);
    }

    /// Adds tombstones for the group's expired offsets. Returns whether no offset is left, pending ones included.
    fn expire_offsets(&self, group: &ClassicGroup, now_ms: i64, records: &mut Vec<GroupRecord>) -> bool {
        let start = RetentionStart::of(group);
        let mut nothing_left = !self.offsets.has_open_transactions(&group.group_id);
        for (topic, partitions) in self.offsets.of_group(&group.group_id).into_iter().flatten() {
            let is_subscribed = group.is_subscribed_to(topic);
            for (&partition, offset) in partitions {
                let expires = !is_subscribed
                    && start.is_over(offset, now_ms, self.config.offsets_retention_ms)
                    && !self.offsets.is_pending(&group.group_id, topic, partition);
                if expires {
                    records.push(GroupRecord::offset_tombstone(&group.group_id, topic, partition));
                }
                nothing_left &= expires;
            }
        }
        nothing_left
    }
}
