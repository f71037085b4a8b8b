//! Whether the values of a topic, a group or a client metrics subscription are accepted (`LogConfig.validate`, `GroupConfig.validate`,
//! `ClientMetricsConfigs.validate`). All values of the resource are checked, not only those that change.

use std::collections::BTreeMap;

use crate::broker_config::BrokerConfig;
use crate::broker_values::{BrokerValues, ConfigMap};
use crate::key::Scope;
use crate::rejection::ConfigRejection;
use crate::table;
use crate::topic_config::TopicValues;
use crate::value::{ConfigValue, split_list};

type Checked = Result<(), ConfigRejection>;

/// Checks all values that a topic would have; `existing` are those it has.
pub fn check_topic(broker: &BrokerConfig, configs: &ConfigMap, existing: &ConfigMap) -> Checked {
    check_names(Scope::Topic, configs, "topic")?;
    let values = TopicValues::parse(broker.values(), configs).map_err(|invalid| ConfigRejection::invalid_config(invalid.to_string()))?;
    let topic = TopicNumbers(&values);
    let (min_lag, max_lag) = (topic.number("min.compaction.lag.ms"), topic.number("max.compaction.lag.ms"));
    if min_lag > max_lag {
        return Err(ConfigRejection::invalid_config(format!(
            "conflict topic config setting min.compaction.lag.ms ({min_lag}) > max.compaction.lag.ms ({max_lag})"
        )));
    }
    let is_enabled = matches!(broker.values().get("remote.log.storage.system.enable"), Some(ConfigValue::Boolean(true)));
    if topic.flag("remote.storage.enable") {
        return check_remote_topic(&topic, is_enabled);
    }
    let was_remote = existing.get("remote.storage.enable").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    if was_remote && !topic.flag("remote.log.delete.on.disable") {
        return Err(ConfigRejection::invalid_config(
            "It is invalid to disable remote storage without deleting remote data. If you want to keep the remote data and turn to read \
             only, please set `remote.storage.enable=true,remote.log.copy.disable=true`. If you want to disable remote storage and delete \
             all remote data, please set `remote.storage.enable=false,remote.log.delete.on.disable=true`.",
        ));
    }
    Ok(())
}

struct TopicNumbers<'a>(&'a TopicValues);

impl TopicNumbers<'_> {
    fn number(&self, name: &str) -> i64 {
        match self.0.get(name) {
            Some(ConfigValue::Long(number)) => *number,
            Some(ConfigValue::Int(number)) => i64::from(*number),
            _ => 0,
        }
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(ConfigValue::Boolean(true)))
    }
}

fn check_remote_topic(topic: &TopicNumbers<'_>, is_enabled: bool) -> Checked {
    if !is_enabled {
        return Err(ConfigRejection::invalid_config(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
        ));
    }
    let policy = topic.0.list("cleanup.policy");
    if !policy.is_empty() && policy != ["delete"] {
        return Err(ConfigRejection::invalid_config(
            "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list.",
        ));
    }
    for unit in ["bytes", "ms"] {
        check_local_retention(topic, unit)?;
    }
    if topic.flag("remote.log.copy.disable") {
        for unit in ["bytes", "ms"] {
            let (local, retention) = (topic.number(&format!("local.retention.{unit}")), topic.number(&format!("retention.{unit}")));
            if local != -2 && local != retention {
                return Err(ConfigRejection::invalid_config(format!(
                    "When `remote.log.copy.disable` is set to true, the `local.retention.{unit}` and `retention.{unit}` must be set to the \
                     identical value because there will be no more logs copied to the remote storage."
                )));
            }
        }
    }
    Ok(())
}

fn check_local_retention(topic: &TopicNumbers<'_>, unit: &str) -> Checked {
    let (local_key, retention_key) = (format!("local.retention.{unit}"), format!("retention.{unit}"));
    let (local, retention) = (topic.number(&local_key), topic.number(&retention_key));
    let invalid = |key: &str, value: i64, why: String| {
        Err(ConfigRejection::invalid_config(format!("Invalid value {value} for configuration {key}: {why}")))
    };
    if retention > -1 && local == -1 {
        return invalid(&local_key, local, format!("Value must not be -1 as {retention_key} value is set as {retention}."));
    }
    if retention > -1 && local > retention {
        return invalid(&local_key, local, format!("Value must not be more than {retention_key} property value: {retention}"));
    }
    let lag_key = format!("remote.copy.lag.{unit}");
    let lag = topic.number(&lag_key);
    let effective = if local == -2 { retention } else { local };
    if lag > 0 && effective >= 0 && lag > effective {
        return invalid(&lag_key, lag, format!("Value must not exceed {local_key} (effective value: {effective})"));
    }
    Ok(())
}

