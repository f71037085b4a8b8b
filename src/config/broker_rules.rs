//! What a node's values must satisfy together (`KafkaConfig.validateValues` and the checks of the group configurations).

use crate::broker_config::BrokerConfig;
use crate::broker_values::BrokerValues;
use crate::invalid::{InvalidConfig, require};
use crate::listener::{Listener, SecurityProtocol, is_any_ipv4};

type Checked = Result<(), InvalidConfig>;

/// Checks all rules; the first that does not hold is the error.
pub(crate) fn check(config: &BrokerConfig) -> Checked {
    check_node_id(config.values())?;
    check_logs(config)?;
    check_replication(config.values())?;
    check_quorum(config)?;
    check_listeners(config)?;
    check_connections(config)?;
    check_groups(config)
}

fn check_node_id(values: &BrokerValues) -> Checked {
    if values.optional_long("node.id") == values.optional_long("broker.id") {
        return Ok(());
    }
    let message = "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.";
    Err(InvalidConfig::rule("node.id", message))
}

fn check_logs(config: &BrokerConfig) -> Checked {
    let topic = &config.topic_defaults;
    require(topic.segment_ms >= 1, "log.roll.ms", || "log.roll.ms must be greater than or equal to 1".to_owned())?;
    require(topic.segment_jitter_ms >= 0, "log.roll.jitter.ms", || "log.roll.jitter.ms must be greater than or equal to 0".to_owned())?;
    require(topic.retention_ms >= 1 || topic.retention_ms == -1, "log.retention.ms", || {
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1".to_owned()
    })?;
    let message = "At least one log directory must be defined via log.dirs or log.dir.";
    require(!config.log_dirs.is_empty(), "log.dirs", || message.to_owned())?;
    let Some(buffer_per_thread) = config.log_cleaner_dedupe_buffer_size.checked_div(i64::from(config.log_cleaner_threads)) else {
        return Err(InvalidConfig::rule("log.cleaner.threads", "/ by zero"));
    };
    require(buffer_per_thread > 1024 * 1024, "log.cleaner.dedupe.buffer.size", || {
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.".to_owned()
    })?;
    check_cordoned_dirs(config)
}

fn check_cordoned_dirs(config: &BrokerConfig) -> Checked {
    const KEY: &str = "cordoned.log.dirs";
    let cordoned = config.values().list(KEY).unwrap_or_default();
    if !config.process_roles.broker || cordoned == ["*"] {
        return Ok(());
    }
    require(!cordoned.iter().any(|dir| dir == "*"), KEY, || {
        "When cordoned.log.dirs is set to *, it must not contain other values".to_owned()
    })?;
    let is_unknown = |dir: &&String| !config.log_dirs.iter().any(|known| known.as_os_str() == dir.as_str());
    let unknown: Vec<&str> = cordoned.iter().filter(is_unknown).map(String::as_str).collect();
    require(unknown.is_empty(), KEY, || {
        format!("All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : {}", unknown.join(", "))
    })
}

fn check_replication(values: &BrokerValues) -> Checked {
    let wait_max_ms = values.long("replica.fetch.wait.max.ms");
    require(wait_max_ms <= values.long("replica.socket.timeout.ms"), "replica.socket.timeout.ms", || {
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts".to_owned()
    })?;
    require(wait_max_ms <= values.long("replica.lag.time.max.ms"), "replica.fetch.wait.max.ms", || {
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR"
            .to_owned()
    })
}

fn check_quorum(config: &BrokerConfig) -> Checked {
    if config.controller_quorum_voters.is_empty() && config.controller_quorum_bootstrap_servers.is_empty() {
        let message = "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap controllers \
                       or controller.quorum.voters must contain a parseable set of controllers.";
        return Err(InvalidConfig::rule("controller.quorum.bootstrap.servers", message));
    }
    if config.process_roles.controller { check_controller(config) } else { check_broker_only(config) }
}

