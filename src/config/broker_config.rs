//! A node's configuration as the rest of Ottla uses it (`KafkaConfig`): typed, complete, and consistent.

use std::fmt;
use std::path::PathBuf;

use ottla_model::BrokerId;

use crate::address::{self, HostPort, QuorumVoter};
use crate::broker_rules;
use crate::broker_values::{BrokerValues, ConfigMap};
use crate::invalid::InvalidConfig;
use crate::listener::{self, Listener, ProtocolMap};
use crate::topic_config::TopicConfig;

/// `process.roles`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessRoles {
    /// Stores records and serves clients.
    pub broker: bool,
    /// Votes on the metadata log.
    pub controller: bool,
}

macro_rules! broker_config {
    ($($key:literal $field:ident: $type:ty,)*) => {
        /// The configuration of a node. Fields are named after their keys, see `config/REFERENCE.md`.
        #[derive(Clone, PartialEq)]
        pub struct BrokerConfig {
            /// `node.id`
            pub node_id: BrokerId,
            /// `process.roles`
            pub process_roles: ProcessRoles,
            /// `broker.rack`
            pub rack: Option<String>,
            /// `log.dirs`, or `log.dir`. Never empty.
            pub log_dirs: Vec<PathBuf>,
            /// `metadata.log.dir`, or the first of the log directories.
            pub metadata_log_dir: PathBuf,
            /// `listeners`: those of clients and those of controllers.
            pub listeners: Vec<Listener>,
            /// What clients and other brokers are told: `advertised.listeners`, or `listeners`, without those of controllers. A
            /// host that is `None` stands for the machine's own name.
            pub advertised_listeners: Vec<Listener>,
            /// What other controllers are told, likewise, in the order of `controller.listener.names`.
            pub advertised_controller_listeners: Vec<Listener>,
            /// `listener.security.protocol.map`, with the implied names of controller listeners.
            pub listener_security_protocol_map: ProtocolMap,
            /// `controller.listener.names`
            pub controller_listener_names: Vec<String>,
            /// `inter.broker.listener.name`, or the name that `security.inter.broker.protocol` implies.
            pub inter_broker_listener_name: String,
            /// `controller.quorum.voters`
            pub controller_quorum_voters: Vec<QuorumVoter>,
            /// `controller.quorum.bootstrap.servers`
            pub controller_quorum_bootstrap_servers: Vec<HostPort>,
            /// `max.connections.per.ip.overrides`: a host and how many connections it may have.
            pub max_connections_per_ip_overrides: Vec<(String, i32)>,
            /// What applies to a topic that sets nothing itself.
            pub topic_defaults: TopicConfig,
            $(#[doc = concat!("`", $key, "`")] pub $field: $type,)*
            originals: ConfigMap,
            values: BrokerValues,
        }

        impl BrokerConfig {
            fn from_values(originals: ConfigMap, values: BrokerValues, network: Network) -> Result<BrokerConfig, InvalidConfig> {
                let log_dirs = log_dirs(&values);
                Ok(BrokerConfig {
                    node_id: BrokerId(values.read("node.id")?),
                    process_roles: process_roles(&values),
                    rack: values.read("broker.rack")?,
                    metadata_log_dir: metadata_log_dir(&values, &log_dirs),
                    log_dirs,
                    listeners: network.listeners,
                    advertised_listeners: network.advertised_listeners,
                    advertised_controller_listeners: network.advertised_controller_listeners,
                    listener_security_protocol_map: network.protocols,
                    controller_listener_names: network.controller_listener_names,
                    inter_broker_listener_name: network.inter_broker_listener_name,
                    controller_quorum_voters: network.voters,
                    controller_quorum_bootstrap_servers: network.bootstrap_servers,
                    max_connections_per_ip_overrides: per_ip_overrides(&values)?,
                    topic_defaults: TopicConfig::new(&values, &ConfigMap::new())?,
                    $($field: values.read($key)?,)*
                    originals,
                    values,
                })
            }
        }
    };
}

broker_config! {
    // topics and requests
    "auto.create.topics.enable" auto_create_topics_enable: bool,
    "default.replication.factor" default_replication_factor: i16,
    "delete.topic.enable" delete_topic_enable: bool,
    "fetch.max.bytes" fetch_max_bytes: i32,
    "max.incremental.fetch.session.cache.slots" max_incremental_fetch_session_cache_slots: usize,
    "max.request.partition.size.limit" max_request_partition_size_limit: i32,
    "num.partitions" num_partitions: i32,
    "request.timeout.ms" request_timeout_ms: i32,
    // connections
    "connection.failed.authentication.delay.ms" connection_failed_authentication_delay_ms: i32,
    "connections.max.idle.ms" connections_max_idle_ms: i64,
    "max.connection.creation.rate" max_connection_creation_rate: i32,
    "max.connections" max_connections: i32,
    "max.connections.per.ip" max_connections_per_ip: i32,
    "num.io.threads" num_io_threads: i32,
    "num.network.threads" num_network_threads: i32,
    "queued.max.request.bytes" queued_max_request_bytes: i64,
    "socket.listen.backlog.size" socket_listen_backlog_size: i32,
    "socket.receive.buffer.bytes" socket_receive_buffer_bytes: i32,
    "socket.request.max.bytes" socket_request_max_bytes: i32,
    "socket.send.buffer.bytes" socket_send_buffer_bytes: i32,
    // the logs of a node
    "background.threads" background_threads: i32,
    "log.cleaner.backoff.ms" log_cleaner_backoff_ms: i64,
    "log.cleaner.dedupe.buffer.size" log_cleaner_dedupe_buffer_size: i64,
    "log.cleaner.enable" log_cleaner_enable: bool,
    "log.cleaner.io.buffer.load.factor" log_cleaner_io_buffer_load_factor: f64,
    "log.cleaner.io.buffer.size" log_cleaner_io_buffer_size: i32,
    "log.cleaner.io.max.bytes.per.second" log_cleaner_io_max_bytes_per_second: f64,
    "log.cleaner.threads" log_cleaner_threads: i32,
    "log.dir.failure.timeout.ms" log_dir_failure_timeout_ms: i64,
    "log.flush.offset.checkpoint.interval.ms" log_flush_offset_checkpoint_interval_ms: i32,
    "log.flush.scheduler.interval.ms" log_flush_scheduler_interval_ms: i64,
    "log.flush.start.offset.checkpoint.interval.ms" log_flush_start_offset_checkpoint_interval_ms: i32,
    "log.initial.task.delay.ms" log_initial_task_delay_ms: i64,
    "log.retention.check.interval.ms" log_retention_check_interval_ms: i64,
    "num.recovery.threads.per.data.dir" num_recovery_threads_per_data_dir: i32,
    "producer.id.expiration.check.interval.ms" producer_id_expiration_check_interval_ms: i32,
    "producer.id.expiration.ms" producer_id_expiration_ms: i32,
    "replica.high.watermark.checkpoint.interval.ms" replica_high_watermark_checkpoint_interval_ms: i64,
    "replica.lag.time.max.ms" replica_lag_time_max_ms: i64,
    // groups
    "group.initial.rebalance.delay.ms" group_initial_rebalance_delay_ms: i32,
    "group.max.session.timeout.ms" group_max_session_timeout_ms: i32,
    "group.max.size" group_max_size: i32,
    "group.min.session.timeout.ms" group_min_session_timeout_ms: i32,
    "offset.metadata.max.bytes" offset_metadata_max_bytes: i32,
    "offsets.commit.timeout.ms" offsets_commit_timeout_ms: i32,
    "offsets.load.buffer.size" offsets_load_buffer_size: i32,
    "offsets.retention.check.interval.ms" offsets_retention_check_interval_ms: i64,
    "offsets.retention.minutes" offsets_retention_minutes: i32,
    "offsets.topic.compression.codec" offsets_topic_compression_codec: i32,
    "offsets.topic.num.partitions" offsets_topic_num_partitions: i32,
    "offsets.topic.replication.factor" offsets_topic_replication_factor: i16,
    "offsets.topic.segment.bytes" offsets_topic_segment_bytes: i32,
    // transactions
    "transaction.abort.timed.out.transaction.cleanup.interval.ms" transaction_abort_timed_out_transaction_cleanup_interval_ms: i32,
    "transaction.max.timeout.ms" transaction_max_timeout_ms: i32,
    "transaction.partition.verification.enable" transaction_partition_verification_enable: bool,
    "transaction.remove.expired.transaction.cleanup.interval.ms" transaction_remove_expired_transaction_cleanup_interval_ms: i32,
    "transaction.state.log.load.buffer.size" transaction_state_log_load_buffer_size: i32,
    "transaction.state.log.min.isr" transaction_state_log_min_isr: i32,
    "transaction.state.log.num.partitions" transaction_state_log_num_partitions: i32,
    "transaction.state.log.replication.factor" transaction_state_log_replication_factor: i16,
    "transaction.state.log.segment.bytes" transaction_state_log_segment_bytes: i32,
    "transactional.id.expiration.ms" transactional_id_expiration_ms: i32,
    // share groups
    "share.coordinator.state.topic.min.isr" share_coordinator_state_topic_min_isr: i16,
    "share.coordinator.state.topic.num.partitions" share_coordinator_state_topic_num_partitions: i32,
    "share.coordinator.state.topic.replication.factor" share_coordinator_state_topic_replication_factor: i16,
    "share.coordinator.state.topic.segment.bytes" share_coordinator_state_topic_segment_bytes: i32,
    // the metadata quorum
    "broker.heartbeat.interval.ms" broker_heartbeat_interval_ms: i32,
    "broker.session.timeout.ms" broker_session_timeout_ms: i32,
    "controlled.shutdown.enable" controlled_shutdown_enable: bool,
    "controller.quorum.append.linger.ms" controller_quorum_append_linger_ms: i32,
    "controller.quorum.auto.join.enable" controller_quorum_auto_join_enable: bool,
    "controller.quorum.election.backoff.max.ms" controller_quorum_election_backoff_max_ms: i32,
    "controller.quorum.election.timeout.ms" controller_quorum_election_timeout_ms: i32,
    "controller.quorum.fetch.max.bytes" controller_quorum_fetch_max_bytes: i32,
    "controller.quorum.fetch.snapshot.max.bytes" controller_quorum_fetch_snapshot_max_bytes: i32,
    "controller.quorum.fetch.timeout.ms" controller_quorum_fetch_timeout_ms: i32,
    "controller.quorum.request.timeout.ms" controller_quorum_request_timeout_ms: i32,
    "controller.quorum.retry.backoff.ms" controller_quorum_retry_backoff_ms: i32,
    "initial.broker.registration.timeout.ms" initial_broker_registration_timeout_ms: i32,
    "metadata.log.max.record.bytes.between.snapshots" metadata_log_max_record_bytes_between_snapshots: i64,
    "metadata.log.max.snapshot.interval.ms" metadata_log_max_snapshot_interval_ms: i64,
    "metadata.log.segment.bytes" metadata_log_segment_bytes: i32,
    "metadata.log.segment.ms" metadata_log_segment_ms: i64,
    "metadata.max.idle.interval.ms" metadata_max_idle_interval_ms: i32,
    "metadata.max.retention.bytes" metadata_max_retention_bytes: i64,
    "metadata.max.retention.ms" metadata_max_retention_ms: i64,
}

impl BrokerConfig {
    /// Reads, converts and checks a whole configuration. `originals` are the keys that are set, as text; unknown ones are kept for
    /// DescribeConfigs.
    pub fn new(mut originals: ConfigMap) -> Result<BrokerConfig, InvalidConfig> {
        populate_node_id(&mut originals);
        let values = BrokerValues::parse(&originals)?;
        let network = Network::new(&originals, &values)?;
        let config = BrokerConfig::from_values(originals, values, network)?;
        broker_rules::check(&config)?;
        Ok(config)
    }

    /// The keys that are set, with their text.
    pub fn originals(&self) -> &ConfigMap {
        &self.originals
    }

    /// The values of all keys, also of those that have no field.
    pub fn values(&self) -> &BrokerValues {
        &self.values
    }

    /// What applies to a topic with these values of its own, for example from the metadata image. An error if a stored value is not
    /// valid.
    pub fn topic_config(&self, overrides: &ConfigMap) -> Result<TopicConfig, InvalidConfig> {
        TopicConfig::new(&self.values, overrides)
    }

    /// The listeners of clients and of other brokers.
    pub fn broker_listeners(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().filter(|listener| !self.controller_listener_names.contains(&listener.name))
    }

    /// The listeners of controllers.
    pub fn controller_listeners(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().filter(|listener| self.controller_listener_names.contains(&listener.name))
    }
}

/// Without the text of secrets.
impl fmt::Debug for BrokerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerConfig").field("values", &self.values).finish_non_exhaustive()
    }
}

