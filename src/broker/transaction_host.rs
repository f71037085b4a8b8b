//! Hosts the transaction coordinators: one shard for each partition of `__transaction_state` that is led here. Feeds them requests, time
//! and producer ids, appends what they write, and writes their markers. No lock of a coordinator is held while markers are written.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ottla_config::BrokerConfig;
use ottla_coordinator::group::RequestToken;
use ottla_coordinator::transaction::{
    ProducerIdAndEpoch, TransactionContext, TransactionCoordinatorConfig, TransactionCoordinatorShard, TransactionFilter,
    TransactionMarkers, TransactionOutcome, TransactionReply, TransactionRequest, TransactionWrite, partition_for_transactional_id,
    validate_init_producer_id,
};
use ottla_log::AppendOrigin;
use ottla_metadata::feature::TRANSACTION_VERSION;
use ottla_model::{ErrorCode, TopicPartition, internal_topic};
use ottla_protocol::messages::describe_transactions_response::TransactionState as DescribedTransaction;
use ottla_protocol::messages::list_transactions_response::TransactionState as ListedTransaction;
use ottla_record::{BATCH_OVERHEAD, BatchBuilder, BatchHeader, BatchSettings, BuildError, NewRecord};
use parking_lot::{Mutex, RwLock};

use crate::broker::Broker;
use crate::partition::Partition;
use crate::transaction_loader;
use crate::transaction_markers::{Marker, write_marker};

/// No deadline.
const NEVER_MS: i64 = i64::MAX;

/// Requests are answered before the next one is decided on, so that one token is enough.
const TOKEN: RequestToken = RequestToken(0);

/// Who a producer is after its request, or what went wrong.
type Answer = Result<ProducerIdAndEpoch, ErrorCode>;

/// One partition of `__transaction_state` and its coordinator.
struct HostedCoordinator {
    partition: Arc<Partition>,
    /// `None` while the partition is read.
    shard: Mutex<Option<TransactionCoordinatorShard>>,
    deadline_ms: AtomicI64,
}

/// All transaction coordinators of a broker.
pub struct TransactionHost {
    config: TransactionCoordinatorConfig,
    configured_partitions: i32,
    coordinators: RwLock<HashMap<i32, Arc<HostedCoordinator>>>,
}

/// What came of a request.
enum Decision {
    Answered(Answer),
    NeedsProducerId(Arc<HostedCoordinator>),
}

impl TransactionHost {
    /// No coordinators yet.
    pub fn new(config: &BrokerConfig) -> TransactionHost {
        TransactionHost {
            config: TransactionCoordinatorConfig {
                transaction_max_timeout_ms: config.transaction_max_timeout_ms,
                transactional_id_expiration_ms: config.transactional_id_expiration_ms,
                abort_timed_out_interval_ms: config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                remove_expired_interval_ms: config.transaction_remove_expired_transaction_cleanup_interval_ms,
            },
            configured_partitions: config.transaction_state_log_num_partitions,
            coordinators: RwLock::new(HashMap::new()),
        }
    }

    /// Which partition of `__transaction_state` a transactional id lives in.
    pub fn partition_of(&self, broker: &Broker, transactional_id: &str) -> i32 {
        let image = broker.image();
        let existing = image.topics.by_name(internal_topic::TRANSACTION_STATE).map(|topic| topic.partitions.len() as i32);
        partition_for_transactional_id(transactional_id, existing.unwrap_or(self.configured_partitions).max(1))
    }

    /// Decides on a request; `then` gets the answer, now or once a producer id is there.
    pub fn call(&self, broker: &Arc<Broker>, request: TransactionRequest, now_ms: i64, then: impl FnOnce(Answer) + Send + 'static) {
        if let TransactionRequest::InitProducerId { transactional_id, transaction_timeout_ms, .. } = &request
            && let Err(error) = validate_init_producer_id(&self.config, transactional_id, *transaction_timeout_ms)
        {
            return then(Err(error));
        }
        match self.decide(broker, &request, now_ms) {
            Decision::Answered(answer) => then(answer),
            Decision::NeedsProducerId(hosted) => {
                let caller = broker.clone();
                broker.next_producer_id(move |supplied| match supplied {
                    Ok(producer_id) => {
                        hosted.supply(producer_id.0);
                        caller.transactions().call(&caller, request, now_ms, then);
                    }
                    Err(error) => then(Err(error)),
                });
            }
        }
    }

