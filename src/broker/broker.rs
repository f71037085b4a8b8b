//! The broker: takes frames, finds their handlers, keeps partitions in step with the metadata, and lets time pass. It has no thread of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI16, AtomicI64, Ordering};

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use ottla_config::{BrokerConfig, DynamicBrokerConfig};
use ottla_log::LogManager;
use ottla_metadata::MetadataImage;
use ottla_model::{BrokerId, ErrorCode, ProducerId};
use ottla_protocol::{ApiKey, decode_request_head};
use parking_lot::{Mutex, MutexGuard};

use crate::api;
use crate::connection::{Connection, Reply, Responder};
use crate::controller_host::ControllerHost;
use crate::deadlines::Deadlines;
use crate::delayed_fetch::DelayedFetch;
use crate::environment::Environment;
use crate::fetch_session::FetchSessions;
use crate::group_host::GroupHost;
use crate::handlers;
use crate::partitions::Partitions;
use crate::producer_ids::ProducerIds;
use crate::request::RequestContext;
use crate::transaction_host::TransactionHost;

/// Called when a deadline appears that is earlier than those before.
pub type Waker = Box<dyn Fn() + Send + Sync>;

/// A node: broker and controller.
pub struct Broker {
    pub(crate) node_id: BrokerId,
    pub(crate) config: ArcSwap<DynamicBrokerConfig>,
    pub(crate) cluster_id: String,
    pub(crate) environment: Environment,
    pub(crate) image: Arc<ArcSwap<MetadataImage>>,
    pub(crate) logs: Arc<LogManager>,
    pub(crate) partitions: Partitions,
    pub(crate) controller: Mutex<ControllerHost>,
    /// The quorum's `kraft.version`, which is in no image, for those who must not wait for the controller.
    pub(crate) kraft_version: AtomicI16,
    pub(crate) groups: GroupHost,
    pub(crate) transactions: TransactionHost,
    pub(crate) fetch_sessions: Mutex<FetchSessions>,
    pub(crate) delayed_fetches: Deadlines<DelayedFetch>,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) topics_being_created: Mutex<HashSet<String>>,
    pub(crate) broker_epoch: AtomicI64,
    pub(crate) waker: ArcSwap<Option<Waker>>,
}

impl Broker {
    /// Handles one request. `responder` is called exactly once, now or later, on this or another thread.
    pub fn handle(self: &Arc<Self>, connection: &Arc<Connection>, frame: Bytes, now_ms: i64, responder: Responder) {
        let (head, body) = match decode_request_head(frame) {
            Ok(decoded) => decoded,
            Err(error) => return responder(Reply::Close(format!("the request header cannot be decoded: {error}"))),
        };
        let served = ApiKey::from_code(head.api_key).and_then(|key| api::entry_on(key, connection.info.is_controller_listener));
        let Some(entry) = served else {
            return responder(Reply::Close(format!("the request has API key {}, which is not served here", head.api_key)));
        };
        let context = RequestContext::new(connection.clone(), entry.key, &head, now_ms, responder);
        if entry.serves(head.api_version) {
            entry.dispatch(self, context, body);
        } else if entry.key == ApiKey::ApiVersions {
            handlers::api_versions::reply_unsupported(context);
        } else {
            context.close(format!("{} has version {}, which is not served here", entry.key, head.api_version));
        }
    }

    /// Lets time pass: answers fetches that waited long enough, and lets coordinators and quorum do what is due.
    pub fn tick(self: &Arc<Self>, now_ms: i64) {
        for fetch in self.delayed_fetches.take_expired(now_ms) {
            fetch.expire(self);
        }
        self.groups.tick(self, now_ms);
        self.transactions.tick(self, now_ms);
    }

    /// When [`Broker::tick`] is due, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let deadlines_ms = [self.delayed_fetches.next_deadline_ms(), self.groups.next_deadline_ms(), self.transactions.next_deadline_ms()];
        deadlines_ms.into_iter().flatten().min()
    }

    /// Does what may wait for the disk: retention, flushes, checkpoints, deletion. Returns when it wants to be called again, in
    /// milliseconds since 1970.
    pub fn background_tick(self: &Arc<Self>, now_ms: i64) -> i64 {
        let controller_due_ms = {
            let mut controller = self.controller.lock();
            if let Err(error) = controller.tick(now_ms) {
                tracing::error!(%error, "the metadata quorum failed");
            }
            self.kraft_version.store(controller.kraft_version(), Ordering::Relaxed);
            controller.next_deadline_ms()
        };
        self.logs.tick(now_ms).min(controller_due_ms)
    }

    /// Sets what is called when a deadline appears that is earlier than those before.
    pub fn set_waker(&self, waker: Waker) {
        self.waker.store(Arc::new(Some(waker)));
    }

    pub(crate) fn wake_ticker(&self) {
        if let Some(waker) = self.waker.load().as_ref() {
            waker();
        }
    }

    /// The metadata as it is now.
    pub fn image(&self) -> Guard<Arc<MetadataImage>> {
        self.image.load()
    }

    /// What applies now of the node's configuration.
    pub fn config(&self) -> Arc<BrokerConfig> {
        self.config.load().current().clone()
    }

    /// The node's configuration in its layers: file, cluster, broker.
    pub fn dynamic_config(&self) -> Arc<DynamicBrokerConfig> {
        self.config.load_full()
    }

    /// The quorum's `kraft.version`.
    pub fn kraft_version(&self) -> i16 {
        self.kraft_version.load(Ordering::Relaxed)
    }

    /// The id of the cluster.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The id of this node.
    pub fn node_id(&self) -> BrokerId {
        self.node_id
    }

    /// The partitions of this broker.
    pub fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// The logs of this broker.
    pub fn logs(&self) -> &LogManager {
        &self.logs
    }

    /// The group coordinators of this broker.
    pub fn groups(&self) -> &GroupHost {
        &self.groups
    }

    /// The transaction coordinators of this broker.
    pub(crate) fn transactions(&self) -> &TransactionHost {
        &self.transactions
    }

    /// What surrounds the broker.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn fetch_sessions(&self) -> MutexGuard<'_, FetchSessions> {
        self.fetch_sessions.lock()
    }

    pub(crate) fn delayed_fetches(&self) -> &Deadlines<DelayedFetch> {
        &self.delayed_fetches
    }

    /// The broker that clients are told is the controller: any that is alive, since all of them forward (KIP-590).
    pub fn controller_for_clients(&self, image: &MetadataImage) -> BrokerId {
        image.cluster.brokers().find(|registration| !registration.fenced).map_or(BrokerId::NONE, |registration| registration.id)
    }

    /// Hands out a producer id, now or once a new block of them is there.
    pub fn next_producer_id(self: &Arc<Self>, reply: impl FnOnce(Result<ProducerId, ErrorCode>) + Send + 'static) {
        if let Some(producer_id) = self.producer_ids.next() {
            return reply(Ok(producer_id));
        }
        let broker = self.clone();
        self.environment.blocking.run(Box::new(move || reply(broker.producer_ids.next_or_allocate(&broker))));
    }
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Broker({} of {})", self.node_id, self.cluster_id)
    }
}