/// `broker.id` is another name of `node.id`.
fn populate_node_id(originals: &mut ConfigMap) {
    for (one, other) in [("node.id", "broker.id"), ("broker.id", "node.id")] {
        if let (Some(id), false) = (originals.get(one).cloned(), originals.contains_key(other)) {
            originals.insert(other.to_owned(), id);
        }
    }
}

fn process_roles(values: &BrokerValues) -> ProcessRoles {
    let has = |role: &str| values.list("process.roles").unwrap_or_default().iter().any(|present| present == role);
    ProcessRoles { broker: has("broker"), controller: has("controller") }
}

fn log_dirs(values: &BrokerValues) -> Vec<PathBuf> {
    let dirs = values.list("log.dirs").or_else(|| values.list("log.dir")).unwrap_or_default();
    dirs.iter().map(PathBuf::from).collect()
}

fn metadata_log_dir(values: &BrokerValues, log_dirs: &[PathBuf]) -> PathBuf {
    match values.text("metadata.log.dir") {
        "" => log_dirs.first().cloned().unwrap_or_default(),
        dir => PathBuf::from(dir),
    }
}

fn per_ip_overrides(values: &BrokerValues) -> Result<Vec<(String, i32)>, InvalidConfig> {
    const KEY: &str = "max.connections.per.ip.overrides";
    let pairs = listener::parse_csv_map(KEY, values.text(KEY))?;
    let limit = |(host, limit): (String, String)| match limit.parse() {
        Ok(limit) => Ok((host, limit)),
        Err(_) => Err(InvalidConfig::rule(KEY, format!("For input string: \"{limit}\""))),
    };
    pairs.into_iter().map(limit).collect()
}