    /// Makes partitions part of a transaction on behalf of the leader of a partition. Needs no producer id, hence answers at once.
    pub fn add_partitions(&self, broker: &Arc<Broker>, request: &TransactionRequest, now_ms: i64) -> Result<(), ErrorCode> {
        match self.decide(broker, request, now_ms) {
            Decision::Answered(answer) => answer.map(|_| ()),
            Decision::NeedsProducerId(_) => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }

    /// Whether partitions take part in a transaction.
    pub fn verify_partitions(
        &self,
        broker: &Broker,
        (transactional_id, producer): (&str, ProducerIdAndEpoch),
        partitions: &BTreeSet<TopicPartition>,
    ) -> Result<Vec<(TopicPartition, ErrorCode)>, ErrorCode> {
        if transactional_id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        let hosted = self.coordinator_of(broker, transactional_id)?;
        let slot = hosted.shard.lock();
        let shard = slot.as_ref().ok_or(ErrorCode::CoordinatorLoadInProgress)?;
        shard.verify_partitions(transactional_id, producer, partitions)
    }

    /// What is known of a transactional id.
    pub fn describe(&self, broker: &Broker, transactional_id: &str) -> Result<DescribedTransaction, ErrorCode> {
        if transactional_id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        let hosted = self.coordinator_of(broker, transactional_id)?;
        let slot = hosted.shard.lock();
        Ok(slot.as_ref().ok_or(ErrorCode::CoordinatorLoadInProgress)?.describe(transactional_id))
    }

    /// The transactions that are coordinated here and pass the filter.
    pub fn list(&self, filter: &TransactionFilter<'_>, now_ms: i64) -> Result<Vec<ListedTransaction>, ErrorCode> {
        let mut listed = Vec::new();
        for hosted in self.all() {
            let slot = hosted.shard.lock();
            listed.extend(slot.as_ref().ok_or(ErrorCode::CoordinatorLoadInProgress)?.list(filter, now_ms));
        }
        Ok(listed)
    }

    fn coordinator_of(&self, broker: &Broker, transactional_id: &str) -> Result<Arc<HostedCoordinator>, ErrorCode> {
        let partition = self.partition_of(broker, transactional_id);
        self.coordinators.read().get(&partition).cloned().ok_or(ErrorCode::NotCoordinator)
    }

    fn all(&self) -> Vec<Arc<HostedCoordinator>> {
        self.coordinators.read().values().cloned().collect()
    }

    fn decide(&self, broker: &Arc<Broker>, request: &TransactionRequest, now_ms: i64) -> Decision {
        if request.transactional_id().is_empty() {
            return Decision::Answered(Err(ErrorCode::InvalidRequest));
        }
        let hosted = match self.coordinator_of(broker, request.transactional_id()) {
            Ok(hosted) => hosted,
            Err(error) => return Decision::Answered(Err(error)),
        };
        let context = context_of(broker, now_ms);
        let mut slot = hosted.shard.lock();
        let Some(shard) = slot.as_mut() else { return Decision::Answered(Err(ErrorCode::CoordinatorLoadInProgress)) };
        let outcome = shard.handle(&context, TOKEN, request);
        if outcome.needs_producer_id {
            drop(slot);
            return Decision::NeedsProducerId(hosted);
        }
        let settled = hosted.settle(broker, shard, outcome, &context);
        hosted.note_deadline(broker, shard);
        drop(slot);
        hosted.write_markers(broker, settled.markers, &context);
        let answer = settled.replies.first().map(|reply| reply.result);
        Decision::Answered(answer.unwrap_or(Err(ErrorCode::CoordinatorNotAvailable)))
    }

    /// Takes over the transactions of a partition that this broker has begun to lead: reads it, then serves.
    pub fn load(&self, broker: &Arc<Broker>, partition: &Arc<Partition>, now_ms: i64) {
        let topic_partition = partition.topic_partition();
        if &*topic_partition.topic != internal_topic::TRANSACTION_STATE {
            return;
        }
        let hosted =
            Arc::new(HostedCoordinator { partition: partition.clone(), shard: Mutex::new(None), deadline_ms: AtomicI64::new(NEVER_MS) });
        self.coordinators.write().insert(topic_partition.partition, hosted.clone());
        let Ok(coordinator_epoch) = partition.check_leader() else { return };
        let shard = TransactionCoordinatorShard::new(self.config, coordinator_epoch);
        let is_empty = {
            let log = partition.log().lock();
            log.log_start_offset() == log.log_end_offset()
        };
        if is_empty {
            return hosted.begin(broker, shard, now_ms);
        }
        let broker = broker.clone();
        broker.clone().environment().blocking.run(Box::new(move || {
            let mut shard = shard;
            match transaction_loader::load(&mut shard, &hosted.partition) {
                Ok(()) => hosted.begin(&broker, shard, broker.environment().clock.now_ms()),
                Err(error) => {
                    tracing::error!(partition = %hosted.partition.topic_partition(), %error, "the transactions of a partition could not be loaded");
                }
            }
        }));
    }

    /// Gives up a partition.
    pub fn unload(&self, topic_partition: &TopicPartition) {
        if &*topic_partition.topic == internal_topic::TRANSACTION_STATE {
            self.coordinators.write().remove(&topic_partition.partition);
        }
    }

    /// Gives up all partitions: the node stops.
    pub fn unload_all(&self) {
        self.coordinators.write().clear();
    }

    /// Lets time pass for the coordinators that have something due.
    pub fn tick(&self, broker: &Arc<Broker>, now_ms: i64) {
        for hosted in self.all() {
            if hosted.deadline_ms.load(Ordering::Relaxed) <= now_ms {
                hosted.tick(broker, now_ms);
            }
        }
    }

    /// When [`TransactionHost::tick`] is due, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let coordinators = self.coordinators.read();
        coordinators.values().map(|hosted| hosted.deadline_ms.load(Ordering::Relaxed)).min().filter(|&deadline_ms| deadline_ms != NEVER_MS)
    }
}

