//! A topic's configuration as a log and a partition use it (`LogConfig`): the broker's defaults with the topic's own values over them.

use std::collections::BTreeMap;

use crate::broker_values::{BrokerValues, ConfigMap, FieldValue};
use crate::invalid::InvalidConfig;
use crate::key::Scope;
use crate::table;
use crate::value::ConfigValue;

/// `cleanup.policy`. Neither, one or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Old segments are deleted.
    pub delete: bool,
    /// Only the last record of each key is kept.
    pub compact: bool,
}

/// `compression.type` with its level: how batches are stored (`BrokerCompressionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerCompression {
    /// As the producer sent them.
    Producer,
    /// Not compressed.
    Uncompressed,
    /// gzip, level 1 to 9 or -1 for the default.
    Gzip {
        /// `compression.gzip.level`
        level: i32,
    },
    /// snappy.
    Snappy,
    /// lz4, level 1 to 17.
    Lz4 {
        /// `compression.lz4.level`
        level: i32,
    },
    /// zstd, level -131072 to 22.
    Zstd {
        /// `compression.zstd.level`
        level: i32,
    },
}

/// `message.timestamp.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's when it appends.
    LogAppendTime,
}

macro_rules! topic_config {
    ($($key:literal $field:ident: $type:ty,)*) => {
        /// The values that apply to a topic. Fields are named after their keys; times are in milliseconds.
        #[derive(Clone, Debug, PartialEq)]
        pub struct TopicConfig {
            /// `cleanup.policy`
            pub cleanup_policy: CleanupPolicy,
            /// `compression.type` and the level of that type.
            pub compression: BrokerCompression,
            /// `message.timestamp.type`
            pub message_timestamp_type: TimestampType,
            $(#[doc = concat!("`", $key, "`")] pub $field: $type,)*
        }

        impl TopicConfig {
            fn from_values(values: &TopicValues) -> Result<TopicConfig, InvalidConfig> {
                Ok(TopicConfig {
                    cleanup_policy: cleanup_policy(values),
                    compression: compression(values)?,
                    message_timestamp_type: match values.read::<String>("message.timestamp.type")?.as_str() {
                        "LogAppendTime" => TimestampType::LogAppendTime,
                        _ => TimestampType::CreateTime,
                    },
                    $($field: values.read($key)?,)*
                })
            }
        }
    };
}

topic_config! {
    "delete.retention.ms" delete_retention_ms: i64,
    "file.delete.delay.ms" file_delete_delay_ms: i64,
    "flush.messages" flush_messages: i64,
    "flush.ms" flush_ms: i64,
    "follower.replication.throttled.replicas" follower_replication_throttled_replicas: Vec<String>,
    "index.interval.bytes" index_interval_bytes: i32,
    "leader.replication.throttled.replicas" leader_replication_throttled_replicas: Vec<String>,
    "max.compaction.lag.ms" max_compaction_lag_ms: i64,
    "max.decompressed.message.bytes" max_decompressed_message_bytes: i32,
    "max.message.bytes" max_message_bytes: i32,
    "message.timestamp.after.max.ms" message_timestamp_after_max_ms: i64,
    "message.timestamp.before.max.ms" message_timestamp_before_max_ms: i64,
    "min.cleanable.dirty.ratio" min_cleanable_dirty_ratio: f64,
    "min.compaction.lag.ms" min_compaction_lag_ms: i64,
    "min.insync.replicas" min_insync_replicas: i32,
    "preallocate" preallocate: bool,
    "remote.storage.enable" remote_storage_enable: bool,
    "retention.bytes" retention_bytes: i64,
    "retention.ms" retention_ms: i64,
    "segment.bytes" segment_bytes: i32,
    "internal.segment.bytes" internal_segment_bytes: Option<i32>,
    "segment.index.bytes" segment_index_bytes: i32,
    "segment.jitter.ms" segment_jitter_ms: i64,
    "segment.ms" segment_ms: i64,
    "unclean.leader.election.enable" unclean_leader_election_enable: bool,
}

impl TopicConfig {
    /// What applies to a topic with these values of its own. Unknown keys do not matter here; see `topic_rules` for what a change
    /// may contain.
    pub(crate) fn new(broker: &BrokerValues, overrides: &ConfigMap) -> Result<TopicConfig, InvalidConfig> {
        TopicConfig::from_values(&TopicValues::parse(broker, overrides)?)
    }

    /// The size at which a segment is rolled: `segment.bytes`, unless a test asks for less.
    pub fn segment_size(&self) -> i32 {
        self.internal_segment_bytes.unwrap_or(self.segment_bytes)
    }

    /// The age at which a segment is rolled, before jitter: a compacted topic must not keep records from the cleaner for longer than
    /// `max.compaction.lag.ms`.
    pub fn max_segment_ms(&self) -> i64 {
        if self.cleanup_policy.compact && self.max_compaction_lag_ms > 0 {
            self.max_compaction_lag_ms.min(self.segment_ms)
        } else {
            self.segment_ms
        }
    }
}

/// The values of all topic keys, read and checked one by one; those that are null are absent.
#[derive(Clone, Debug)]
pub(crate) struct TopicValues {
    values: BTreeMap<&'static str, ConfigValue>,
}

impl TopicValues {
    pub(crate) fn parse(broker: &BrokerValues, overrides: &ConfigMap) -> Result<TopicValues, InvalidConfig> {
        let mut values = BTreeMap::new();
        for key in table::keys(Scope::Topic).values() {
            let value = match overrides.get(key.name) {
                Some(text) => Some(key.parse(text).map_err(|message| InvalidConfig::Value { key: key.name, message })?),
                None => broker_default(broker, key.name, &key.synonyms).or_else(|| key.default_value().cloned()),
            };
            if let Some(value) = value {
                values.insert(key.name, value);
            }
        }
        Ok(TopicValues { values })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ConfigValue> {
        self.values.get(name)
    }

    pub(crate) fn read<T: FieldValue>(&self, name: &'static str) -> Result<T, InvalidConfig> {
        T::from_value(name, self.get(name))
    }

    pub(crate) fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(ConfigValue::List(items)) => items,
            _ => &[],
        }
    }
}

