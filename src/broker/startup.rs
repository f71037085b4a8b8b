//! Starts a node: opens its directories and logs, replays the metadata, becomes the controller of a quorum of one, registers itself as a broker,
//! and opens its partitions. Listeners are open before, so that their real ports are registered, and accept only afterwards.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI16, AtomicI64, Ordering};

use arc_swap::ArcSwap;
use ottla_config::{BrokerConfig, DynamicBrokerConfig, HostPort};
use ottla_controller::{ApiError, BrokerOrigin, ControllerOptions, KafkaConfigSchema};
use ottla_log::{LogManager, MetaProperties, OpenError};
use ottla_metadata::feature::{VersionRange, supported_features, supported_range};
use ottla_model::{BrokerId, Uuid};
use ottla_protocol::Message;
use ottla_protocol::messages::broker_heartbeat_request::BrokerHeartbeatRequest;
use ottla_protocol::messages::broker_registration_request::{BrokerRegistrationRequest, Feature, Listener};
use ottla_protocol::messages::controller_registration_request::{
    ControllerRegistrationRequest, Feature as ControllerFeature, Listener as ControllerListener,
};
use ottla_raft::{Endpoint, Endpoints, RaftConfig, VoterSet};
use parking_lot::Mutex;

use crate::broker::Broker;
use crate::controller_host::ControllerHost;
use crate::deadlines::Deadlines;
use crate::environment::Environment;
use crate::fetch_session::FetchSessions;
use crate::group_host::GroupHost;
use crate::metadata_log::{MetadataLogError, MetadataLogOptions};
use crate::partitions::Partitions;
use crate::producer_ids::ProducerIds;
use crate::topic_configs;
use crate::transaction_host::TransactionHost;

/// The marker of a clean stop in a log directory.
const CLEAN_SHUTDOWN_FILE: &str = ".kafka_cleanshutdown";

/// An address that is told to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvertisedListener {
    /// The listener's name.
    pub name: String,
    /// What clients connect to.
    pub host: String,
    /// What clients connect to.
    pub port: u16,
    /// Kafka's number of the security protocol; 0 is PLAINTEXT.
    pub security_protocol: i16,
}

/// What a node is started with.
#[derive(Debug)]
pub struct NodeSettings {
    /// The node's configuration.
    pub config: Arc<BrokerConfig>,
    /// Listeners of clients and brokers, with the ports that they really have.
    pub advertised_listeners: Vec<AdvertisedListener>,
    /// Listeners of controllers, likewise.
    pub controller_listeners: Vec<AdvertisedListener>,
}

/// Why a node does not start. The texts are for whoever started it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directories of the logs.
    #[error("{0}")]
    Logs(#[from] OpenError),
    /// The metadata log.
    #[error("{0}")]
    MetadataLog(#[from] MetadataLogError),
    /// `meta.properties` of the metadata directory is missing or not readable.
    #[error("{path}: {message}")]
    MetaProperties {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The directory is of another node.
    #[error("{path} belongs to node {found}, but node.id is {configured}: set node.id={found} or use another directory")]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// The node that formatted it.
        found: BrokerId,
        /// `node.id`.
        configured: BrokerId,
    },
    /// A log directory is of another cluster than the metadata directory.
    #[error(
        "{path} belongs to cluster {found}, but {metadata_path} to cluster {expected}: log.dirs may only name directories of one cluster"
    )]
    OtherCluster {
        /// The log directory.
        path: PathBuf,
        /// The cluster that it is of.
        found: String,
        /// The directory of the metadata log.
        metadata_path: PathBuf,
        /// The cluster that this one is of.
        expected: String,
    },
    /// The controller refused this broker.
    #[error("the broker could not be registered: {0}")]
    Registration(ApiError),
}

