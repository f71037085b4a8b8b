//! Whether a change of a broker's configuration at run time is accepted (`DynamicBrokerConfig.validate`, `ConfigAdminManager`).

use crate::broker_config::BrokerConfig;
use crate::broker_values::ConfigMap;
use crate::dynamic::{self, ConfigLevel, DynamicBrokerConfig};
use crate::key::Scope;
use crate::listener::Listener;
use crate::rejection::ConfigRejection;
use crate::table;

impl DynamicBrokerConfig {
    /// Checks the values that one level would have after a change: all of them, not only those that change. Kafka answers all that is
    /// wrong with INVALID_REQUEST.
    pub fn validate_change(&self, values: &ConfigMap, level: ConfigLevel) -> Result<(), ConfigRejection> {
        check_names(values, dynamic::is_static_key, "Cannot update these configs dynamically")?;
        check_names(
            values,
            dynamic::needs_listener,
            "These security configs can be dynamically updated only per-listener using the listener prefix",
        )?;
        for (name, value) in values {
            dynamic::check_type(name, value).map_err(ConfigRejection::invalid_request)?;
        }
        if level == ConfigLevel::Cluster {
            check_names(
                values,
                dynamic::is_per_broker,
                "Cannot update these configs at default cluster level, broker id must be specified",
            )?;
        }
        let new = self.with(values, level).map_err(|invalid| ConfigRejection::invalid_request(invalid.to_string()))?;
        check_transition(self.current(), &new).map_err(|why| {
            // Kafka hands the exception to a constructor that takes a name and a value; clients see this text.
            ConfigRejection::invalid_request(format!(
                "Invalid value org.apache.kafka.common.config.ConfigException: {why} for configuration Invalid dynamic configuration"
            ))
        })
    }
}

fn check_names(values: &ConfigMap, is_wrong: fn(&str) -> bool, why: &str) -> Result<(), ConfigRejection> {
    let wrong: Vec<&str> = values.keys().map(String::as_str).filter(|name| is_wrong(name)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(ConfigRejection::invalid_request(format!("{why}: [{}]", wrong.join(", ")))) }
}

/// What a running broker cannot change to, though it could start so.
fn check_transition(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    check_cleaner_threads(old, new)?;
    check_thread_counts(old, new)?;
    check_log_defaults(old, new)?;
    check_listeners(old, new)?;
    check_reporters(old, new)
}

fn check_cleaner_threads(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    let (threads, current) = (new.log_cleaner_threads, old.log_cleaner_threads);
    if threads < 1 {
        return Err("Log cleaner threads should be at least 1".to_owned());
    }
    if threads < current / 2 {
        return Err(format!("Log cleaner threads cannot be reduced to less than half the current value {current}"));
    }
    if threads > current.saturating_mul(2) {
        return Err(format!("Log cleaner threads cannot be increased to more than double the current value {current}"));
    }
    Ok(())
}

/// Pools that may at most halve or double (`DynamicThreadPool`, `DynamicRemoteLogConfig`).
const THREAD_POOLS: [&str; 8] = [
    "background.threads",
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
];

fn check_thread_counts(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    for name in THREAD_POOLS {
        let (threads, current) = (new.values().long(name), old.values().long(name));
        if threads == current {
            continue;
        }
        let failed = |why: String| Err(format!("Dynamic thread count update validation failed for {name}={threads}, {why}"));
        if threads < current / 2 {
            return failed(format!("value should be at least half the current value {current}"));
        }
        if threads > current * 2 {
            return failed(format!("value should not be greater than double the current value {current}"));
        }
    }
    Ok(())
}

/// The defaults of topics must fit each other if one of them changes (`DynamicLogConfig`).
fn check_log_defaults(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    let mut defaults_of_topics = table::keys(Scope::Topic).values().filter_map(|key| key.synonyms.first().copied());
    if !defaults_of_topics.any(|name| old.originals().get(name) != new.originals().get(name)) {
        return Ok(());
    }
    let values = new.values();
    for unit in ["ms", "bytes"] {
        let local_key = format!("log.local.retention.{unit}");
        let retention_key = format!("log.retention.{unit}");
        let local = values.optional_long(&local_key).unwrap_or(-2);
        let retention = if unit == "ms" { new.topic_defaults.retention_ms } else { new.topic_defaults.retention_bytes };
        let invalid = |key: &str, value: i64, why: String| Err(format!("Invalid value {value} for configuration {key}: {why}"));
        if retention > -1 && local == -1 {
            return invalid(&local_key, local, format!("Value must not be -1 as {retention_key} value is set as {retention}."));
        }
        if retention > -1 && local > retention {
            return invalid(&local_key, local, format!("Value must not be more than {retention_key} property value: {retention}"));
        }
        let effective = if local == -2 { retention } else { local };
        let lag_key = format!("log.remote.copy.lag.{unit}");
        let lag = values.optional_long(&lag_key).unwrap_or(0);
        if lag > 0 && effective >= 0 && lag > effective {
            return invalid(&lag_key, lag, format!("Value must not exceed {local_key} (effective value: {effective})"));
        }
    }
    Ok(())
}

fn check_listeners(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    let has = |listeners: &[Listener], name: &str| listeners.iter().any(|listener| listener.name == name);
    let names = |listeners: &[Listener]| listeners.iter().map(|listener| listener.name.as_str()).collect::<Vec<_>>().join(", ");
    if !old.advertised_listeners.iter().all(|listener| has(&new.listeners, &listener.name)) {
        return Err(format!(
            "Advertised listeners 'Set({})' must be a subset of listeners 'Set({})'",
            names(&old.advertised_listeners),
            names(&new.listeners)
        ));
    }
    for listener in new.listeners.iter().filter(|listener| has(&old.listeners, &listener.name)) {
        let name = &listener.name;
        if old.listener_security_protocol_map.get(name) != new.listener_security_protocol_map.get(name) {
            return Err(format!("Security protocol cannot be updated for existing listener ListenerName({name})"));
        }
        if fixed_values(old, name) != fixed_values(new, name) {
            return Err(format!(
                "Configs cannot be updated dynamically for existing listener ListenerName({name}), restart broker or create a new \
                 listener for update"
            ));
        }
    }
    Ok(())
}

/// A listener's own values that cannot change while it exists.
fn fixed_values(config: &BrokerConfig, listener: &str) -> Vec<(String, String)> {
    let prefix = format!("listener.name.{}.", listener.to_lowercase());
    let changeable = ["max.connections", "max.connection.creation.rate", "num.network.threads"];
    let own = config.originals().iter().filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)));
    own.filter(|(key, _)| !dynamic::needs_listener(key) && !changeable.contains(key))
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect()
}

/// There are no reporters to load here but the one that stands for the built-in metrics.
fn check_reporters(old: &BrokerConfig, new: &BrokerConfig) -> Result<(), String> {
    const KEY: &str = "metric.reporters";
    const BUILT_IN: &str = "org.apache.kafka.common.metrics.JmxReporter";
    let reporters = new.values().list(KEY).unwrap_or_default();
    if old.values().list(KEY).unwrap_or_default() == reporters || reporters.iter().all(|reporter| reporter == BUILT_IN) {
        return Ok(());
    }
    Err("Validation of dynamic config update of Set(metric.reporters) failed with class class kafka.server.DynamicMetricsReporters"
        .to_owned())
}