fn check_names(scope: Scope, configs: &ConfigMap, what: &str) -> Checked {
    match configs.keys().find(|name| table::key(scope, name).is_none()) {
        Some(unknown) => Err(ConfigRejection::invalid_config(format!("Unknown {what} config name: {unknown}"))),
        None => Ok(()),
    }
}

/// Group keys whose limits are broker keys: `(key, least, most)`.
const GROUP_LIMITS: [(&str, Option<&str>, Option<&str>); 15] = [
    ("consumer.heartbeat.interval.ms", Some("group.consumer.min.heartbeat.interval.ms"), Some("group.consumer.max.heartbeat.interval.ms")),
    ("consumer.session.timeout.ms", Some("group.consumer.min.session.timeout.ms"), Some("group.consumer.max.session.timeout.ms")),
    (
        "consumer.assignment.interval.ms",
        Some("group.consumer.min.assignment.interval.ms"),
        Some("group.consumer.max.assignment.interval.ms"),
    ),
    ("share.heartbeat.interval.ms", Some("group.share.min.heartbeat.interval.ms"), Some("group.share.max.heartbeat.interval.ms")),
    ("share.session.timeout.ms", Some("group.share.min.session.timeout.ms"), Some("group.share.max.session.timeout.ms")),
    ("share.record.lock.duration.ms", Some("group.share.min.record.lock.duration.ms"), Some("group.share.max.record.lock.duration.ms")),
    ("share.delivery.count.limit", Some("group.share.min.delivery.count.limit"), Some("group.share.max.delivery.count.limit")),
    (
        "share.partition.max.record.locks",
        Some("group.share.min.partition.max.record.locks"),
        Some("group.share.max.partition.max.record.locks"),
    ),
    ("share.assignment.interval.ms", Some("group.share.min.assignment.interval.ms"), Some("group.share.max.assignment.interval.ms")),
    ("streams.heartbeat.interval.ms", Some("group.streams.min.heartbeat.interval.ms"), Some("group.streams.max.heartbeat.interval.ms")),
    ("streams.session.timeout.ms", Some("group.streams.min.session.timeout.ms"), Some("group.streams.max.session.timeout.ms")),
    ("streams.num.standby.replicas", None, Some("group.streams.max.standby.replicas")),
    ("streams.assignment.interval.ms", Some("group.streams.min.assignment.interval.ms"), Some("group.streams.max.assignment.interval.ms")),
    ("streams.task.offset.interval.ms", Some("group.streams.min.task.offset.interval.ms"), None),
    ("streams.num.warmup.replicas", None, Some("group.streams.max.warmup.replicas")),
];

/// Checks all values that a group would have.
pub fn check_group(broker: &BrokerConfig, configs: &ConfigMap) -> Checked {
    check_names(Scope::Group, configs, "group")?;
    let tags = configs.get("streams.rack.aware.assignment.tags").map(|tags| split_list(tags)).unwrap_or_default();
    if tags.iter().enumerate().any(|(index, tag)| tags[..index].contains(tag)) {
        return Err(ConfigRejection::invalid_config("streams.rack.aware.assignment.tags must not contain duplicate tag keys."));
    }
    let values = parse_all(Scope::Group, configs)?;
    for (key, least, most) in GROUP_LIMITS {
        if let Some(value) = number(&values, key) {
            check_limits(key, value, least.map(|key| broker.values().long(key)), most.map(|key| broker.values().long(key)))?;
        }
    }
    check_assignor(broker.values(), configs)?;
    for kind in ["consumer", "share", "streams"] {
        check_session_exceeds_heartbeat(broker.values(), &values, kind)?;
    }
    if configs.get("errors.deadletterqueue.topic.name").is_some_and(|topic| topic.trim().starts_with("__")) {
        return Err(ConfigRejection::invalid_config("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"));
    }
    Ok(())
}