impl Broker {
    /// Starts a combined node. Its directories are formatted.
    pub fn start(settings: NodeSettings, environment: Environment, now_ms: i64) -> Result<Arc<Broker>, StartError> {
        let config = settings.config.clone();
        let (cluster_id, directory_id) = identity(&config, &environment)?;
        let clean_shutdown = was_clean(&config.metadata_log_dir, &environment);
        // Locks the directories, hence first; topics get their own configuration once the metadata is known.
        let logs = open_logs(&config, &environment, now_ms)?;
        let raft = raft_config(&settings, &cluster_id, directory_id, &environment);
        let options = metadata_log_options(&config, raft, clean_shutdown);
        let schema = Arc::new(KafkaConfigSchema::new(config.clone()));
        let mut controller = ControllerHost::open(options, controller_options(&config, &cluster_id), schema, &environment, now_ms)?;
        controller.take_publications();
        let shared_image = Arc::new(ArcSwap::from_pointee(controller.image().clone()));
        let kraft_version = AtomicI16::new(controller.kraft_version());
        let broker = Arc::new(Broker {
            cluster_id,
            partitions: Partitions::new(shared_image.clone()),
            image: shared_image,
            logs: Arc::new(logs),
            controller: Mutex::new(controller),
            kraft_version,
            groups: GroupHost::new(&config),
            transactions: TransactionHost::new(&config),
            fetch_sessions: Mutex::new(FetchSessions::new(config.max_incremental_fetch_session_cache_slots)),
            delayed_fetches: Deadlines::default(),
            producer_ids: ProducerIds::default(),
            topics_being_created: Mutex::new(HashSet::new()),
            broker_epoch: AtomicI64::new(-1),
            waker: ArcSwap::from_pointee(None),
            node_id: config.node_id,
            config: ArcSwap::from_pointee(DynamicBrokerConfig::new((*config).clone())),
            environment,
        });
        broker.update_broker_config(&broker.image());
        broker.warn_of_features_that_are_not_served();
        broker.remove_logs_of_former_topics(now_ms);
        broker.register_controller(&settings).map_err(StartError::Registration)?;
        broker.register(&settings).map_err(StartError::Registration)?;
        let image = broker.image.load_full();
        broker.open_all_partitions(&image, now_ms);
        Ok(broker)
    }

    /// Levels that something else finalized are kept for it: clients are not told of them.
    fn warn_of_features_that_are_not_served(&self) {
        for (name, level) in self.image().features.finalized() {
            if supported_range(name).is_none_or(|range| level > range.max) {
                tracing::warn!(
                    "{name} is finalized at level {level}, which is not served here: the level and its records are kept untouched"
                );
            }
        }
    }

    /// A log whose topic was deleted and created again while this node was down makes room. One whose topic is not known at all is left
    /// where it is: that is for a person to judge.
    fn remove_logs_of_former_topics(&self, now_ms: i64) {
        let image = self.image();
        for topic_partition in self.logs.partitions() {
            let Some(log) = self.logs.get(&topic_partition) else { continue };
            let topic_id = log.lock().topic_id();
            match image.topics.by_name(&topic_partition.topic) {
                None => tracing::warn!(%topic_partition, ?topic_id, "the log belongs to no topic of this cluster and is left alone"),
                Some(topic) if topic_id.is_some_and(|id| id != topic.id) => match self.logs.delete(&topic_partition, now_ms) {
                    Ok(_) => tracing::info!(%topic_partition, ?topic_id, "the log of a former topic of this name is deleted"),
                    Err(error) => tracing::error!(%topic_partition, %error, "the log of a former topic could not be deleted"),
                },
                Some(_) => {}
            }
        }
    }

    /// Registers this controller, so that clients and brokers know where it listens.
    fn register_controller(self: &Arc<Self>, settings: &NodeSettings) -> Result<(), ApiError> {
        let listener = |listener: &AdvertisedListener| ControllerListener {
            name: listener.name.clone(),
            host: listener.host.clone(),
            port: listener.port,
            security_protocol: listener.security_protocol,
            ..ControllerListener::default()
        };
        let feature = |(name, range): (&str, VersionRange)| ControllerFeature {
            name: name.to_owned(),
            min_supported_version: range.min,
            max_supported_version: range.max,
            ..ControllerFeature::default()
        };
        let registration = ControllerRegistrationRequest {
            controller_id: self.node_id().0,
            incarnation_id: self.environment.random_uuid(),
            listeners: settings.controller_listeners.iter().map(listener).collect(),
            features: supported_features().map(feature).collect(),
            ..ControllerRegistrationRequest::default()
        };
        self.submit(|controller, _| controller.register_controller(&registration))
    }

