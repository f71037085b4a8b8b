//! What a shard wants the broker's log to say. The shard decides what is worth a line; how it is written is decided by who runs it.

use std::fmt;
use std::sync::Arc;

use ottla_model::ErrorCode;

/// Something that happened to a group; its text is the log's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// A rebalance begins.
    PreparingRebalance {
        /// Which group.
        group_id: Arc<str>,
        /// The generation that ends.
        generation_id: i32,
        /// What brought it about, the client's reason included (KIP-800).
        reason: String,
    },
    /// All members that will be in the new generation have joined.
    Stabilized {
        /// Which group.
        group_id: Arc<str>,
        /// The new generation.
        generation_id: i32,
        /// How many members it has.
        members: usize,
    },
    /// The leader's assignment is stored and on its way to the members.
    Assigned {
        /// Which group.
        group_id: Arc<str>,
        /// The generation.
        generation_id: i32,
    },
    /// The last member is gone.
    Emptied {
        /// Which group.
        group_id: Arc<str>,
        /// The generation of the empty group.
        generation_id: i32,
    },
    /// Members were removed.
    MembersRemoved {
        /// Which group.
        group_id: Arc<str>,
        /// Who.
        member_ids: Vec<Arc<str>>,
        /// Why.
        reason: String,
    },
    /// The time for rejoining is over and nobody came; the group waits once more.
    NobodyRejoined {
        /// Which group.
        group_id: Arc<str>,
    },
    /// A static member came back under a new member id.
    StaticMemberReplaced {
        /// Which group.
        group_id: Arc<str>,
        /// Its `group.instance.id`.
        group_instance_id: String,
        /// The id that was.
        old_member_id: Arc<str>,
        /// The id that is.
        new_member_id: Arc<str>,
    },
    /// The members' metadata is not that of the consumer protocol, so their topics are unknown.
    SubscriptionNotParsed {
        /// Which group.
        group_id: Arc<str>,
    },
    /// A group's record was not written.
    WriteFailed {
        /// Which group.
        group_id: Arc<str>,
        /// What the members are told.
        error: ErrorCode,
    },
    /// DeleteGroups removed groups.
    GroupsDeleted {
        /// Which groups.
        group_ids: Vec<String>,
    },
    /// Offsets, and with them perhaps groups, have expired, or their topics were deleted.
    TombstonesWritten {
        /// How many.
        count: usize,
    },
    /// The partition was read; clients are served from here on.
    Loaded {
        /// Groups that there are.
        groups: usize,
        /// Members of all classic groups.
        members: usize,
    },
}

impl fmt::Display for GroupEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupEvent::PreparingRebalance { group_id, generation_id, reason } => {
                write!(f, "preparing to rebalance group {group_id} with old generation {generation_id} ({reason})")
            }
            GroupEvent::Stabilized { group_id, generation_id, members } => {
                write!(f, "stabilized group {group_id} generation {generation_id} with {members} members")
            }
            GroupEvent::Assigned { group_id, generation_id } => {
                write!(f, "group {group_id} generation {generation_id} has its assignment")
            }
            GroupEvent::Emptied { group_id, generation_id } => {
                write!(f, "group {group_id} with generation {generation_id} is now empty")
            }
            GroupEvent::MembersRemoved { group_id, member_ids, reason } => {
                write!(f, "members {} removed from group {group_id}: {reason}", member_ids.join(", "))
            }
            GroupEvent::NobodyRejoined { group_id } => {
                write!(f, "group {group_id} could not complete its rebalance because no members rejoined")
            }
            GroupEvent::StaticMemberReplaced { group_id, group_instance_id, old_member_id, new_member_id } => {
                write!(f, "static member {group_instance_id} of group {group_id} is back: member {new_member_id} replaces {old_member_id}")
            }
            GroupEvent::SubscriptionNotParsed { group_id } => {
                write!(f, "the subscriptions of group {group_id} cannot be parsed; its topics are not known here")
            }
            GroupEvent::WriteFailed { group_id, error } => {
                write!(f, "the metadata of group {group_id} was not written: {}", error.name())
            }
            GroupEvent::GroupsDeleted { group_ids } => write!(f, "groups deleted: {}", group_ids.join(", ")),
            GroupEvent::TombstonesWritten { count } => {
                write!(f, "{count} tombstones written for offsets and groups that are no longer wanted")
            }
            GroupEvent::Loaded { groups, members } => write!(f, "{groups} groups with {members} members loaded"),
        }
    }
}