fn check_controller(config: &BrokerConfig) -> Checked {
    let (id, roles) = (config.node_id, config.process_roles);
    if !roles.broker {
        let only_controllers = config.advertised_controller_listeners.len() == config.listeners.len();
        require(only_controllers, "listeners", || {
            "The listeners config must only contain KRaft controller listeners from controller.listener.names when \
             process.roles=controller"
                .to_owned()
        })?;
        let is_own_listener = !config.values().text("inter.broker.listener.name").is_empty()
            && config.controller_listener_names.contains(&config.inter_broker_listener_name);
        require(!is_own_listener, "inter.broker.listener.name", || {
            "controller.listener.names must not contain an explicitly set inter.broker.listener.name configuration value when \
             process.roles=controller'"
                .to_owned()
        })?;
    }
    require(config.controller_quorum_voters.is_empty() || is_voter(config), "controller.quorum.voters", || {
        format!(
            "If process.roles contains the 'controller' role, the node id {id} must be included in the set of voters \
             controller.quorum.voters={}",
            voter_ids(config)
        )
    })?;
    require(!config.advertised_controller_listeners.is_empty(), "controller.listener.names", || {
        "controller.listener.names must contain at least one value appearing in the 'listeners' configuration when running the KRaft \
         controller role"
            .to_owned()
    })?;
    let all_listen = config.controller_listener_names.iter().all(|name| config.listeners.iter().any(|listener| listener.name == *name));
    require(all_listen, "controller.listener.names", || {
        "controller.listener.names must only contain values appearing in the 'listeners' configuration when running the KRaft \
         controller role"
            .to_owned()
    })
}

fn check_broker_only(config: &BrokerConfig) -> Checked {
    let id = config.node_id;
    require(!is_voter(config), "controller.quorum.voters", || {
        format!(
            "If process.roles contains just the 'broker' role, the node id {id} must not be included in the set of voters \
             controller.quorum.voters={}",
            voter_ids(config)
        )
    })?;
    require(!config.controller_listener_names.is_empty(), "controller.listener.names", || {
        "controller.listener.names must contain at least one value when running KRaft with just the broker role".to_owned()
    })?;
    require(config.controller_listeners().next().is_none(), "controller.listener.names", || {
        "controller.listener.names must not contain a value appearing in the 'listeners' configuration when running KRaft with just \
         the broker role"
            .to_owned()
    })?;
    for name in &config.controller_listener_names {
        if !config.listener_security_protocol_map.contains_key(&name.to_uppercase()) {
            let message = format!(
                "Controller listener with name {name} defined in controller.listener.names not found in listener.security.protocol.map"
            );
            return Err(InvalidConfig::rule("listener.security.protocol.map", message));
        }
    }
    require(!config.controller_quorum_auto_join_enable, "controller.quorum.auto.join.enable", || {
        "controller.quorum.auto.join.enable is only supported when process.roles contains the 'controller' role.".to_owned()
    })
}

fn is_voter(config: &BrokerConfig) -> bool {
    config.controller_quorum_voters.iter().any(|voter| voter.id == config.node_id)
}

fn voter_ids(config: &BrokerConfig) -> String {
    let ids: Vec<String> = config.controller_quorum_voters.iter().map(|voter| voter.id.to_string()).collect();
    format!("[{}]", ids.join(", "))
}

fn names(listeners: &[Listener]) -> String {
    listeners.iter().map(|listener| listener.name.as_str()).collect::<Vec<_>>().join(",")
}

fn check_listeners(config: &BrokerConfig) -> Checked {
    let advertised = &config.advertised_listeners;
    if config.process_roles.broker {
        require(!advertised.is_empty(), "advertised.listeners", || {
            "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?".to_owned()
        })?;
        let is_advertised = advertised.iter().any(|listener| listener.name == config.inter_broker_listener_name);
        require(is_advertised, "inter.broker.listener.name", || {
            format!(
                "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on \
                 currently configured listeners are {}",
                names(advertised)
            )
        })?;
        let is_bound = |listener: &Listener| config.listeners.iter().any(|bound| bound.name == listener.name);
        require(advertised.iter().all(is_bound), "advertised.listeners", || {
            format!(
                "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found {}. The \
                 valid options based on the current configuration are {}",
                names(advertised),
                names(&config.listeners)
            )
        })?;
    }
    check_early_listeners(config)?;
    let everywhere = advertised.iter().chain(&config.advertised_controller_listeners).any(is_any_ipv4);
    require(!everywhere, "advertised.listeners", || {
        "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.".to_owned()
    })?;
    check_sasl(config)
}

