//! The state of one classic group (`ClassicGroup`): who its members are and how far the generation is. Changes of membership keep the
//! counts right; when to change what is decided by the steps of the protocol.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::member::{ClassicGroupMember, ParkedJoin, ParkedSync, SupportedProtocol};
use super::state::ClassicGroupState;

/// A classic group.
#[derive(Debug, PartialEq)]
pub(in crate::group) struct ClassicGroup {
    /// Its id.
    pub group_id: Arc<str>,
    /// Where it is.
    pub state: ClassicGroupState,
    /// Where it was before; a group that was Empty is in its initial rebalance.
    pub previous_state: ClassicGroupState,
    /// Since when it is in its state; `None` when it was read from a record of before there was such a field.
    pub state_timestamp_ms: Option<i64>,
    /// The kind of members, `consumer` or `connect`; `None` until the first one joins.
    pub protocol_type: Option<String>,
    /// The way of assigning that the members voted for.
    pub protocol_name: Option<String>,
    /// Counts rebalances.
    pub generation_id: i32,
    /// The member that assigns. Always a member, unless there is none.
    pub leader_id: Option<Arc<str>>,
    /// The members by id.
    pub members: BTreeMap<Arc<str>, ClassicGroupMember>,
    /// The ids of static members by `group.instance.id`.
    pub static_members: BTreeMap<String, Arc<str>>,
    /// Ids that were handed out (KIP-394) and have yet to be joined with.
    pub pending_join_members: BTreeSet<Arc<str>>,
    /// Members of the generation that have yet to sync.
    pub pending_sync_members: BTreeSet<Arc<str>>,
    /// The topics of all members; `None` when it cannot be known.
    pub subscribed_topics: Option<BTreeSet<String>>,
    /// Whether somebody joined during the current stretch of the initial rebalance delay.
    pub new_member_added: bool,
    /// How many members support each protocol.
    pub(in crate::group) protocol_support: BTreeMap<String, usize>,
    /// How many members have a join parked.
    pub(super) parked_joins: usize,
}

impl ClassicGroup {
    /// An empty group that nobody has joined yet.
    pub fn new(group_id: Arc<str>, created_ms: i64) -> ClassicGroup {
        ClassicGroup {
            group_id,
            state: ClassicGroupState::Empty,
            previous_state: ClassicGroupState::Empty,
            state_timestamp_ms: Some(created_ms),
            protocol_type: None,
            protocol_name: None,
            generation_id: 0,
            leader_id: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            pending_join_members: BTreeSet::new(),
            pending_sync_members: BTreeSet::new(),
            subscribed_topics: None,
            new_member_added: false,
            protocol_support: BTreeMap::new(),
            parked_joins: 0,
        }
    }

    /// Whether it only holds the offsets of consumers that do not use membership.
    pub fn is_simple(&self) -> bool {
        self.protocol_type.is_none() && self.state == ClassicGroupState::Empty && self.pending_join_members.is_empty()
    }

    /// Whether this member leads the group.
    pub fn is_leader(&self, member_id: &str) -> bool {
        self.leader_id.as_deref() == Some(member_id)
    }

    /// The leader's id, empty when there is none.
    pub fn leader_or_empty(&self) -> String {
        self.leader_id.as_deref().unwrap_or_default().to_owned()
    }

