//! Fetches of replicas that have all there is: they wait at the leader for a record, for a higher high watermark, or for their time
//! to run out. Holds them; `fetch` answers them.

use crate::event::{Caller, RequestId};
use crate::message::FetchRequest;
use crate::role::NO_DEADLINE;

/// More than the replicas of any quorum; a further fetch is answered at once, without records.
const PARKED_FETCHES_MAX: usize = 10_000;

#[derive(Clone, Debug)]
pub(crate) struct ParkedFetch {
    pub(crate) caller: Caller,
    pub(crate) request: FetchRequest,
    pub(crate) deadline_ms: i64,
}

#[derive(Debug, Default)]
pub(crate) struct ParkedFetches {
    fetches: Vec<ParkedFetch>,
}

impl ParkedFetches {
    /// Takes the fetch, or gives it back if too many wait.
    pub(crate) fn park(&mut self, fetch: ParkedFetch) -> Result<(), ParkedFetch> {
        if self.fetches.len() >= PARKED_FETCHES_MAX {
            return Err(fetch);
        }
        self.fetches.push(fetch);
        Ok(())
    }

    /// Those whose time is up.
    pub(crate) fn take_expired(&mut self, now_ms: i64) -> Vec<ParkedFetch> {
        self.take(|fetch| fetch.deadline_ms <= now_ms)
    }

    /// Those that wait for a record before `end_offset`.
    pub(crate) fn take_before(&mut self, end_offset: i64) -> Vec<ParkedFetch> {
        self.take(|fetch| fetch.request.position.offset < end_offset)
    }

    /// All of them.
    pub(crate) fn take_all(&mut self) -> Vec<ParkedFetch> {
        std::mem::take(&mut self.fetches)
    }

    /// The one with this id was given up by its sender.
    pub(crate) fn cancel(&mut self, id: RequestId) {
        self.fetches.retain(|fetch| fetch.caller.id != id);
    }

    pub(crate) fn next_deadline_ms(&self) -> i64 {
        self.fetches.iter().map(|fetch| fetch.deadline_ms).min().unwrap_or(NO_DEADLINE)
    }

    fn take(&mut self, mut wanted: impl FnMut(&ParkedFetch) -> bool) -> Vec<ParkedFetch> {
        let mut taken = Vec::new();
        let mut index = 0;
        while index < self.fetches.len() {
            if wanted(&self.fetches[index]) {
                taken.push(self.fetches.remove(index));
            } else {
                index += 1;
            }
        }
        taken
    }
}
