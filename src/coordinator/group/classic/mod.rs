//! Classic groups: members join, one of them assigns, all fetch what was assigned (JoinGroup, SyncGroup, Heartbeat, LeaveGroup).
//!
//! [`ClassicGroup`] is the state of one group; [`ClassicOperation`] is that group together with all that a step of its protocol
//! may touch. The steps are one file each. Nothing here knows of offsets.

mod describe;
mod expiry;
mod group;
mod heartbeat;
mod join;
mod leave;
mod member;
mod operation;
mod protocols;
mod rebalance;
mod records;
mod state;
mod static_member;
mod sync;
mod validation;

pub(super) use group::ClassicGroup;
pub(super) use join::{JoinAttempt, join_group_error, join_group_response_at};
pub(super) use leave::{leave_group_answer, leaving_members, member_answer};
pub(super) use member::{ParkedJoin, ParkedSync, SupportedProtocol};
pub(super) use operation::ClassicOperation;
pub(super) use state::ClassicGroupState;
pub(super) use sync::sync_group_error;
pub(super) use validation::Committer;