/// What the keys about listeners and voters say together.
struct Network {
    protocols: ProtocolMap,
    listeners: Vec<Listener>,
    advertised_listeners: Vec<Listener>,
    advertised_controller_listeners: Vec<Listener>,
    controller_listener_names: Vec<String>,
    inter_broker_listener_name: String,
    voters: Vec<QuorumVoter>,
    bootstrap_servers: Vec<HostPort>,
}

impl Network {
    fn new(originals: &ConfigMap, values: &BrokerValues) -> Result<Network, InvalidConfig> {
        let controller_listener_names = values.list("controller.listener.names").unwrap_or_default().to_vec();
        let protocols = protocol_map(originals, values, &controller_listener_names)?;
        let listeners = listener::parse_listeners("listeners", values.list("listeners").unwrap_or_default(), &protocols)?;
        listener::check_ports("listeners", &listeners)?;
        let advertised = match values.list("advertised.listeners") {
            Some(items) => Some(listener::parse_listeners("advertised.listeners", items, &protocols)?),
            None => None,
        };
        let voters = entries(values, "controller.quorum.voters", QuorumVoter::parse)?;
        let own_address = voters.iter().find(|voter| values.optional_long("node.id") == Some(i64::from(voter.id.0)));
        let is_controller = |listener: &&Listener| controller_listener_names.contains(&listener.name);
        Ok(Network {
            advertised_listeners: advertised.as_ref().unwrap_or(&listeners).iter().filter(|l| !is_controller(l)).cloned().collect(),
            advertised_controller_listeners: advertised_controllers(
                &controller_listener_names,
                &listeners,
                advertised.as_deref().unwrap_or_default(),
                own_address.map(|voter| &voter.address),
            ),
            inter_broker_listener_name: inter_broker_listener_name(originals, values, &protocols)?,
            bootstrap_servers: entries(values, "controller.quorum.bootstrap.servers", address::parse_bootstrap_server)?,
            protocols,
            listeners,
            controller_listener_names,
            voters,
        })
    }
}

