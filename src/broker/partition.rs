//! One partition as this broker leads it: its log, who leads in which epoch, and the fetches that wait for it. The rules of the log's
//! content are the log's; the rules of a batch are `ottla-record`'s.

use std::sync::Arc;

use bytes::Bytes;
use ottla_log::{
    AppendError, AppendInfo, AppendOrigin, AppendRequest, BatchToAppend, FetchedRecords, SharedLog, TimestampedOffset, TransactionContext,
};
use ottla_model::{BrokerId, ErrorCode, TopicPartition, Uuid};
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_response::{AbortedTransaction, EpochEndOffset};
use ottla_record::{BATCH_OVERHEAD, BatchHeader, ValidationConfig};
use parking_lot::{Mutex, RwLock};

use crate::append::Appended;
use crate::broker::Broker;
use crate::delayed_fetch::{DelayedFetch, Isolation, ReadRequest};

/// No epoch was given, or none is known.
pub const NO_LEADER_EPOCH: i32 = -1;

/// Who leads a partition, as the metadata has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The leader, which need not be this broker.
    pub leader: BrokerId,
    /// The leader's epoch.
    pub leader_epoch: i32,
}

/// What news of the leader mean for whatever runs on this broker's leadership, such as a group coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadershipChange {
    /// This broker leads now and did not before.
    Gained,
    /// This broker no longer leads.
    Lost,
    /// Leader here as before, or not here as before.
    None,
}

/// A partition that has a replica here.
#[derive(Debug)]
pub struct Partition {
    topic_partition: TopicPartition,
    topic_id: Uuid,
    this_broker: BrokerId,
    log: SharedLog,
    leadership: RwLock<Leadership>,
    validation: RwLock<Arc<ValidationConfig>>,
    waiting_fetches: Mutex<Vec<Arc<DelayedFetch>>>,
}

/// What a fetch read.
#[derive(Debug)]
pub struct PartitionRead {
    /// Whole batches, the first of which contains the offset asked for.
    pub records: Records,
    /// The partition's high watermark.
    pub high_watermark: i64,
    /// The first offset that may belong to an open transaction.
    pub last_stable_offset: i64,
    /// The first offset of the log.
    pub log_start_offset: i64,
    /// Where a follower's log departs from this one; the default if it does not.
    pub diverging_epoch: EpochEndOffset,
    /// Transactions that a reader of committed records has to skip; `None` for other readers.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
}

/// What a client wants to know of offsets.
#[derive(Clone, Copy, Debug)]
pub struct OffsetQuery {
    /// A time in milliseconds since 1970, or one of the special negative ones.
    pub timestamp: i64,
    /// The epoch in which the client believes, or -1.
    pub current_leader_epoch: i32,
    /// Up to where the client may read.
    pub isolation: Isolation,
}

/// The special timestamp of the end of the log.
const LATEST_TIMESTAMP: i64 = -1;
const EARLIEST_TIMESTAMP: i64 = -2;
const EARLIEST_LOCAL_TIMESTAMP: i64 = -4;
/// The offset that stands for the high watermark in DeleteRecords.
const HIGH_WATERMARK: i64 = -1;

impl Partition {
    /// A partition over its open log.
    pub fn new(
        topic_partition: TopicPartition,
        topic_id: Uuid,
        this_broker: BrokerId,
        log: SharedLog,
        leadership: Leadership,
        validation: ValidationConfig,
    ) -> Partition {
        let partition = Partition {
            topic_partition,
            topic_id,
            this_broker,
            log,
            leadership: RwLock::new(leadership),
            validation: RwLock::new(Arc::new(validation)),
            waiting_fetches: Mutex::new(Vec::new()),
        };
        partition.begin_leadership(leadership);
        partition
    }

