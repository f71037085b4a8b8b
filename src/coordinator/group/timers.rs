//! Deadlines as data: which timers a shard has set, and which are due. What a timer does is decided by who set it.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Names a timer; setting one again moves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimerKey {
    /// A member must be heard of until then.
    Heartbeat { group_id: Arc<str>, member_id: Arc<str> },
    /// The join phase of the group ends.
    Join(Arc<str>),
    /// All members must have synced.
    Sync(Arc<str>),
    /// Offsets and empty groups are looked through.
    CleanUp,
}

/// What happens at a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimerAction {
    /// The member is removed unless a request of its own is parked here.
    ExpireMember,
    /// Those who have joined are the next generation.
    CompleteJoin,
    /// The first join phase of a group ends, or is extended when somebody new came.
    CompleteInitialJoin { delay_ms: i32, remaining_ms: i32 },
    /// Members of this generation that have not synced are removed.
    ExpirePendingSync { generation_id: i32 },
    /// Expired offsets and empty groups are removed.
    CleanUp,
}

/// The position of a timer in the queue: timers of one instant are due in the order in which they were set.
type Position = (i64, u64);

/// The timers of a shard.
#[derive(Debug, Default)]
pub(super) struct Timers {
    positions: BTreeMap<TimerKey, Position>,
    queue: BTreeMap<Position, (TimerKey, TimerAction)>,
    next_sequence: u64,
}

impl Timers {
    /// Sets the timer `key` to `deadline_ms`, wherever it was before.
    pub fn schedule(&mut self, key: TimerKey, deadline_ms: i64, action: TimerAction) {
        let position = (deadline_ms, self.next_sequence);
        self.next_sequence += 1;
        if let Some(previous) = self.positions.insert(key.clone(), position) {
            self.queue.remove(&previous);
        }
        self.queue.insert(position, (key, action));
    }

    /// Forgets the timer, if it is set.
    pub fn cancel(&mut self, key: &TimerKey) {
        if let Some(position) = self.positions.remove(key) {
            self.queue.remove(&position);
        }
    }

    /// When the next timer is due.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.queue.first_key_value().map(|((deadline_ms, _), _)| *deadline_ms)
    }

    /// Takes the next timer that is due at `now_ms`.
    pub fn pop_due(&mut self, now_ms: i64) -> Option<(TimerKey, TimerAction)> {
        if self.next_deadline_ms()? > now_ms {
            return None;
        }
        let (_, (key, action)) = self.queue.pop_first()?;
        self.positions.remove(&key);
        Some((key, action))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_a_timer_again_moves_it() {
        let mut timers = Timers::default();
        timers.schedule(TimerKey::CleanUp, 10, TimerAction::CleanUp);
        timers.schedule(TimerKey::Join("g".into()), 20, TimerAction::CompleteJoin);
        timers.schedule(TimerKey::CleanUp, 30, TimerAction::CleanUp);
        assert_eq!(timers.next_deadline_ms(), Some(20));
        assert_eq!(timers.pop_due(19), None);
        assert_eq!(timers.pop_due(30), Some((TimerKey::Join("g".into()), TimerAction::CompleteJoin)));
        assert_eq!(timers.pop_due(30), Some((TimerKey::CleanUp, TimerAction::CleanUp)));
        assert_eq!(timers.next_deadline_ms(), None);
    }

    #[test]
    fn a_cancelled_timer_is_never_due() {
        let mut timers = Timers::default();
        timers.schedule(TimerKey::CleanUp, 10, TimerAction::CleanUp);
        timers.cancel(&TimerKey::CleanUp);
        timers.cancel(&TimerKey::Sync("g".into()));
        assert_eq!(timers.pop_due(100), None);
    }
}