fn check_early_listeners(config: &BrokerConfig) -> Checked {
    const KEY: &str = "early.start.listeners";
    let known = config.listeners.iter().map(|listener| &listener.name).chain(&config.controller_listener_names);
    let known: Vec<&String> = known.collect();
    match config.values().list(KEY).unwrap_or_default().iter().find(|name| !known.contains(name)) {
        Some(name) => Err(InvalidConfig::rule(
            KEY,
            format!("{KEY} contains listener {name}, but this is not contained in listeners or controller.listener.names"),
        )),
        None => Ok(()),
    }
}

fn check_sasl(config: &BrokerConfig) -> Checked {
    let name = &config.inter_broker_listener_name;
    let uses_sasl = config.listener_security_protocol_map.get(name).copied().is_some_and(SecurityProtocol::uses_sasl);
    let prefixed = config.originals().get(&format!("listener.name.{}.sasl.enabled.mechanisms", name.to_lowercase()));
    let mechanisms = match prefixed {
        Some(text) => crate::value::split_list(text),
        None => config.values().list("sasl.enabled.mechanisms").unwrap_or_default().to_vec(),
    };
    let mechanism = config.values().text("sasl.mechanism.inter.broker.protocol");
    require(!uses_sasl || mechanisms.iter().any(|enabled| enabled == mechanism), "sasl.enabled.mechanisms", || {
        "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for inter-broker communication"
            .to_owned()
    })
}

fn check_connections(config: &BrokerConfig) -> Checked {
    let queued = config.queued_max_request_bytes;
    require(queued <= 0 || queued >= i64::from(config.socket_request_max_bytes), "queued.max.request.bytes", || {
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes".to_owned()
    })?;
    let overrides = &config.max_connections_per_ip_overrides;
    require(config.max_connections_per_ip != 0 || !overrides.is_empty(), "max.connections.per.ip", || {
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.".to_owned()
    })?;
    let invalid: Vec<&str> = overrides.iter().map(|(host, _)| host.as_str()).filter(|host| !crate::address::is_valid_host(host)).collect();
    if !invalid.is_empty() {
        let message = format!("max.connections.per.ip.overrides contains invalid addresses : {}", invalid.join(","));
        return Err(InvalidConfig::rule("max.connections.per.ip.overrides", message));
    }
    let (delay_ms, idle_ms) = (config.connection_failed_authentication_delay_ms, config.connections_max_idle_ms);
    require(idle_ms < 0 || i64::from(delay_ms) < idle_ms, "connection.failed.authentication.delay.ms", || {
        format!(
            "connection.failed.authentication.delay.ms={delay_ms} should always be less than connections.max.idle.ms={idle_ms} to \
             prevent failed authentication responses from timing out"
        )
    })
}

/// How two values must stand to each other.
#[derive(Clone, Copy)]
enum Relation {
    AtLeast,
    AtMost,
    Below,
}

use Relation::{AtLeast, AtMost, Below};

