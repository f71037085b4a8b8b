//! One coordinator shard: the state of all groups of one partition of `__consumer_offsets`, its life from load to unload, and the way
//! from decisions to outcomes. What is decided, and why, is in the modules beside.

use std::sync::Arc;

use ottla_model::ErrorCode;

use super::classic::ClassicOperation;
use super::config::GroupCoordinatorConfig;
use super::effects::{DraftWrite, Effects};
use super::events::GroupEvent;
use super::group_map::GroupMap;
use super::offsets::OffsetStore;
use super::outcome::{CoordinatorRecord, Outcome, Reply, Response, Write, WriteId};
use super::replay::RecordOrigin;
use super::timers::{TimerAction, TimerKey, Timers};
use super::write_errors::{append_error_to_response_error, failed_reply};
use super::writes::{NewWrite, PendingWrites};

/// The coordinator of the groups of one partition (`GroupCoordinatorShard`).
#[derive(Debug)]
pub struct GroupCoordinatorShard {
    pub(super) config: Arc<GroupCoordinatorConfig>,
    pub(super) groups: GroupMap,
    pub(super) offsets: OffsetStore,
    pub(super) timers: Timers,
    pub(super) writes: PendingWrites,
}

impl GroupCoordinatorShard {
    /// A shard that knows nothing yet.
    pub fn new(config: Arc<GroupCoordinatorConfig>) -> GroupCoordinatorShard {
        GroupCoordinatorShard {
            config,
            groups: GroupMap::default(),
            offsets: OffsetStore::default(),
            timers: Timers::default(),
            writes: PendingWrites::default(),
        }
    }

    /// The whole partition was replayed: sessions start anew, and requests may come.
    pub fn on_loaded(&mut self, now_ms: i64) -> Outcome {
        let mut effects = Effects::default();
        let group_ids: Vec<Arc<str>> = self.groups.classic_groups().map(|group| group.group_id.clone()).collect();
        for group_id in &group_ids {
            self.with_classic_group(group_id, now_ms, &mut effects, |operation| operation.loaded());
        }
        let members = self.groups.classic_groups().map(|group| group.members.len()).sum();
        let groups = self.groups.len();
        if groups > 0 {
            effects.events.push(GroupEvent::Loaded { groups, members });
        }
        self.schedule_clean_up(now_ms);
        self.finish(now_ms, effects, None)
    }

    /// The partition is led elsewhere from now on. Every request that still waits is sent to look for the coordinator.
    pub fn on_unloaded(mut self) -> Vec<Reply> {
        let mut effects = Effects::default();
        let group_ids: Vec<Arc<str>> = self.groups.classic_groups().map(|group| group.group_id.clone()).collect();
        for group_id in &group_ids {
            self.with_classic_group(group_id, 0, &mut effects, |operation| operation.answer_all_parked(ErrorCode::NotCoordinator));
        }
        let waiting = self.writes.drain().filter_map(|write| write.reply);
        effects.replies.extend(waiting.map(|reply| failed_reply(reply, ErrorCode::NotLeaderOrFollower)));
        effects.replies
    }

