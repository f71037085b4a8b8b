//! Fetches that wait for data. One waits registered with its partitions and in the queue of deadlines; whichever comes first answers it.
//! Appends wake it, nothing polls it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ottla_model::{BrokerId, ErrorCode, TopicPartition};
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_response::{LeaderIdAndEpoch, NodeEndpoint, PartitionData};
use parking_lot::Mutex;

use crate::broker::Broker;
use crate::deadlines::DeadlineKey;
use crate::endpoints;
use crate::fetch_session::{FetchContext, WantedPartition};
use crate::partition::PartitionRead;
use crate::request::RequestContext;

/// From this version on a client that asks the wrong broker is told of the right one (KIP-951).
const FIRST_VERSION_WITH_LEADER: i16 = 16;
/// Up to this version clients do not know that a log directory can fail.
const LAST_VERSION_WITHOUT_STORAGE_ERROR: i16 = 5;

/// Up to where a fetch may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// All that was appended: followers.
    LogEnd,
    /// What cannot be lost any more: consumers.
    HighWatermark,
    /// Below the first open transaction: consumers that read committed records only.
    Committed,
}

/// The isolation level of consumers that read whatever cannot be lost any more.
const READ_UNCOMMITTED: i8 = 0;
/// The isolation level of consumers that skip aborted and open transactions.
const READ_COMMITTED: i8 = 1;

/// Whether a request's isolation level is that of committed records. Kafka has no code for a level that it does not know
/// (`IsolationLevel.forId`).
pub fn reads_committed(isolation_level: i8) -> Result<bool, ErrorCode> {
    match isolation_level {
        READ_UNCOMMITTED => Ok(false),
        READ_COMMITTED => Ok(true),
        _ => Err(ErrorCode::UnknownServerError),
    }
}

/// What a fetch asks for, besides its partitions.
#[derive(Clone, Copy, Debug)]
pub struct FetchParams {
    /// The fetching broker, or a negative number for a consumer.
    pub replica_id: i32,
    /// How long it may wait.
    pub max_wait_ms: i64,
    /// How many bytes of records end the wait.
    pub min_bytes: i64,
    /// The most bytes of records in the answer; one batch is returned even if it is larger. May be negative, as the client wants.
    pub max_bytes: i32,
    /// Whether a replica that does not lead must not answer.
    pub only_from_leader: bool,
    /// Up to where it may read.
    pub isolation: Isolation,
}

/// What one partition is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The partition's part of the request.
    pub wanted: &'a WantedPartition,
    /// The request's own part.
    pub params: &'a FetchParams,
    /// The most bytes to return. A negative number is an error where there is something to read.
    pub max_bytes: i64,
    /// Whether the first batch is returned even if it is larger than that.
    pub min_one_batch: bool,
}

/// A fetch that is not answered yet.
#[derive(Debug)]
pub struct PendingFetch {
    /// The request.
    pub request: RequestContext,
    /// How its session wants to be told of the result.
    pub fetch_context: FetchContext,
    /// What it asks for.
    pub params: FetchParams,
    /// The partitions to read, in order.
    pub partitions: Vec<(WantedPartition, TopicPartition)>,
    /// The partitions that do not exist, with their results.
    pub unknown: Vec<(WantedPartition, PartitionData)>,
}

/// What a pass over the partitions found.
struct ReadPass {
    results: Vec<PartitionData>,
    bytes: i64,
    failed: bool,
}

/// A fetch that waits.
pub struct DelayedFetch {
    key: DeadlineKey,
    /// How many bytes have to be appended before it is worth looking again.
    missing_bytes: AtomicI64,
    /// `None` once it is answered.
    pending: Mutex<Option<PendingFetch>>,
}

impl PendingFetch {
    /// Answers at once if Kafka would (`ReplicaManager.fetchMessages`), else waits.
    pub fn answer_or_wait(self, broker: &Arc<Broker>) {
        let pass = self.read(broker);
        if self.params.max_wait_ms <= 0 || self.partitions.is_empty() || self.is_satisfied(&pass) {
            return self.answer(broker, pass.results);
        }
        let deadline_ms = self.request.now_ms + self.params.max_wait_ms;
        let missing_bytes = AtomicI64::new(self.params.min_bytes - pass.bytes);
        let topic_partitions: Vec<_> = self.partitions.iter().map(|(_, topic_partition)| topic_partition.clone()).collect();
        let (delayed, is_earliest) =
            broker.delayed_fetches().insert(deadline_ms, |key| DelayedFetch { key, missing_bytes, pending: Mutex::new(Some(self)) });
        for topic_partition in &topic_partitions {
            match broker.partitions().get(topic_partition) {
                Some(partition) => partition.add_waiting_fetch(&delayed),
                // It went away since it was read: there will be no event, so look again.
                None => delayed.wake(broker, i64::MAX),
            }
        }
        // What was appended between reading and registering woke nobody.
        delayed.try_answer(broker);
        if is_earliest {
            broker.wake_ticker();
        }
    }

    fn is_satisfied(&self, pass: &ReadPass) -> bool {
        pass.failed || pass.bytes >= self.params.min_bytes
    }

