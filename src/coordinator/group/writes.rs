//! The writes of a shard that are not committed yet, and what waits for each: the requests to answer and what the group does once
//! its record is safe, or is not. Replies that must not overtake a write wait here too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::classic::{ParkedJoin, SupportedProtocol};
use super::outcome::{Reply, WriteId};
use super::record::GroupRecord;

/// What a classic group does when its record is committed, or when it could not be (the `appendFuture`s of `GroupMetadataManager`).
#[derive(Debug, PartialEq)]
pub(super) enum WriteEffect {
    /// Nothing more than answering.
    None,
    /// A group of no members yet was made for a join.
    GroupCreated { group_id: Arc<str>, join: ParkedJoin },
    /// The group's last member is gone.
    GroupEmptied { group_id: Arc<str> },
    /// The leader's assignment of a generation.
    AssignmentStored { group_id: Arc<str>, generation_id: i32, member_id: String, assignment: BTreeMap<String, Bytes> },
    /// A static member of a stable group has a new member id.
    StaticMemberReplaced(Box<StaticMemberReplaced>),
}

/// What it takes to answer the static member, or to turn back.
#[derive(Debug, PartialEq)]
pub(super) struct StaticMemberReplaced {
    pub group_id: Arc<str>,
    pub group_instance_id: String,
    pub old_member_id: Arc<str>,
    pub new_member_id: Arc<str>,
    /// The leader before the member was replaced.
    pub leader_id: Option<Arc<str>>,
    pub old_protocols: Vec<SupportedProtocol>,
    pub old_rebalance_timeout_ms: i32,
    pub old_session_timeout_ms: i32,
    /// The member's join.
    pub join: ParkedJoin,
}

/// A write, or a place in their order (no records) behind which replies wait.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub id: WriteId,
    /// Records that change the state once they are appended; soft state was changed before.
    pub replay: Vec<GroupRecord>,
    pub record_count: usize,
    pub producer_id: i64,
    pub effect: WriteEffect,
    pub reply: Option<Reply>,
    pub deadline_ms: i64,
    /// The offset after the last record; known once it is appended.
    end_offset: Option<i64>,
    timed_out: bool,
}

/// All that is not committed, oldest first.
#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    queue: VecDeque<PendingWrite>,
    next_id: u64,
}

/// A write as it begins.
#[derive(Debug)]
pub(super) struct NewWrite {
    pub replay: Vec<GroupRecord>,
    pub record_count: usize,
    pub producer_id: i64,
    pub effect: WriteEffect,
    pub reply: Option<Reply>,
    pub deadline_ms: i64,
}

impl PendingWrites {
    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a write.
    pub fn push(&mut self, write: NewWrite) -> WriteId {
        let id = WriteId(self.next_id);
        self.next_id += 1;
        self.queue.push_back(PendingWrite {
            id,
            replay: write.replay,
            record_count: write.record_count,
            producer_id: write.producer_id,
            effect: write.effect,
            reply: write.reply,
            deadline_ms: write.deadline_ms,
            end_offset: None,
            timed_out: false,
        });
        id
    }

    /// Lets a reply wait until everything that is pending now is committed.
    pub fn push_barrier(&mut self, reply: Reply, deadline_ms: i64) {
        self.push(NewWrite {
            replay: Vec::new(),
            record_count: 0,
            producer_id: -1,
            effect: WriteEffect::None,
            reply: Some(reply),
            deadline_ms,
        });
    }

    /// Notes that a write is in the log from `base_offset` on. Returns what it changes, and its producer.
    pub fn appended(&mut self, id: WriteId, base_offset: i64) -> Option<(Vec<GroupRecord>, i64)> {
        let write = self.queue.iter_mut().find(|write| write.id == id)?;
        write.end_offset = Some(base_offset + write.record_count as i64);
        Some((std::mem::take(&mut write.replay), write.producer_id))
    }

    /// Takes the oldest write if it is committed, and barriers that only waited for what is gone.
    pub fn pop_committed(&mut self, high_watermark: i64) -> Option<PendingWrite> {
        let front = self.queue.front()?;
        let committed = front.record_count == 0 || front.end_offset.is_some_and(|end_offset| end_offset <= high_watermark);
        if committed { self.queue.pop_front() } else { None }
    }

    /// Takes a write that failed, and the barriers right behind it, whose replies tell of its state.
    pub fn take_failed(&mut self, id: WriteId) -> Vec<PendingWrite> {
        let Some(start) = self.queue.iter().position(|write| write.id == id) else { return Vec::new() };
        let barriers = self.queue.iter().skip(start + 1).take_while(|write| write.record_count == 0).count();
        self.queue.drain(start..=start + barriers).collect()
    }

    /// When the next write has waited too long.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        // All writes wait equally long, so the first one that has not timed out is the next.
        self.queue.iter().find(|write| !write.timed_out).map(|write| write.deadline_ms)
    }

    /// Takes what waits for the next write that has waited too long. The write itself stays: it may still be committed.
    pub fn pop_timed_out(&mut self, now_ms: i64) -> Option<(WriteEffect, Option<Reply>)> {
        let write = self.queue.iter_mut().find(|write| !write.timed_out)?;
        if write.deadline_ms > now_ms {
            return None;
        }
        write.timed_out = true;
        Some((std::mem::replace(&mut write.effect, WriteEffect::None), write.reply.take()))
    }

    /// Takes everything.
    pub fn drain(&mut self) -> impl Iterator<Item = PendingWrite> + '_ {
        self.queue.drain(..)
    }
}