    /// When [`GroupCoordinatorShard::tick`] has something to do next.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.timers.next_deadline_ms().into_iter().chain(self.writes.next_deadline_ms()).min()
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ms: i64) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some((effect, reply)) = self.writes.pop_timed_out(now_ms) {
            let mut effects = Effects::default();
            self.effect_failed(now_ms, effect, ErrorCode::CoordinatorNotAvailable, true, &mut effects);
            effects.replies.extend(reply.map(|reply| failed_reply(reply, ErrorCode::RequestTimedOut)));
            outcome.append(self.finish(now_ms, effects, None));
        }
        while let Some((key, action)) = self.timers.pop_due(now_ms) {
            let mut effects = Effects::default();
            self.on_timer(now_ms, &key, action, &mut effects);
            outcome.append(self.finish(now_ms, effects, None));
        }
        outcome
    }

    fn on_timer(&mut self, now_ms: i64, key: &TimerKey, action: TimerAction, effects: &mut Effects) {
        match key {
            TimerKey::CleanUp => {
                self.clean_up(now_ms, effects);
                self.schedule_clean_up(now_ms);
            }
            TimerKey::Heartbeat { group_id, member_id } => {
                self.with_classic_group(group_id, now_ms, effects, |operation| operation.expire_member(member_id));
            }
            TimerKey::Join(group_id) | TimerKey::Sync(group_id) => {
                self.with_classic_group(group_id, now_ms, effects, |operation| match action {
                    TimerAction::CompleteInitialJoin { delay_ms, remaining_ms } => operation.complete_initial_join(delay_ms, remaining_ms),
                    TimerAction::ExpirePendingSync { generation_id } => operation.expire_pending_sync(generation_id),
                    TimerAction::CompleteJoin | TimerAction::ExpireMember | TimerAction::CleanUp => operation.complete_join(),
                });
            }
        }
    }

    fn schedule_clean_up(&mut self, now_ms: i64) {
        let deadline_ms = now_ms.saturating_add(self.config.offsets_retention_check_interval_ms);
        self.timers.schedule(TimerKey::CleanUp, deadline_ms, TimerAction::CleanUp);
    }

    /// The write's records are in the log, from `base_offset` on. They now count as state, though not yet as committed.
    pub fn on_write_appended(&mut self, id: WriteId, base_offset: i64) {
        let Some((records, producer_id)) = self.writes.appended(id, base_offset) else { return };
        for (offset, record) in (base_offset..).zip(records) {
            self.replay_written(RecordOrigin { offset, producer_id }, record);
        }
    }

    /// The high watermark of the partition has moved: what waited for writes below it goes on.
    pub fn on_high_watermark(&mut self, now_ms: i64, high_watermark: i64) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some(write) = self.writes.pop_committed(high_watermark) {
            let mut effects = Effects::default();
            self.effect_committed(now_ms, write.effect, &mut effects);
            effects.replies.extend(write.reply);
            outcome.append(self.finish(now_ms, effects, None));
        }
        outcome
    }

    /// The write could not be appended. `error` is the log's.
    pub fn on_write_failed(&mut self, now_ms: i64, id: WriteId, error: ErrorCode) -> Outcome {
        let mut effects = Effects::default();
        for write in self.writes.take_failed(id) {
            self.effect_failed(now_ms, write.effect, append_error_to_response_error(error), false, &mut effects);
            effects.replies.extend(write.reply.map(|reply| failed_reply(reply, error)));
        }
        self.finish(now_ms, effects, None)
    }

    /// Runs a step on a classic group, if there is one of this id.
    pub(super) fn with_classic_group<R>(
        &mut self,
        group_id: &str,
        now_ms: i64,
        effects: &mut Effects,
        step: impl FnOnce(&mut ClassicOperation<'_>) -> R,
    ) -> Option<R> {
        let group = self.groups.classic_mut(group_id)?;
        let mut operation = ClassicOperation { group, config: &self.config, timers: &mut self.timers, effects, now_ms };
        Some(step(&mut operation))
    }

    /// Turns the decisions of a step into an outcome. `reply` is sent once the step's write is committed or, without one, once all that
    /// it may have seen is.
    pub(super) fn finish(&mut self, now_ms: i64, effects: Effects, reply: Option<Reply>) -> Outcome {
        let Effects { replies, events, write } = effects;
        let mut outcome = Outcome { replies, writes: Vec::new(), events };
        match (write, reply) {
            (Some(draft), reply) => self.begin_write(now_ms, draft, reply, &mut outcome),
            (None, Some(reply)) if self.writes.is_empty() => outcome.replies.push(reply),
            (None, Some(reply)) => self.writes.push_barrier(reply, self.write_deadline_ms(now_ms)),
            (None, None) => {}
        }
        outcome
    }

    fn begin_write(&mut self, now_ms: i64, draft: DraftWrite, reply: Option<Reply>, outcome: &mut Outcome) {
        let encoded: Result<Vec<CoordinatorRecord>, _> = draft.records.iter().map(|record| record.encode()).collect();
        let Ok(records) = encoded else {
            // A name of the request does not fit a record. Kafka answers so too.
            let mut effects = Effects::default();
            self.effect_failed(now_ms, draft.effect, ErrorCode::UnknownServerError, false, &mut effects);
            effects.replies.extend(reply.map(|reply| failed_reply(reply, ErrorCode::UnknownServerError)));
            outcome.append(self.finish(now_ms, effects, None));
            return;
        };
        let id = self.writes.push(NewWrite {
            record_count: records.len(),
            replay: if draft.replay { draft.records } else { Vec::new() },
            producer_id: draft.producer.as_ref().map_or(-1, |producer| producer.producer_id.0),
            effect: draft.effect,
            reply,
            deadline_ms: self.write_deadline_ms(now_ms),
        });
        outcome.writes.push(Write { id, records, atomic: draft.atomic, producer: draft.producer });
    }

    fn write_deadline_ms(&self, now_ms: i64) -> i64 {
        now_ms.saturating_add(self.config.offsets_commit_timeout_ms)
    }

    /// A reply that needs nothing to be committed.
    pub(super) fn immediate(token: super::RequestToken, api_version: i16, response: Response) -> Outcome {
        Outcome { replies: vec![Reply { token, api_version, response }], ..Outcome::default() }
    }
}
