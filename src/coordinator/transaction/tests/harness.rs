//! A coordinator with its log: every write is recorded and committed at once unless the test says that it fails.

use std::collections::BTreeSet;

use bytes::Bytes;
use ottla_model::{ErrorCode, TopicPartition};

use crate::group::{RequestToken, TransactionResult};
use crate::transaction::{
    ProducerIdAndEpoch, TransactionContext, TransactionCoordinatorConfig, TransactionCoordinatorShard, TransactionMarkers,
    TransactionOutcome, TransactionRequest,
};

pub const START_MS: i64 = 1_000_000;
pub const COORDINATOR_EPOCH: i32 = 5;
pub const TIMEOUT_MS: i32 = 60_000;

pub type Answer = Result<(i64, i16), ErrorCode>;

pub struct Harness {
    pub shard: TransactionCoordinatorShard,
    pub now_ms: i64,
    pub transaction_version: i16,
    pub log: Vec<(Bytes, Option<Bytes>)>,
    /// Markers that nobody has written yet.
    pub markers: Vec<TransactionMarkers>,
    /// What the log answers to the next write.
    pub failing: Option<ErrorCode>,
    next_producer_id: i64,
}

pub fn partitions(indexes: &[i32]) -> BTreeSet<TopicPartition> {
    indexes.iter().map(|&index| TopicPartition::new("t", index)).collect()
}

impl Harness {
    pub fn new(transaction_version: i16) -> Harness {
        let mut harness = Harness {
            shard: TransactionCoordinatorShard::new(TransactionCoordinatorConfig::default(), COORDINATOR_EPOCH),
            now_ms: START_MS,
            transaction_version,
            log: Vec::new(),
            markers: Vec::new(),
            failing: None,
            next_producer_id: 10,
        };
        let outcome = harness.shard.on_loaded(&harness.context());
        harness.settle(outcome);
        harness
    }

    pub fn context(&self) -> TransactionContext {
        TransactionContext { now_ms: self.now_ms, transaction_version: self.transaction_version }
    }

    pub fn call(&mut self, request: &TransactionRequest) -> Answer {
        let outcome = self.shard.handle(&self.context(), RequestToken(1), request);
        if outcome.needs_producer_id {
            assert!(outcome.replies.is_empty() && outcome.writes.is_empty());
            self.supply();
            return self.call(request);
        }
        let answers = self.settle(outcome);
        assert_eq!(answers.len(), 1, "one answer to {request:?}");
        answers[0]
    }

    fn supply(&mut self) {
        self.shard.supply_producer_id(self.next_producer_id);
        self.next_producer_id += 1;
    }

    /// Writes records, and keeps markers for later.
    pub fn settle(&mut self, outcome: TransactionOutcome) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut next = outcome;
        loop {
            let answered = next.replies.iter().map(|reply| reply.result.map(|producer| (producer.producer_id, producer.producer_epoch)));
            answers.extend(answered);
            self.markers.append(&mut next.markers);
            if next.writes.is_empty() {
                return answers;
            }
            let mut follow_up = TransactionOutcome::default();
            for write in next.writes {
                follow_up.append(match self.failing.take() {
                    Some(error) => self.shard.on_write_failed(&self.context(), write.id, error),
                    None => {
                        self.log.extend(write.records.into_iter().map(|record| (record.key, record.value)));
                        self.shard.on_write_committed(&self.context(), write.id)
                    }
                });
            }
            next = follow_up;
        }
    }

    /// All markers that are due are written.
    pub fn write_markers(&mut self) {
        for markers in std::mem::take(&mut self.markers) {
            let outcome = self.shard.on_markers_written(&self.context(), &markers.transactional_id, &[]);
            self.settle(outcome);
        }
    }

    pub fn tick_after(&mut self, ms: i64) {
        self.now_ms += ms;
        let outcome = self.shard.tick(&self.context());
        if outcome.needs_producer_id {
            self.supply();
        }
        self.settle(outcome);
    }

    /// The broker is gone; another reads the log.
    pub fn restart(&mut self) {
        self.markers.clear();
        self.shard = rebuilt(&self.log);
        let outcome = self.shard.on_loaded(&self.context());
        self.settle(outcome);
    }

    pub fn init(&mut self, expected: Option<(i64, i16)>) -> Answer {
        self.call(&TransactionRequest::InitProducerId {
            transactional_id: "tx".into(),
            transaction_timeout_ms: TIMEOUT_MS,
            expected: expected.map(producer),
        })
    }

    pub fn add(&mut self, named: (i64, i16), indexes: &[i32]) -> Answer {
        self.call(&TransactionRequest::AddPartitions {
            transactional_id: "tx".into(),
            producer: producer(named),
            partitions: partitions(indexes),
            client_transaction_version: if self.transaction_version >= 2 { 2 } else { 0 },
        })
    }

    pub fn end(&mut self, named: (i64, i16), result: TransactionResult) -> Answer {
        self.call(&TransactionRequest::End {
            transactional_id: "tx".into(),
            producer: producer(named),
            result,
            client_transaction_version: if self.transaction_version >= 2 { 2 } else { 0 },
        })
    }

    /// State, producer id, epoch and number of partitions of `tx`.
    pub fn described(&self) -> (String, i64, i16, usize) {
        let described = self.shard.describe("tx");
        let partitions = described.topics.iter().map(|topic| topic.partitions.len()).sum();
        (described.transaction_state, described.producer_id, described.producer_epoch, partitions)
    }
}

pub fn producer((producer_id, producer_epoch): (i64, i16)) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { producer_id, producer_epoch }
}

pub fn rebuilt(log: &[(Bytes, Option<Bytes>)]) -> TransactionCoordinatorShard {
    let mut shard = TransactionCoordinatorShard::new(TransactionCoordinatorConfig::default(), COORDINATOR_EPOCH + 1);
    for (key, value) in log {
        shard.replay(key.clone(), value.clone()).unwrap();
    }
    shard
}

pub fn state(name: &str, producer_id: i64, epoch: i16, partitions: usize) -> (String, i64, i16, usize) {
    (name.to_owned(), producer_id, epoch, partitions)
}