    fn read(&self, broker: &Broker) -> ReadPass {
        let mut pass = ReadPass { results: Vec::with_capacity(self.partitions.len()), bytes: 0, failed: false };
        let mut bytes_left = i64::from(self.params.max_bytes);
        for (wanted, topic_partition) in &self.partitions {
            let request = ReadRequest {
                wanted,
                params: &self.params,
                max_bytes: i64::from(wanted.request.partition_max_bytes).min(bytes_left),
                min_one_batch: pass.bytes == 0,
            };
            let read =
                broker.partitions().fetch_target(topic_partition, wanted.partition.topic_id).and_then(|partition| partition.read(&request));
            let data = match read {
                Ok(read) => {
                    pass.failed |= read.diverging_epoch.epoch >= 0;
                    read_data(wanted.partition.partition, read)
                }
                Err(error) => {
                    pass.failed = true;
                    self.failed_data(broker, wanted, error)
                }
            };
            let length = data.records.as_ref().map_or(0, Records::len) as i64;
            pass.bytes += length;
            bytes_left = (bytes_left - length).max(0);
            pass.results.push(data);
        }
        pass
    }

    /// A partition's result that is an error found while reading.
    fn failed_data(&self, broker: &Broker, wanted: &WantedPartition, error: ErrorCode) -> PartitionData {
        let version = self.request.api_version;
        let mut data = PartitionData {
            partition_index: wanted.partition.partition,
            high_watermark: -1,
            aborted_transactions: None,
            records: Some(Records::default()),
            error_code: error.code(),
            ..PartitionData::default()
        };
        if error == ErrorCode::KafkaStorageError && version <= LAST_VERSION_WITHOUT_STORAGE_ERROR {
            data.error_code = ErrorCode::NotLeaderOrFollower.code();
        }
        if matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch) && version >= FIRST_VERSION_WITH_LEADER {
            let image = broker.image();
            let topic = wanted.partition.topic.as_deref().and_then(|topic| image.topics.by_name(topic));
            if let Some(registration) = topic.and_then(|topic| topic.partitions.get(&wanted.partition.partition)) {
                let (leader_id, leader_epoch) = (registration.leader.0, registration.leader_epoch.0);
                data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch, ..LeaderIdAndEpoch::default() };
            }
        }
        data
    }

    fn answer(self, broker: &Broker, results: Vec<PartitionData>) {
        let read = self.partitions.into_iter().map(|(wanted, _)| wanted).zip(results).chain(self.unknown).collect::<Vec<_>>();
        // Followers know where brokers are.
        let node_endpoints = if self.params.replica_id < 0 { node_endpoints(broker, &self.request, &read) } else { Vec::new() };
        let random_session_id = || broker.environment().random_u64() as i32;
        let mut response = broker.fetch_sessions().finish(self.fetch_context, read, random_session_id, self.request.now_ms);
        response.node_endpoints = node_endpoints;
        self.request.reply(&response);
    }
}

fn read_data(partition_index: i32, read: PartitionRead) -> PartitionData {
    PartitionData {
        partition_index,
        high_watermark: read.high_watermark,
        last_stable_offset: read.last_stable_offset,
        log_start_offset: read.log_start_offset,
        diverging_epoch: read.diverging_epoch,
        aborted_transactions: read.aborted_transactions,
        records: Some(read.records),
        ..PartitionData::default()
    }
}

fn node_endpoints(broker: &Broker, request: &RequestContext, read: &[(WantedPartition, PartitionData)]) -> Vec<NodeEndpoint> {
    let mut leaders: Vec<i32> = read.iter().map(|(_, data)| data.current_leader.leader_id).filter(|&leader| leader >= 0).collect();
    if leaders.is_empty() {
        return Vec::new();
    }
    leaders.sort_unstable();
    leaders.dedup();
    let image = broker.image();
    let node = |id| endpoints::alive_broker(&image, BrokerId(id), &request.connection.info.listener);
    let endpoint = |node: endpoints::Node<'_>| NodeEndpoint {
        node_id: node.id.0,
        host: node.host.to_owned(),
        port: node.port,
        rack: node.rack.map(str::to_owned),
        ..NodeEndpoint::default()
    };
    leaders.into_iter().filter_map(node).map(endpoint).collect()
}

impl DelayedFetch {
    /// Whether it was answered.
    pub fn is_done(&self) -> bool {
        self.pending.lock().is_none()
    }

    /// Tells it that `bytes` were appended to one of its partitions, or, with `i64::MAX`, that it has to look again whatever it waits for.
    pub fn wake(&self, broker: &Arc<Broker>, bytes: i64) {
        let before = self.missing_bytes.fetch_sub(bytes.min(i64::MAX / 2), Ordering::Relaxed);
        if before <= bytes {
            self.try_answer(broker);
        }
    }

    /// Answers with whatever is there: its time is up.
    pub fn expire(&self, broker: &Broker) {
        let Some(pending) = self.pending.lock().take() else { return };
        let pass = pending.read(broker);
        pending.answer(broker, pass.results);
    }

    /// The lock is held while reading, so that whoever appends meanwhile looks again afterwards.
    fn try_answer(&self, broker: &Broker) {
        let mut slot = self.pending.lock();
        let Some(pending) = slot.as_ref() else { return };
        let pass = pending.read(broker);
        if !pending.is_satisfied(&pass) {
            self.missing_bytes.store(pending.params.min_bytes - pass.bytes, Ordering::Relaxed);
            return;
        }
        if let Some(pending) = slot.take() {
            drop(slot);
            broker.delayed_fetches().remove(self.key);
            pending.answer(broker, pass.results);
        }
    }
}

impl fmt::Debug for DelayedFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DelayedFetch({:?}, {} bytes missing)", self.key, self.missing_bytes.load(Ordering::Relaxed))
    }
}