    /// Registers this broker and lifts its fence: on a node of its own it has replayed all metadata by now.
    fn register(self: &Arc<Self>, settings: &NodeSettings) -> Result<(), ApiError> {
        let registration = BrokerRegistrationRequest {
            broker_id: self.node_id().0,
            cluster_id: self.cluster_id.clone(),
            incarnation_id: self.environment.random_uuid(),
            listeners: settings.advertised_listeners.iter().map(registered_listener).collect(),
            features: registered_features(),
            rack: self.config().rack.clone(),
            log_dirs: self.logs.directory_ids().into_iter().filter_map(|(_, id)| id).collect(),
            ..BrokerRegistrationRequest::default()
        };
        let registered = self.submit(|controller, context| {
            controller.register_broker(context, &registration, BrokerRegistrationRequest::HIGHEST_VERSION, BrokerOrigin::ThisProcess)
        })?;
        self.broker_epoch.store(registered.epoch, Ordering::Relaxed);
        let heartbeat = BrokerHeartbeatRequest {
            broker_id: self.node_id().0,
            broker_epoch: registered.epoch,
            current_metadata_offset: self.image().provenance.last_contained_offset,
            ..BrokerHeartbeatRequest::default()
        };
        self.submit(|controller, context| controller.process_broker_heartbeat(context.now_ms, &heartbeat))?;
        Ok(())
    }

    /// Stops: whoever waits is answered, logs are flushed and marked as cleanly closed. Nothing is served afterwards.
    pub fn shutdown(self: &Arc<Self>, now_ms: i64) {
        for fetch in self.delayed_fetches.take_expired(i64::MAX - 1) {
            fetch.expire(self);
        }
        self.groups.unload_all();
        self.transactions.unload_all();
        // The marker of a clean stop, which the logs' close writes last, speaks for the metadata log too.
        if let Err(error) = self.controller.lock().close(now_ms) {
            tracing::error!(%error, "the metadata log could not be closed cleanly");
        }
        if let Err(error) = self.logs.close(self.broker_epoch(), now_ms) {
            tracing::error!(%error, "the logs could not be closed cleanly; they will be recovered at the next start");
        }
    }
}

fn registered_listener(listener: &AdvertisedListener) -> Listener {
    Listener {
        name: listener.name.clone(),
        host: listener.host.clone(),
        port: listener.port,
        security_protocol: listener.security_protocol,
        ..Listener::default()
    }
}

fn registered_features() -> Vec<Feature> {
    let features = supported_features().map(|(name, range)| Feature {
        name: name.to_owned(),
        min_supported_version: range.min,
        max_supported_version: range.max,
        ..Feature::default()
    });
    features.collect()
}

/// The cluster's id and the id of the metadata log's directory, out of that directory's `meta.properties`.
fn identity(config: &BrokerConfig, environment: &Environment) -> Result<(String, Uuid), StartError> {
    let path = &config.metadata_log_dir;
    let problem = |message: &str| StartError::MetaProperties { path: path.clone(), message: message.to_owned() };
    let found = MetaProperties::read(environment.disk.as_ref(), path).map_err(|error| problem(&error.to_string()))?;
    let found = found.ok_or_else(|| problem("the directory is not formatted: it has no meta.properties"))?;
    let node_id = found.node_id.ok_or_else(|| problem("meta.properties has no node.id"))?;
    if node_id != config.node_id {
        return Err(StartError::OtherNode { path: path.clone(), found: node_id, configured: config.node_id });
    }
    let cluster_id = found.cluster_id.ok_or_else(|| problem("meta.properties has no cluster.id"))?;
    let directory_id = found.directory_id.ok_or_else(|| problem("meta.properties has no directory.id"))?;
    for log_dir in &config.log_dirs {
        check_owner(log_dir, &cluster_id, config, environment)?;
    }
    Ok((cluster_id, directory_id))
}

/// Whether a log directory is this node's (`MetaPropertiesEnsemble.verify`). One that cannot be read is judged where its logs are opened.
fn check_owner(log_dir: &Path, cluster_id: &str, config: &BrokerConfig, environment: &Environment) -> Result<(), StartError> {
    let Ok(Some(properties)) = MetaProperties::read(environment.disk.as_ref(), log_dir) else { return Ok(()) };
    if let Some(found) = properties.node_id.filter(|found| *found != config.node_id) {
        return Err(StartError::OtherNode { path: log_dir.to_owned(), found, configured: config.node_id });
    }
    match properties.cluster_id {
        Some(found) if found != cluster_id => Err(StartError::OtherCluster {
            path: log_dir.to_owned(),
            found,
            metadata_path: config.metadata_log_dir.clone(),
            expected: cluster_id.to_owned(),
        }),
        Some(_) | None => Ok(()),
    }
}