    /// The partition's name.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.topic_partition
    }

    /// The id of the topic that the partition was created for.
    pub fn topic_id(&self) -> Uuid {
        self.topic_id
    }

    /// The partition's log.
    pub fn log(&self) -> &SharedLog {
        &self.log
    }

    /// Takes over what the metadata says of the leader; an epoch that is not news changes nothing.
    pub fn set_leadership(&self, broker: &Arc<Broker>, leadership: Leadership) -> LeadershipChange {
        let was_leader = {
            let mut current = self.leadership.write();
            if current.leader_epoch >= leadership.leader_epoch {
                return LeadershipChange::None;
            }
            std::mem::replace(&mut *current, leadership).leader == self.this_broker
        };
        self.begin_leadership(leadership);
        self.wake_fetches(broker, i64::MAX);
        match (was_leader, leadership.leader == self.this_broker) {
            (false, true) => LeadershipChange::Gained,
            (true, false) => LeadershipChange::Lost,
            (true, true) | (false, false) => LeadershipChange::None,
        }
    }

    /// The only replica is the whole in-sync set: everything in its log is committed.
    fn begin_leadership(&self, leadership: Leadership) {
        if leadership.leader == self.this_broker {
            let mut log = self.log.lock();
            let log_end_offset = log.log_end_offset();
            log.assign_epoch_start_offset(leadership.leader_epoch, log_end_offset);
            log.update_high_watermark(log_end_offset);
        }
    }

    /// Checks the epoch in which a client believes; -1 is not checked (`Partition.checkCurrentLeaderEpoch`).
    pub fn check_epoch(&self, current_leader_epoch: i32) -> Result<(), ErrorCode> {
        let leader_epoch = self.leadership.read().leader_epoch;
        if current_leader_epoch == NO_LEADER_EPOCH || current_leader_epoch == leader_epoch {
            Ok(())
        } else if current_leader_epoch < leader_epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else {
            Err(ErrorCode::UnknownLeaderEpoch)
        }
    }

    /// Fails unless this broker leads; returns the epoch.
    pub fn check_leader(&self) -> Result<i32, ErrorCode> {
        let leadership = *self.leadership.read();
        if leadership.leader == self.this_broker { Ok(leadership.leader_epoch) } else { Err(ErrorCode::NotLeaderOrFollower) }
    }

    /// The topic's rules for batches.
    pub fn validation(&self) -> Arc<ValidationConfig> {
        self.validation.read().clone()
    }

    /// Takes over the topic's rules for batches; those on their way keep the old ones.
    pub fn set_validation(&self, validation: ValidationConfig) {
        *self.validation.write() = Arc::new(validation);
    }

    /// Appends one validated batch and wakes who waits for it. A caller that gets `flush_due` must call [`Partition::flush`] before it
    /// acknowledges: until then the records are not visible.
    pub fn append(
        &self,
        broker: &Arc<Broker>,
        header: BatchHeader,
        records: &[u8],
        origin: AppendOrigin,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.append_in_transaction(broker, header, records, (origin, TransactionContext::default()), now_ms)
    }

    /// As [`Partition::append`], with what a batch or a marker of a transaction brings along.
    pub fn append_in_transaction(
        &self,
        broker: &Arc<Broker>,
        header: BatchHeader,
        records: &[u8],
        (origin, transaction): (AppendOrigin, TransactionContext),
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        let leader_epoch = self.leadership.read().leader_epoch;
        let batches = [BatchToAppend { header, records }];
        let request = AppendRequest { batches: &batches, origin, leader_epoch, now_ms, transaction };
        let info = {
            let mut log = self.log.lock();
            let info = log.append_as_leader(&request)?;
            if !info.flush_due && !info.duplicate {
                log.update_high_watermark(info.last_offset + 1);
            }
            info
        };
        if !info.flush_due && !info.duplicate {
            self.wake_fetches(broker, (BATCH_OVERHEAD + records.len()) as i64);
        }
        Ok(appended(&info))
    }

    /// Moves the start of the log forward; -1 is up to the high watermark (`Partition.deleteRecordsOnLeader`).
    pub fn delete_records_before(&self, offset: i64) -> Result<i64, ErrorCode> {
        let mut log = self.log.lock();
        let offset = if offset == HIGH_WATERMARK { log.high_watermark() } else { offset };
        if offset < 0 {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        if !log.config().cleanup_policy.delete && log.config().cleanup_policy.compact {
            return Err(ErrorCode::PolicyViolation);
        }
        log.delete_records_before(offset).map_err(|error| error.code())
    }

    /// Makes everything up to `end_offset` durable, and only then visible. Blocks on the disk.
    pub fn flush(&self, broker: &Arc<Broker>, end_offset: i64, now_ms: i64) -> Result<(), ErrorCode> {
        ottla_log::flush_to(&self.log, end_offset, now_ms).map_err(|error| error.code())?;
        self.log.lock().maybe_increment_high_watermark(end_offset);
        self.wake_fetches(broker, i64::MAX);
        Ok(())
    }

    /// Reads for a fetch.
    pub fn read(&self, request: &ReadRequest<'_>) -> Result<PartitionRead, ErrorCode> {
        let wanted = &request.wanted.request;
        // A fetch may leave the epoch out with any negative number (`FetchRequest.optionalEpoch`).
        self.check_epoch(wanted.current_leader_epoch.max(NO_LEADER_EPOCH))?;
        if request.params.only_from_leader {
            self.check_leader()?;
        }
        if request.params.replica_id >= 0 {
            // There is no other replica than this one (`Partition.followerReplicaOrThrow`).
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let log = self.log.lock();
        let (end_offset, include_aborted) = match request.params.isolation {
            Isolation::LogEnd => (log.log_end_offset(), false),
            Isolation::HighWatermark => (log.high_watermark(), false),
            Isolation::Committed => (log.last_stable_offset(), true),
        };
        if let Some(diverging_epoch) = diverging_epoch(&log, wanted.last_fetched_epoch, wanted.fetch_offset)? {
            return Ok(nothing_read(&log, diverging_epoch));
        }
        let is_beyond = wanted.fetch_offset < log.log_start_offset() || wanted.fetch_offset >= end_offset;
        let max_bytes = match usize::try_from(request.max_bytes) {
            Ok(max_bytes) => max_bytes,
            Err(_) if is_beyond => 0,
            // A segment is not asked for a negative number of bytes (`LogSegment.read`).
            Err(_) => return Err(ErrorCode::UnknownServerError),
        };
        let read_request = ottla_log::ReadRequest {
            offset: wanted.fetch_offset,
            max_bytes,
            end_offset,
            at_least_one_batch: request.min_one_batch,
            include_aborted,
        };
        let read = log.read(read_request).map_err(|error| error.code())?;
        drop(log);
        // Where the first batch was too large, Kafka throws the list away with it (`ReplicaManager.readFromLog`).
        let is_first_too_large = read.records.is_none() && max_bytes > 0 && read.first_batch_size > max_bytes;
        Ok(partition_read(read, include_aborted && !is_first_too_large))
    }

    /// Answers ListOffsets (`Partition.fetchOffsetForTimestamp`).
    pub fn find_offset(&self, query: &OffsetQuery) -> Result<Option<TimestampedOffset>, ErrorCode> {
        self.check_epoch(query.current_leader_epoch)?;
        let leader_epoch = self.leadership.read().leader_epoch;
        let log = self.log.lock();
        let last_fetchable_offset = match query.isolation {
            Isolation::LogEnd => log.log_end_offset(),
            Isolation::HighWatermark => log.high_watermark(),
            Isolation::Committed => log.last_stable_offset(),
        };
        if query.timestamp == LATEST_TIMESTAMP {
            let latest = TimestampedOffset { timestamp: -1, offset: last_fetchable_offset, leader_epoch: Some(leader_epoch) };
            return Ok(Some(latest));
        }
        let found = log.fetch_offset_by_timestamp(query.timestamp).map_err(|error| error.code())?;
        let is_unbounded = matches!(query.timestamp, EARLIEST_TIMESTAMP | EARLIEST_LOCAL_TIMESTAMP);
        Ok(found.filter(|found| is_unbounded || found.offset < last_fetchable_offset))
    }

    /// Registers a fetch to be woken by appends. Those that were answered meanwhile are dropped from the list, so that it stays short.
    pub fn add_waiting_fetch(&self, fetch: &Arc<DelayedFetch>) {
        let mut waiting = self.waiting_fetches.lock();
        waiting.retain(|earlier| !earlier.is_done());
        waiting.push(fetch.clone());
    }

    /// Tells the waiting fetches of `bytes` that were appended.
    pub fn wake_fetches(&self, broker: &Arc<Broker>, bytes: i64) {
        let waiting = {
            let mut waiting = self.waiting_fetches.lock();
            if waiting.is_empty() {
                return;
            }
            std::mem::take(&mut *waiting)
        };
        let mut still_waiting = Vec::new();
        for fetch in waiting {
            fetch.wake(broker, bytes);
            if !fetch.is_done() {
                still_waiting.push(fetch);
            }
        }
        self.waiting_fetches.lock().append(&mut still_waiting);
    }
}

fn appended(info: &AppendInfo) -> Appended {
    Appended {
        first_offset: info.first_offset,
        end_offset: info.last_offset + 1,
        log_append_time_ms: info.log_append_time_ms,
        log_start_offset: info.log_start_offset,
        flush_due: info.flush_due,
    }
}

/// Where a fetcher's log departs from this one, if its last epoch tells so (KIP-595).
fn diverging_epoch(log: &ottla_log::Log, last_fetched_epoch: i32, fetch_offset: i64) -> Result<Option<EpochEndOffset>, ErrorCode> {
    if last_fetched_epoch < 0 {
        return Ok(None);
    }
    let end = log.end_offset_for_epoch(last_fetched_epoch).ok_or(ErrorCode::OffsetOutOfRange)?;
    if fetch_offset < log.log_start_offset() {
        return Err(ErrorCode::OffsetOutOfRange);
    }
    let diverges = end.leader_epoch < last_fetched_epoch || end.end_offset < fetch_offset;
    Ok(diverges.then(|| EpochEndOffset { epoch: end.leader_epoch, end_offset: end.end_offset, ..EpochEndOffset::default() }))
}

/// The result for a fetcher that has to truncate its log first.
fn nothing_read(log: &ottla_log::Log, diverging_epoch: EpochEndOffset) -> PartitionRead {
    PartitionRead {
        records: Records::Memory(Bytes::new()),
        high_watermark: log.high_watermark(),
        last_stable_offset: log.last_stable_offset(),
        log_start_offset: log.log_start_offset(),
        diverging_epoch,
        aborted_transactions: None,
    }
}

fn partition_read(read: FetchedRecords, include_aborted: bool) -> PartitionRead {
    let records = match read.records {
        Some(slice) => Records::Parts(vec![slice.into()]),
        None => Records::Memory(Bytes::new()),
    };
    let aborted = read.aborted_transactions.into_iter().map(|aborted| AbortedTransaction {
        producer_id: aborted.producer_id,
        first_offset: aborted.first_offset,
        ..AbortedTransaction::default()
    });
    PartitionRead {
        records,
        high_watermark: read.high_watermark,
        last_stable_offset: read.last_stable_offset,
        log_start_offset: read.log_start_offset,
        diverging_epoch: EpochEndOffset::default(),
        aborted_transactions: include_aborted.then(|| aborted.collect()),
    }
}