    /// Adds a member that is not in the group yet, and supports a protocol that all members do.
    pub fn add(&mut self, mut member: ClassicGroupMember, protocol_type: &str, parked_join: Option<ParkedJoin>) {
        debug_assert!(!self.members.contains_key(&member.member_id));
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.to_owned());
        }
        if let Some(group_instance_id) = &member.group_instance_id {
            self.static_members.insert(group_instance_id.clone(), member.member_id.clone());
        }
        self.leader_id.get_or_insert_with(|| member.member_id.clone());
        self.pending_join_members.remove(&member.member_id);
        self.parked_joins += usize::from(parked_join.is_some());
        member.parked_join = parked_join;
        self.count_protocols(&member.protocols);
        self.members.insert(member.member_id.clone(), member);
    }

    /// Removes a member, pending or not. Whatever of its requests is parked must be answered by the caller.
    pub fn remove(&mut self, member_id: &str) -> Option<ClassicGroupMember> {
        let removed = self.members.remove(member_id);
        if let Some(member) = &removed {
            self.discount_protocols(&member.protocols);
            self.parked_joins -= usize::from(member.parked_join.is_some());
            if let Some(group_instance_id) = &member.group_instance_id {
                self.static_members.remove(group_instance_id);
            }
        }
        if self.is_leader(member_id) {
            self.leader_id = self.members.keys().next().cloned();
        }
        self.pending_join_members.remove(member_id);
        self.pending_sync_members.remove(member_id);
        removed
    }

    /// Gives the static member another id and keeps everything else. Returns what was parked under the old id.
    pub fn replace_static_member(
        &mut self,
        group_instance_id: &str,
        new_member_id: Arc<str>,
    ) -> Option<(Option<ParkedJoin>, Option<ParkedSync>)> {
        let old_member_id = self.static_members.get(group_instance_id)?.clone();
        let mut member = self.members.remove(&old_member_id)?;
        let parked_join = member.parked_join.take();
        self.parked_joins -= usize::from(parked_join.is_some());
        let parked_sync = member.parked_sync.take();
        member.is_new = false;
        member.member_id = new_member_id.clone();
        if self.is_leader(&old_member_id) {
            self.leader_id = Some(new_member_id.clone());
        }
        // Kafka goes on waiting for the old id to sync, which then ends in a rebalance that nobody needs.
        if self.pending_sync_members.remove(&old_member_id) {
            self.pending_sync_members.insert(new_member_id.clone());
        }
        self.static_members.insert(group_instance_id.to_owned(), new_member_id.clone());
        self.members.insert(new_member_id, member);
        Some((parked_join, parked_sync))
    }

    /// Takes over what a member says of itself when it joins again.
    pub fn update_member(
        &mut self,
        member_id: &str,
        protocols: Vec<SupportedProtocol>,
        rebalance_timeout_ms: i32,
        session_timeout_ms: i32,
    ) {
        let Some(member) = self.members.get_mut(member_id) else { return };
        member.rebalance_timeout_ms = rebalance_timeout_ms;
        member.session_timeout_ms = session_timeout_ms;
        let old = std::mem::replace(&mut member.protocols, protocols.clone());
        self.discount_protocols(&old);
        self.count_protocols(&protocols);
    }

    /// Parks a join with its member. Returns the one that was parked there before.
    pub fn park_join(&mut self, member_id: &str, join: ParkedJoin) -> Option<ParkedJoin> {
        let member = self.members.get_mut(member_id)?;
        let superseded = member.parked_join.replace(join);
        self.parked_joins += usize::from(superseded.is_none());
        superseded
    }

    /// Takes the join that is parked with a member.
    pub fn take_parked_join(&mut self, member_id: &str) -> Option<ParkedJoin> {
        let parked_join = self.members.get_mut(member_id)?.parked_join.take();
        self.parked_joins -= usize::from(parked_join.is_some());
        parked_join
    }

    /// Takes the sync that is parked with a member.
    pub fn take_parked_sync(&mut self, member_id: &str) -> Option<ParkedSync> {
        self.members.get_mut(member_id)?.parked_sync.take()
    }

    /// How many members wait for the next generation.
    pub fn parked_joins(&self) -> usize {
        self.parked_joins
    }

    /// Whether nobody has to be waited for: every member is back and every id that was handed out is used.
    pub fn has_all_members_joined(&self) -> bool {
        self.members.len() == self.parked_joins && self.pending_join_members.is_empty()
    }

    /// Makes sure that the leader is among those who have joined. `false` when there is no member, or none has joined.
    pub fn elect_joined_leader(&mut self) -> bool {
        let Some(leader_id) = &self.leader_id else { return false };
        if self.members.get(leader_id).is_some_and(|leader| leader.parked_join.is_some()) {
            return true;
        }
        match self.members.values().find(|member| member.parked_join.is_some()) {
            Some(member) => {
                self.leader_id = Some(member.member_id.clone());
                true
            }
            None => false,
        }
    }

    /// The longest time that any member may take to rejoin.
    pub fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// Goes to `state`, which must be one that can follow.
    pub fn transition_to(&mut self, state: ClassicGroupState, now_ms: i64) {
        debug_assert!(self.state.can_become(state), "{:?} to {state:?}", self.state);
        self.previous_state = self.state;
        self.state = state;
        self.state_timestamp_ms = Some(now_ms);
    }
}