fn raft_config(settings: &NodeSettings, cluster_id: &str, directory_id: Uuid, environment: &Environment) -> RaftConfig {
    let config = &settings.config;
    let mut raft = RaftConfig::new(cluster_id, config.node_id, directory_id);
    if let Some(first) = settings.controller_listeners.first() {
        raft.listener.clone_from(&first.name);
    }
    let endpoint = |listener: &AdvertisedListener| (listener.name.clone(), Endpoint { host: listener.host.clone(), port: listener.port });
    raft.endpoints = Endpoints(settings.controller_listeners.iter().map(endpoint).collect());
    raft.static_voters = static_voters(config, &raft.listener);
    raft.bootstrap_servers = config.controller_quorum_bootstrap_servers.iter().map(endpoint_of).collect();
    raft.election_timeout_ms = i64::from(config.controller_quorum_election_timeout_ms);
    raft.fetch_timeout_ms = i64::from(config.controller_quorum_fetch_timeout_ms);
    raft.election_backoff_max_ms = i64::from(config.controller_quorum_election_backoff_max_ms);
    raft.request_timeout_ms = i64::from(config.controller_quorum_request_timeout_ms);
    raft.retry_backoff_ms = i64::from(config.controller_quorum_retry_backoff_ms);
    raft.fetch_max_bytes = config.controller_quorum_fetch_max_bytes;
    raft.fetch_snapshot_max_bytes = config.controller_quorum_fetch_snapshot_max_bytes;
    raft.auto_join = config.controller_quorum_auto_join_enable;
    raft.jitter_seed = environment.random_u64();
    raft
}

fn static_voters(config: &BrokerConfig, listener: &str) -> VoterSet {
    VoterSet::from_static(listener, config.controller_quorum_voters.iter().map(|voter| (voter.id, endpoint_of(&voter.address))))
}

fn endpoint_of(address: &HostPort) -> Endpoint {
    Endpoint { host: address.host.clone(), port: address.port }
}

fn metadata_log_options(config: &BrokerConfig, raft: RaftConfig, clean_shutdown: bool) -> MetadataLogOptions {
    let defaults = MetadataLogOptions::new(config.metadata_log_dir.clone(), raft);
    MetadataLogOptions {
        clean_shutdown,
        segment_bytes: u32::try_from(config.metadata_log_segment_bytes).unwrap_or(defaults.segment_bytes),
        segment_ms: config.metadata_log_segment_ms,
        retention_bytes: config.metadata_max_retention_bytes,
        retention_ms: config.metadata_max_retention_ms,
        max_record_bytes_between_snapshots: u64::try_from(config.metadata_log_max_record_bytes_between_snapshots).unwrap_or(u64::MAX),
        max_snapshot_interval_ms: config.metadata_log_max_snapshot_interval_ms,
        ..defaults
    }
}

fn controller_options(config: &BrokerConfig, cluster_id: &str) -> ControllerOptions {
    ControllerOptions {
        node_id: config.node_id,
        cluster_id: cluster_id.to_owned(),
        num_partitions: config.num_partitions,
        default_replication_factor: config.default_replication_factor,
        broker_session_timeout_ms: i64::from(config.broker_session_timeout_ms),
        delete_topic_enable: config.delete_topic_enable,
        quorum_node_ids: vec![config.node_id],
    }
}

fn was_clean(directory: &Path, environment: &Environment) -> bool {
    let marker = directory.join(CLEAN_SHUTDOWN_FILE);
    matches!(environment.disk.metadata(&marker), Ok(Some(_)))
}

fn open_logs(config: &BrokerConfig, environment: &Environment, now_ms: i64) -> Result<LogManager, OpenError> {
    let manager = topic_configs::log_manager_config(config);
    LogManager::open(manager, &|_| None, environment.disk.clone(), environment.split_rng(), now_ms)
}
