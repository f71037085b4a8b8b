//! A shard with the least runtime that it can live in: a log in memory, a clock that is set by hand, and failures on demand.

use std::collections::BTreeSet;
use std::sync::Arc;

use ottla_model::ErrorCode;

use crate::group::{
    CoordinatorRecord, GroupCoordinatorConfig, GroupCoordinatorShard, GroupRequest, Outcome, RecordOrigin, Replayed, Reply, RequestContext,
    RequestToken, TransactionResult, Write,
};

/// What is in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Logged {
    Record { record: CoordinatorRecord, producer_id: i64 },
    Marker { producer_id: i64, result: TransactionResult },
}

/// Whose request it is.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    pub client_id: &'a str,
    pub api_version: i16,
}

pub struct Harness {
    pub shard: GroupCoordinatorShard,
    pub config: Arc<GroupCoordinatorConfig>,
    pub now_ms: i64,
    pub log: Vec<Logged>,
    /// Whether writes are committed as soon as they are appended.
    pub commits_at_once: bool,
    /// The error that the next append fails with.
    pub next_append_error: Option<ErrorCode>,
    /// Requests without a reply so far.
    pub waiting: BTreeSet<RequestToken>,
    next_token: u64,
}

/// What one call brought about, with the answers to the writes that it made.
#[derive(Debug, Default)]
pub struct Effect {
    pub outcome: Outcome,
}

impl Harness {
    pub fn new(config: GroupCoordinatorConfig, now_ms: i64) -> Harness {
        let config = Arc::new(config);
        let mut shard = GroupCoordinatorShard::new(config.clone());
        shard.on_loaded(now_ms);
        Harness {
            shard,
            config,
            now_ms,
            log: Vec::new(),
            commits_at_once: true,
            next_append_error: None,
            waiting: BTreeSet::new(),
            next_token: 1,
        }
    }

    /// Sends a request and does what the runtime does.
    pub fn send(&mut self, sender: Sender<'_>, request: GroupRequest) -> (RequestToken, Effect) {
        let token = RequestToken(self.next_token);
        self.next_token += 1;
        self.waiting.insert(token);
        let context = RequestContext {
            now_ms: self.now_ms,
            token,
            api_version: sender.api_version,
            client_id: sender.client_id,
            client_host: "/127.0.0.1",
        };
        let outcome = self.shard.handle(&context, request);
        (token, self.run(outcome))
    }

    /// Acts on an outcome, and on what that brings about.
    pub fn run(&mut self, outcome: Outcome) -> Effect {
        let mut effect = Effect::default();
        let mut pending = outcome;
        loop {
            let writes = std::mem::take(&mut pending.writes);
            self.note_replies(&pending.replies);
            effect.outcome.append(pending);
            pending = Outcome::default();
            for write in writes {
                effect.outcome.writes.push(write.clone());
                pending.append(self.append(write));
            }
            if pending == Outcome::default() {
                return effect;
            }
        }
    }

    fn append(&mut self, write: Write) -> Outcome {
        if let Some(error) = self.next_append_error.take() {
            return self.shard.on_write_failed(self.now_ms, write.id, error);
        }
        let base_offset = self.log.len() as i64;
        let producer_id = write.producer.as_ref().map_or(-1, |producer| producer.producer_id.0);
        self.log.extend(write.records.into_iter().map(|record| Logged::Record { record, producer_id }));
        self.shard.on_write_appended(write.id, base_offset);
        if self.commits_at_once { self.shard.on_high_watermark(self.now_ms, self.log.len() as i64) } else { Outcome::default() }
    }

    fn note_replies(&mut self, replies: &[Reply]) {
        for reply in replies {
            assert!(self.waiting.remove(&reply.token), "{:?} is answered twice", reply.token);
        }
    }

    /// Everything in the log is committed.
    pub fn commit(&mut self) -> Effect {
        let outcome = self.shard.on_high_watermark(self.now_ms, self.log.len() as i64);
        self.run(outcome)
    }

    /// Ends a transaction with its marker.
    pub fn end_transaction(&mut self, producer_id: i64, result: TransactionResult) {
        self.log.push(Logged::Marker { producer_id, result });
        self.shard.replay_end_transaction_marker(producer_id, result);
    }

    /// Lets time pass, from one deadline to the next. `on_effect` is told when what happened.
    pub fn advance(&mut self, ms: i64, mut on_effect: impl FnMut(i64, Effect)) {
        let end_ms = self.now_ms + ms;
        while let Some(deadline_ms) = self.shard.next_deadline_ms().filter(|deadline_ms| *deadline_ms <= end_ms) {
            self.now_ms = self.now_ms.max(deadline_ms);
            let outcome = self.shard.tick(self.now_ms);
            let effect = self.run(outcome);
            on_effect(self.now_ms, effect);
        }
        self.now_ms = end_ms;
    }

    /// A shard made anew out of the log, not loaded yet.
    pub fn replayed(&self) -> GroupCoordinatorShard {
        let mut shard = GroupCoordinatorShard::new(self.config.clone());
        for (offset, logged) in (0i64..).zip(&self.log) {
            match logged {
                Logged::Record { record, producer_id } => {
                    let origin = RecordOrigin { offset, producer_id: *producer_id };
                    let replayed = shard.replay(origin, record.key.clone(), record.value.clone());
                    assert_eq!(replayed, Ok(Replayed::Applied), "{record:?}");
                }
                Logged::Marker { producer_id, result } => shard.replay_end_transaction_marker(*producer_id, *result),
            }
        }
        shard
    }

    /// Leadership goes and comes back. Returns what was answered, then what the load brings about.
    pub fn reload(&mut self) -> (Vec<Reply>, Effect) {
        let shard = self.replayed();
        let replies = std::mem::replace(&mut self.shard, shard).on_unloaded();
        self.note_replies(&replies);
        let outcome = self.shard.on_loaded(self.now_ms);
        (replies, self.run(outcome))
    }
}