/// The broker's value for a topic's key (`KafkaConfig.extractLogConfigMap`): the first of its keys that is set, in the topic's unit.
fn broker_default(broker: &BrokerValues, key: &str, synonyms: &[&'static str]) -> Option<ConfigValue> {
    let (first, rest) = synonyms.split_first()?;
    if rest.is_empty() {
        return broker.get(first).cloned();
    }
    let (synonym, amount) = synonyms.iter().find_map(|synonym| Some((synonym, broker.optional_long(synonym)?)))?;
    let value = amount.saturating_mul(unit_ms(synonym));
    // Any negative retention means that there is no limit.
    Some(ConfigValue::Long(if key == "retention.ms" { value.max(-1) } else { value }))
}

/// How many milliseconds one unit of a broker's key is, told by the end of its name (`ConfigSynonym`).
pub(crate) fn unit_ms(broker_key: &str) -> i64 {
    if broker_key.ends_with(".hours") {
        3_600_000
    } else if broker_key.ends_with(".minutes") {
        60_000
    } else {
        1
    }
}

fn cleanup_policy(values: &TopicValues) -> CleanupPolicy {
    let has = |policy: &str| values.list("cleanup.policy").iter().any(|present| present.eq_ignore_ascii_case(policy));
    CleanupPolicy { delete: has("delete"), compact: has("compact") }
}

fn compression(values: &TopicValues) -> Result<BrokerCompression, InvalidConfig> {
    Ok(match values.read::<String>("compression.type")?.as_str() {
        "uncompressed" => BrokerCompression::Uncompressed,
        "gzip" => BrokerCompression::Gzip { level: values.read("compression.gzip.level")? },
        "snappy" => BrokerCompression::Snappy,
        "lz4" => BrokerCompression::Lz4 { level: values.read("compression.lz4.level")? },
        "zstd" => BrokerCompression::Zstd { level: values.read("compression.zstd.level")? },
        // The validator leaves nothing but `producer`.
        _ => BrokerCompression::Producer,
    })
}
