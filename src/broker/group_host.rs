//! Hosts the group coordinators: one shard for each partition of `__consumer_offsets` that is led here. Feeds them requests and time, appends what
//! they write, and carries their answers to whoever asked. A shard is dropped with its partition and rebuilt from the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ottla_config::BrokerConfig;
use ottla_coordinator::group::{
    DeletedTopic, GroupCoordinatorConfig, GroupCoordinatorShard, GroupRequest, Outcome, Reply, RequestContext as ShardContext,
    RequestToken, Response, Write, partition_for_group,
};
use ottla_log::{AppendOrigin, TransactionContext, VerificationGuard};
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_record::{BATCH_OVERHEAD, BatchBuilder, BatchHeader, BatchSettings, BuildError, NewRecord, ProducerFields};
use parking_lot::{Mutex, RwLock};

use crate::broker::Broker;
use crate::group_loader;
use crate::partition::Partition;
use crate::request::RequestContext;
use crate::transaction_markers::{Marker, append_marker};

/// Takes the answer to one request of a shard.
type Continuation = Box<dyn FnOnce(Response) + Send>;

/// No deadline.
const NEVER_MS: i64 = i64::MAX;

/// One partition of `__consumer_offsets` and the coordinator of its groups.
pub struct HostedShard {
    partition: Arc<Partition>,
    /// `None` while the partition is read.
    shard: Mutex<Option<GroupCoordinatorShard>>,
    deadline_ms: AtomicI64,
}

/// All group coordinators of a broker.
pub struct GroupHost {
    config: Arc<GroupCoordinatorConfig>,
    configured_partitions: i32,
    shards: RwLock<HashMap<i32, Arc<HostedShard>>>,
    waiting: Mutex<HashMap<RequestToken, Continuation>>,
    next_token: AtomicU64,
}

/// The part of a request that a shard needs besides its body.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// When the request came, in milliseconds since 1970.
    pub now_ms: i64,
    /// The version of the request.
    pub api_version: i16,
    /// The client's name for itself.
    pub client_id: &'a str,
    /// Where the client is.
    pub client_host: &'a str,
    /// What the verification of the request's transaction gave.
    pub verification_guard: Option<VerificationGuard>,
}

impl GroupHost {
    /// No coordinators yet.
    pub fn new(config: &BrokerConfig) -> GroupHost {
        GroupHost {
            config: Arc::new(crate::topic_configs::group_coordinator_config(config)),
            configured_partitions: config.offsets_topic_num_partitions,
            shards: RwLock::new(HashMap::new()),
            waiting: Mutex::new(HashMap::new()),
            next_token: AtomicU64::new(0),
        }
    }

    /// Which partition of `__consumer_offsets` a group lives in.
    pub fn partition_of(&self, broker: &Broker, group_id: &str) -> i32 {
        let image = broker.image();
        let existing = image.topics.by_name(internal_topic::CONSUMER_OFFSETS).map(|topic| topic.partitions.len() as i32);
        partition_for_group(group_id, existing.unwrap_or(self.configured_partitions).max(1))
    }

    /// The partitions of `__consumer_offsets` whose groups are coordinated here.
    pub fn partitions(&self) -> Vec<i32> {
        self.shards.read().keys().copied().collect()
    }

    /// Answers a request about one group that is passed through as it is: its continuation only encodes.
    pub fn forward(&self, broker: &Arc<Broker>, context: RequestContext, group_id: &str, request: GroupRequest) {
        let partition = self.partition_of(broker, group_id);
        let origin = context.origin();
        self.call(broker, partition, origin.caller(), request, Box::new(move |response| reply(context, response)));
    }

    /// Hands a request to the shard of `partition`; `then` gets the answer, now or later.
    pub fn call(&self, broker: &Arc<Broker>, partition: i32, caller: Caller<'_>, request: GroupRequest, then: Continuation) {
        if let Err(response) = request.validate(&self.config, caller.api_version) {
            return then(*response);
        }
        let Some(hosted) = self.shards.read().get(&partition).cloned() else {
            return then(request.error_answer(ErrorCode::NotCoordinator, caller.api_version));
        };
        let mut slot = hosted.shard.lock();
        let Some(shard) = slot.as_mut() else {
            drop(slot);
            return then(request.error_answer(ErrorCode::CoordinatorLoadInProgress, caller.api_version));
        };
        let token = RequestToken(self.next_token.fetch_add(1, Ordering::Relaxed));
        self.waiting.lock().insert(token, then);
        let context = ShardContext {
            now_ms: caller.now_ms,
            token,
            api_version: caller.api_version,
            client_id: caller.client_id,
            client_host: caller.client_host,
        };
        let outcome = shard.handle(&context, request);
        let replies = hosted.settle(broker, shard, outcome, caller.now_ms, caller.verification_guard);
        self.note_deadline(broker, &hosted, shard);
        drop(slot);
        self.deliver(replies);
    }