/// What the keys of groups must satisfy, in Kafka's order.
const GROUP_RELATIONS: [(&str, Relation, &str); 40] = [
    ("group.consumer.max.heartbeat.interval.ms", AtLeast, "group.consumer.min.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", AtLeast, "group.consumer.min.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", AtMost, "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.max.session.timeout.ms", AtLeast, "group.consumer.min.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", AtLeast, "group.consumer.min.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", AtMost, "group.consumer.max.session.timeout.ms"),
    ("group.consumer.heartbeat.interval.ms", Below, "group.consumer.session.timeout.ms"),
    ("group.consumer.max.assignment.interval.ms", AtLeast, "group.consumer.min.assignment.interval.ms"),
    ("group.consumer.assignment.interval.ms", AtLeast, "group.consumer.min.assignment.interval.ms"),
    ("group.consumer.assignment.interval.ms", AtMost, "group.consumer.max.assignment.interval.ms"),
    ("group.share.max.heartbeat.interval.ms", AtLeast, "group.share.min.heartbeat.interval.ms"),
    ("group.share.heartbeat.interval.ms", AtLeast, "group.share.min.heartbeat.interval.ms"),
    ("group.share.heartbeat.interval.ms", AtMost, "group.share.max.heartbeat.interval.ms"),
    ("group.share.max.session.timeout.ms", AtLeast, "group.share.min.session.timeout.ms"),
    ("group.share.session.timeout.ms", AtLeast, "group.share.min.session.timeout.ms"),
    ("group.share.session.timeout.ms", AtMost, "group.share.max.session.timeout.ms"),
    ("group.share.heartbeat.interval.ms", Below, "group.share.session.timeout.ms"),
    ("group.share.max.assignment.interval.ms", AtLeast, "group.share.min.assignment.interval.ms"),
    ("group.share.assignment.interval.ms", AtLeast, "group.share.min.assignment.interval.ms"),
    ("group.share.assignment.interval.ms", AtMost, "group.share.max.assignment.interval.ms"),
    ("group.streams.max.heartbeat.interval.ms", AtLeast, "group.streams.min.heartbeat.interval.ms"),
    ("group.streams.heartbeat.interval.ms", AtLeast, "group.streams.min.heartbeat.interval.ms"),
    ("group.streams.heartbeat.interval.ms", AtMost, "group.streams.max.heartbeat.interval.ms"),
    ("group.streams.max.session.timeout.ms", AtLeast, "group.streams.min.session.timeout.ms"),
    ("group.streams.session.timeout.ms", AtLeast, "group.streams.min.session.timeout.ms"),
    ("group.streams.session.timeout.ms", AtMost, "group.streams.max.session.timeout.ms"),
    ("group.streams.heartbeat.interval.ms", Below, "group.streams.session.timeout.ms"),
    ("group.streams.max.assignment.interval.ms", AtLeast, "group.streams.min.assignment.interval.ms"),
    ("group.streams.assignment.interval.ms", AtLeast, "group.streams.min.assignment.interval.ms"),
    ("group.streams.assignment.interval.ms", AtMost, "group.streams.max.assignment.interval.ms"),
    ("group.streams.num.standby.replicas", AtMost, "group.streams.max.standby.replicas"),
    ("group.streams.task.offset.interval.ms", AtLeast, "group.streams.min.task.offset.interval.ms"),
    ("group.streams.num.warmup.replicas", AtMost, "group.streams.max.warmup.replicas"),
    ("group.share.max.delivery.count.limit", AtLeast, "group.share.delivery.count.limit"),
    ("group.share.delivery.count.limit", AtLeast, "group.share.min.delivery.count.limit"),
    ("group.share.max.partition.max.record.locks", AtLeast, "group.share.partition.max.record.locks"),
    ("group.share.partition.max.record.locks", AtLeast, "group.share.min.partition.max.record.locks"),
    ("group.share.record.lock.duration.ms", AtLeast, "group.share.min.record.lock.duration.ms"),
    ("group.share.max.record.lock.duration.ms", AtLeast, "group.share.record.lock.duration.ms"),
    ("group.share.max.share.sessions", AtLeast, "group.share.max.size"),
];

fn check_groups(config: &BrokerConfig) -> Checked {
    let values = config.values();
    for (key, relation, other) in GROUP_RELATIONS {
        let (value, limit) = (values.long(key), values.long(other));
        let (holds, words) = match relation {
            AtLeast => (value >= limit, "greater than or equal to"),
            AtMost => (value <= limit, "less than or equal to"),
            Below => (value < limit, "less than"),
        };
        if !holds {
            return Err(InvalidConfig::rule(key, format!("{key} must be {words} {other}")));
        }
    }
    let protocols = values.list("group.coordinator.rebalance.protocols").unwrap_or_default();
    if !protocols.iter().any(|protocol| protocol == "classic") {
        let message = "Disabling the 'classic' protocol is not supported.";
        return Err(InvalidConfig::rule("group.coordinator.rebalance.protocols", message));
    }
    Ok(())
}