fn check_limits(key: &str, value: i64, least: Option<i64>, most: Option<i64>) -> Checked {
    let message = match (least, most) {
        (Some(least), Some(most)) if value < least || value > most => format!("{key} must be in the range {least} to {most} inclusive."),
        (None, Some(most)) if value > most => format!("{key} must be less than or equal to {most}"),
        (Some(least), None) if value < least => format!("{key} must be greater than or equal to {least}"),
        _ => return Ok(()),
    };
    Err(ConfigRejection::invalid_config(message))
}

fn check_assignor(broker: &BrokerValues, configs: &ConfigMap) -> Checked {
    let Some(assignor) = configs.get("streams.assignor.name").map(|name| name.trim()) else { return Ok(()) };
    let registered = broker.list("group.streams.assignors").unwrap_or_default();
    if registered.iter().any(|name| name == assignor) {
        return Ok(());
    }
    Err(ConfigRejection::invalid_config(format!(
        "streams.assignor.name '{assignor}' is not a registered task assignor. Registered assignors are: [{}].",
        registered.join(", ")
    )))
}

/// A session must be longer than the time between heartbeats; what the group does not set, the broker does.
fn check_session_exceeds_heartbeat(broker: &BrokerValues, values: &Values, kind: &str) -> Checked {
    let (session_key, heartbeat_key) = (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
    let (session, heartbeat) = (number(values, &session_key), number(values, &heartbeat_key));
    if session.is_none() && heartbeat.is_none() {
        return Ok(());
    }
    let or_broker = |value: Option<i64>, key: &str| value.or_else(|| broker.optional_long(&format!("group.{key}"))).unwrap_or(0);
    if or_broker(session, &session_key) > or_broker(heartbeat, &heartbeat_key) {
        return Ok(());
    }
    Err(ConfigRejection::invalid_config(format!("{session_key} must be greater than {heartbeat_key}")))
}

const CLIENT_METRICS_INTERVAL_MS: std::ops::RangeInclusive<i64> = 100..=3_600_000;

/// What a subscription can match clients by.
const MATCH_KEYS: [&str; 6] =
    ["client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port"];

/// Checks all values that a client metrics subscription would have. Whether a pattern is a regular expression that Java accepts is
/// only checked roughly: its brackets must pair.
pub fn check_client_metrics(name: &str, configs: &ConfigMap) -> Checked {
    if name.is_empty() {
        return Err(ConfigRejection::invalid_request("Subscription name can't be empty"));
    }
    if let Some(unknown) = configs.keys().find(|name| table::key(Scope::ClientMetrics, name).is_none()) {
        return Err(ConfigRejection::invalid_request(format!("Unknown client metrics configuration: {unknown}")));
    }
    let values = parse_all(Scope::ClientMetrics, configs)?;
    if let Some(interval_ms) = number(&values, "interval.ms").filter(|interval_ms| !CLIENT_METRICS_INTERVAL_MS.contains(interval_ms)) {
        let message = format!("Invalid value {interval_ms} for interval.ms, interval must be between 100 and 3600000 (1 hour)");
        return Err(ConfigRejection::invalid_request(message));
    }
    for pattern in configs.get("match").map(|patterns| split_list(patterns)).unwrap_or_default() {
        let parts: Vec<&str> = pattern.split('=').map(str::trim).collect();
        let is_legal = matches!(parts[..], [key, pattern] if MATCH_KEYS.contains(&key) && !pattern.is_empty() && brackets_pair(pattern));
        if !is_legal {
            return Err(ConfigRejection::invalid_config(format!("Illegal client matching pattern: {pattern}")));
        }
    }
    Ok(())
}

fn brackets_pair(pattern: &str) -> bool {
    let mut open = 0;
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => open += 1,
            ')' if !in_class => open -= 1,
            _ => {}
        }
        if open < 0 {
            return false;
        }
    }
    open == 0 && !in_class
}

type Values = BTreeMap<&'static str, ConfigValue>;

/// Reads the values that are set.
fn parse_all(scope: Scope, configs: &ConfigMap) -> Result<Values, ConfigRejection> {
    let set = table::keys(scope).values().filter_map(|key| Some((key, configs.get(key.name)?)));
    set.map(|(key, text)| Ok((key.name, key.parse(text).map_err(ConfigRejection::invalid_config)?))).collect()
}

fn number(values: &Values, key: &str) -> Option<i64> {
    match values.get(key)? {
        ConfigValue::Int(number) => Some(i64::from(*number)),
        ConfigValue::Long(number) => Some(*number),
        _ => None,
    }
}