    /// Takes over the groups of a partition that this broker has begun to lead: reads it, then serves. Until then clients are told to wait.
    pub fn load(&self, broker: &Arc<Broker>, partition: &Arc<Partition>, now_ms: i64) {
        let topic_partition = partition.topic_partition();
        if &*topic_partition.topic != internal_topic::CONSUMER_OFFSETS {
            return;
        }
        let hosted = Arc::new(HostedShard { partition: partition.clone(), shard: Mutex::new(None), deadline_ms: AtomicI64::new(NEVER_MS) });
        self.shards.write().insert(topic_partition.partition, hosted.clone());
        let is_empty = {
            let log = partition.log().lock();
            log.log_start_offset() == log.log_end_offset()
        };
        if is_empty {
            return self.begin(broker, &hosted, GroupCoordinatorShard::new(self.config.clone()), now_ms);
        }
        let (broker, config) = (broker.clone(), self.config.clone());
        broker.clone().environment().blocking.run(Box::new(move || {
            let mut shard = GroupCoordinatorShard::new(config);
            match group_loader::load(&mut shard, &hosted.partition) {
                Ok(()) => broker.groups().begin(&broker, &hosted, shard, broker.environment().clock.now_ms()),
                Err(error) => {
                    tracing::error!(partition = %hosted.partition.topic_partition(), %error, "the groups of a partition could not be loaded");
                }
            }
        }));
    }

    fn begin(&self, broker: &Arc<Broker>, hosted: &Arc<HostedShard>, mut shard: GroupCoordinatorShard, now_ms: i64) {
        let mut slot = hosted.shard.lock();
        let outcome = shard.on_loaded(now_ms);
        let replies = hosted.settle(broker, &mut shard, outcome, now_ms, None);
        self.note_deadline(broker, hosted, &shard);
        *slot = Some(shard);
        drop(slot);
        self.deliver(replies);
    }

    /// Gives up a partition: whoever waits is sent elsewhere.
    pub fn unload(&self, topic_partition: &TopicPartition) {
        if &*topic_partition.topic != internal_topic::CONSUMER_OFFSETS {
            return;
        }
        let Some(hosted) = self.shards.write().remove(&topic_partition.partition) else { return };
        let shard = hosted.shard.lock().take();
        if let Some(shard) = shard {
            self.deliver(shard.on_unloaded());
        }
    }

    /// Gives up all partitions: the node stops.
    pub fn unload_all(&self) {
        let shards: Vec<_> = self.shards.write().drain().collect();
        for (_, hosted) in shards {
            if let Some(shard) = hosted.shard.lock().take() {
                self.deliver(shard.on_unloaded());
            }
        }
    }

    /// Ends a transaction in a partition of `__consumer_offsets`: its offsets count from now on, or are gone. While the groups are
    /// loaded nothing is written, since the load might not see it.
    pub fn write_marker(
        &self,
        broker: &Arc<Broker>,
        topic_partition: &TopicPartition,
        marker: &Marker,
        now_ms: i64,
    ) -> Result<(), ErrorCode> {
        let Some(hosted) = self.shards.read().get(&topic_partition.partition).cloned() else {
            broker.partitions().get_or_error(topic_partition)?;
            return Err(ErrorCode::NotLeaderOrFollower);
        };
        let mut slot = hosted.shard.lock();
        let shard = slot.as_mut().ok_or(ErrorCode::NotLeaderOrFollower)?;
        append_marker(broker, &hosted.partition, marker, now_ms)?;
        shard.replay_end_transaction_marker(marker.producer.producer_id, marker.result);
        Ok(())
    }

    /// Forgets the offsets of topics that were deleted.
    pub fn topics_deleted(&self, broker: &Arc<Broker>, topics: &[DeletedTopic], now_ms: i64) {
        self.for_each(broker, now_ms, |_| true, |shard| shard.on_topics_deleted(now_ms, topics));
    }

    /// Lets time pass for the shards that have something due.
    pub fn tick(&self, broker: &Arc<Broker>, now_ms: i64) {
        self.for_each(broker, now_ms, |hosted| hosted.deadline_ms.load(Ordering::Relaxed) <= now_ms, |shard| shard.tick(now_ms));
    }