fn entries<T>(values: &BrokerValues, key: &'static str, parse: fn(&str) -> Result<T, String>) -> Result<Vec<T>, InvalidConfig> {
    let entries = values.list(key).unwrap_or_default().iter();
    entries.map(|entry| parse(entry).map_err(|message| InvalidConfig::Value { key, message })).collect()
}

/// The written map; or Kafka's default, where controller listeners are PLAINTEXT unless something else says SSL or SASL
/// (`AbstractKafkaConfig.effectiveListenerSecurityProtocolMap`).
fn protocol_map(originals: &ConfigMap, values: &BrokerValues, controller_names: &[String]) -> Result<ProtocolMap, InvalidConfig> {
    const KEY: &str = "listener.security.protocol.map";
    let mut map = listener::parse_protocol_map(KEY, values.text(KEY))?;
    if originals.contains_key(KEY) {
        return Ok(map);
    }
    let is_protected = |name: &str| matches!(name, "SSL" | "SASL_SSL" | "SASL_PLAINTEXT");
    let listener_names = values.list("listeners").unwrap_or_default().iter();
    let mut listener_names = listener_names.map(|listener| listener.split(':').next().unwrap_or_default().to_uppercase());
    if !controller_names.iter().any(|name| is_protected(name)) && !listener_names.any(|name| is_protected(&name)) {
        map.extend(controller_names.iter().map(|name| (name.clone(), listener::SecurityProtocol::Plaintext)));
    }
    Ok(map)
}