/// What is left to do once a coordinator's lock is released.
#[derive(Default)]
struct Settled {
    replies: Vec<TransactionReply>,
    markers: Vec<TransactionMarkers>,
}

impl HostedCoordinator {
    fn begin(self: &Arc<Self>, broker: &Arc<Broker>, mut shard: TransactionCoordinatorShard, now_ms: i64) {
        let context = context_of(broker, now_ms);
        let mut slot = self.shard.lock();
        let outcome = shard.on_loaded(&context);
        let settled = self.settle(broker, &mut shard, outcome, &context);
        self.note_deadline(broker, &shard);
        *slot = Some(shard);
        drop(slot);
        self.write_markers(broker, settled.markers, &context);
    }

    fn tick(self: &Arc<Self>, broker: &Arc<Broker>, now_ms: i64) {
        let context = context_of(broker, now_ms);
        let mut slot = self.shard.lock();
        let Some(shard) = slot.as_mut() else { return };
        let outcome = shard.tick(&context);
        let needs_producer_id = outcome.needs_producer_id;
        let settled = self.settle(broker, shard, outcome, &context);
        self.note_deadline(broker, shard);
        if needs_producer_id {
            // The id comes first; supplying it makes the coordinator due again.
            self.deadline_ms.store(NEVER_MS, Ordering::Relaxed);
        }
        drop(slot);
        self.write_markers(broker, settled.markers, &context);
        if needs_producer_id {
            let (hosted, waking) = (self.clone(), broker.clone());
            broker.next_producer_id(move |supplied| {
                if let Ok(producer_id) = supplied {
                    hosted.supply(producer_id.0);
                }
                hosted.deadline_ms.store(now_ms + RETRY_MS, Ordering::Relaxed);
                waking.wake_ticker();
            });
        }
    }

    fn supply(&self, producer_id: i64) {
        if let Some(shard) = self.shard.lock().as_mut() {
            shard.supply_producer_id(producer_id);
        }
    }