    /// When [`GroupHost::tick`] is due, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let shards = self.shards.read();
        shards.values().map(|hosted| hosted.deadline_ms.load(Ordering::Relaxed)).min().filter(|&deadline_ms| deadline_ms != NEVER_MS)
    }

    fn for_each(
        &self,
        broker: &Arc<Broker>,
        now_ms: i64,
        is_wanted: impl Fn(&HostedShard) -> bool,
        act: impl Fn(&mut GroupCoordinatorShard) -> Outcome,
    ) {
        let wanted: Vec<_> = self.shards.read().values().filter(|hosted| is_wanted(hosted)).cloned().collect();
        for hosted in wanted {
            let mut slot = hosted.shard.lock();
            let Some(shard) = slot.as_mut() else { continue };
            let outcome = act(shard);
            let replies = hosted.settle(broker, shard, outcome, now_ms, None);
            self.note_deadline(broker, &hosted, shard);
            drop(slot);
            self.deliver(replies);
        }
    }

    fn note_deadline(&self, broker: &Broker, hosted: &HostedShard, shard: &GroupCoordinatorShard) {
        let deadline_ms = shard.next_deadline_ms().unwrap_or(NEVER_MS);
        let before_ms = hosted.deadline_ms.swap(deadline_ms, Ordering::Relaxed);
        if deadline_ms < before_ms {
            broker.wake_ticker();
        }
    }

    fn deliver(&self, replies: Vec<Reply>) {
        for Reply { token, response, .. } in replies {
            let continuation = self.waiting.lock().remove(&token);
            match continuation {
                Some(continuation) => continuation(response),
                None => tracing::error!(?token, "a group coordinator answered a request twice"),
            }
        }
    }
}

impl HostedShard {
    /// Does what the shard wants until it wants nothing more; returns the answers to send once its lock is released.
    fn settle(
        &self,
        broker: &Arc<Broker>,
        shard: &mut GroupCoordinatorShard,
        outcome: Outcome,
        now_ms: i64,
        verification_guard: Option<VerificationGuard>,
    ) -> Vec<Reply> {
        let mut replies = Vec::new();
        let mut next = outcome;
        loop {
            for event in &next.events {
                tracing::info!(partition = self.partition.topic_partition().partition, "{event}");
            }
            replies.append(&mut next.replies);
            if next.writes.is_empty() {
                return replies;
            }
            let mut follow_up = Outcome::default();
            for write in next.writes {
                match self.append(broker, &write, now_ms, verification_guard) {
                    Ok(base_offset) => shard.on_write_appended(write.id, base_offset),
                    Err(error) => follow_up.append(shard.on_write_failed(now_ms, write.id, error)),
                }
            }
            let high_watermark = self.partition.log().lock().high_watermark();
            follow_up.append(shard.on_high_watermark(now_ms, high_watermark));
            next = follow_up;
        }
    }

    fn append(
        &self,
        broker: &Arc<Broker>,
        write: &Write,
        now_ms: i64,
        verification_guard: Option<VerificationGuard>,
    ) -> Result<i64, ErrorCode> {
        let batch = batch(write, now_ms).map_err(|error| {
            tracing::error!(%error, "the records of a group coordinator do not fit a batch");
            ErrorCode::MessageTooLarge
        })?;
        let header = BatchHeader::parse(&batch).expect("the builder writes whole batches");
        if batch.len() > self.partition.validation().max_message_bytes {
            return Err(ErrorCode::MessageTooLarge);
        }
        let transaction = TransactionContext { verification_guard, ..TransactionContext::default() };
        let appended = self
            .partition
            .append_in_transaction(broker, header, &batch[BATCH_OVERHEAD..], (AppendOrigin::Coordinator, transaction), now_ms)
            .map_err(|error| error.code())?;
        if appended.flush_due {
            self.partition.flush(broker, appended.end_offset, now_ms)?;
        }
        Ok(appended.first_offset)
    }
}

fn batch(write: &Write, timestamp: i64) -> Result<Vec<u8>, BuildError> {
    let settings = match &write.producer {
        Some(producer) => BatchSettings {
            producer: ProducerFields { producer_id: producer.producer_id.0, producer_epoch: producer.producer_epoch, base_sequence: 0 },
            is_transactional: true,
            ..BatchSettings::default()
        },
        None => BatchSettings::default(),
    };
    let mut builder = BatchBuilder::new(settings)?;
    for record in &write.records {
        builder.append(&NewRecord { timestamp, key: Some(&record.key), value: record.value.as_deref(), headers: &[] })?;
    }
    builder.build()
}

/// Encodes the answer to a request that was passed through as it is.
fn reply(context: RequestContext, response: Response) {
    match response {
        Response::JoinGroup(response) => context.reply(&response),
        Response::SyncGroup(response) => context.reply(&response),
        Response::Heartbeat(response) => context.reply(&response),
        Response::LeaveGroup(response) => context.reply(&response),
        Response::OffsetCommit(response) => context.reply(&response),
        Response::TxnOffsetCommit(response) => context.reply(&response),
        Response::OffsetDelete(response) => context.reply(&response),
        part @ (Response::OffsetFetch(_) | Response::DescribeGroups(_) | Response::ListGroups(_) | Response::DeleteGroups(_)) => {
            unreachable!("{part:?} is joined with others by its handler")
        }
    }
}

impl std::fmt::Debug for GroupHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GroupHost({} shards, {} requests waiting)", self.shards.read().len(), self.waiting.lock().len())
    }
}