/// For each controller listener what is advertised, or the listener itself. The first one falls back on the node's entry among the
/// voters if it listens on all addresses (`KafkaConfig.effectiveAdvertisedControllerListeners`).
fn advertised_controllers(names: &[String], listeners: &[Listener], advertised: &[Listener], own: Option<&HostPort>) -> Vec<Listener> {
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let named = |listener: &&Listener| listener.name.eq_ignore_ascii_case(name);
        if let Some(listener) = advertised.iter().find(named) {
            found.push(listener.clone());
        } else if let Some(listener) = listeners.iter().find(named) {
            let mut listener = listener.clone();
            let is_everywhere = listener.host.is_none() || listener::is_any_ipv4(&listener);
            if let (Some(own), 0, true) = (own, index, is_everywhere) {
                listener.host = Some(own.host.clone());
                listener.port = own.port;
            } else if listener::is_any_ipv4(&listener) {
                listener.host = None;
            }
            found.push(listener);
        }
    }
    found
}

fn inter_broker_listener_name(originals: &ConfigMap, values: &BrokerValues, protocols: &ProtocolMap) -> Result<String, InvalidConfig> {
    const KEY: &str = "inter.broker.listener.name";
    let name = match values.text(KEY) {
        "" => return Ok(values.text("security.inter.broker.protocol").to_owned()),
        name => name.to_uppercase(),
    };
    if originals.contains_key("security.inter.broker.protocol") {
        let message = "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.";
        return Err(InvalidConfig::rule(KEY, message));
    }
    if !protocols.contains_key(&name) {
        let message =
            format!("Listener with name {name} defined in inter.broker.listener.name not found in listener.security.protocol.map.");
        return Err(InvalidConfig::rule(KEY, message));
    }
    Ok(name)
}