    /// Does what the coordinator wants until it wants nothing more but markers.
    fn settle(
        &self,
        broker: &Arc<Broker>,
        shard: &mut TransactionCoordinatorShard,
        outcome: TransactionOutcome,
        context: &TransactionContext,
    ) -> Settled {
        let mut settled = Settled::default();
        let mut next = outcome;
        loop {
            settled.replies.append(&mut next.replies);
            settled.markers.append(&mut next.markers);
            if next.writes.is_empty() {
                return settled;
            }
            let mut follow_up = TransactionOutcome::default();
            for write in next.writes {
                follow_up.append(match self.append(broker, &write, context.now_ms) {
                    Ok(()) => shard.on_write_committed(context, write.id),
                    Err(error) => shard.on_write_failed(context, write.id, error),
                });
            }
            next = follow_up;
        }
    }

    fn append(&self, broker: &Arc<Broker>, write: &TransactionWrite, now_ms: i64) -> Result<(), ErrorCode> {
        self.partition.check_leader()?;
        let batch = batch(write, now_ms).map_err(|error| {
            tracing::error!(%error, "the records of a transaction coordinator do not fit a batch");
            ErrorCode::MessageTooLarge
        })?;
        let header = BatchHeader::parse(&batch).expect("the builder writes whole batches");
        if batch.len() > self.partition.validation().max_message_bytes {
            return Err(ErrorCode::MessageTooLarge);
        }
        let appended = self
            .partition
            .append(broker, header, &batch[BATCH_OVERHEAD..], AppendOrigin::Coordinator, now_ms)
            .map_err(|error| error.code())?;
        if appended.flush_due {
            self.partition.flush(broker, appended.end_offset, now_ms)?;
        }
        Ok(())
    }

    /// Writes the markers of decided transactions, and tells the coordinator where that failed.
    fn write_markers(&self, broker: &Arc<Broker>, markers: Vec<TransactionMarkers>, context: &TransactionContext) {
        let mut next = markers;
        while let Some(markers) = next.pop() {
            let remain = write_each(broker, &markers, context.now_ms);
            let mut slot = self.shard.lock();
            let Some(shard) = slot.as_mut() else { return };
            let outcome = shard.on_markers_written(context, &markers.transactional_id, &remain);
            let settled = self.settle(broker, shard, outcome, context);
            self.note_deadline(broker, shard);
            next.extend(settled.markers);
        }
    }

    fn note_deadline(&self, broker: &Broker, shard: &TransactionCoordinatorShard) {
        let deadline_ms = shard.next_deadline_ms().unwrap_or(NEVER_MS);
        let before_ms = self.deadline_ms.swap(deadline_ms, Ordering::Relaxed);
        if deadline_ms < before_ms {
            broker.wake_ticker();
        }
    }
}

/// How long to wait for the next try to get a producer id, in milliseconds.
const RETRY_MS: i64 = 100;

/// Writes a transaction's markers and returns the partitions that have to be tried again.
fn write_each(broker: &Arc<Broker>, markers: &TransactionMarkers, now_ms: i64) -> Vec<TopicPartition> {
    let marker = Marker {
        producer: markers.producer,
        coordinator_epoch: markers.coordinator_epoch,
        result: markers.result,
        transaction_version: markers.transaction_version,
    };
    let mut remain = Vec::new();
    for topic_partition in &markers.partitions {
        match write_marker(broker, topic_partition, &marker, now_ms) {
            // The topic was deleted: nothing is left to mark.
            Ok(()) | Err(ErrorCode::UnknownTopicOrPartition) => {}
            Err(error) => {
                let transactional_id = &*markers.transactional_id;
                tracing::warn!(transactional_id, %topic_partition, error = error.name(), "a transaction marker could not be written yet");
                remain.push(topic_partition.clone());
            }
        }
    }
    remain
}

fn context_of(broker: &Broker, now_ms: i64) -> TransactionContext {
    TransactionContext { now_ms, transaction_version: broker.image().features.level(TRANSACTION_VERSION) }
}

fn batch(write: &TransactionWrite, timestamp: i64) -> Result<Vec<u8>, BuildError> {
    let mut builder = BatchBuilder::new(BatchSettings::default())?;
    for record in &write.records {
        builder.append(&NewRecord { timestamp, key: Some(&record.key), value: record.value.as_deref(), headers: &[] })?;
    }
    builder.build()
}

impl std::fmt::Debug for TransactionHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TransactionHost({} coordinators)", self.coordinators.read().len())
    }
}
