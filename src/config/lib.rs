//! (being built) -- temporary stub by the lead so that the broker compiles; the config helper overwrites this file.
use ottla_model::BrokerId;
use std::path::PathBuf;
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    pub node_id: BrokerId,
    pub auto_create_topics_enable: bool,
    pub fetch_max_bytes: i32,
    pub max_request_partition_size_limit: i32,
    pub delete_topic_enable: bool,
    pub log_dirs: Vec<PathBuf>,
    pub metadata_log_dir: PathBuf,
    pub max_incremental_fetch_session_cache_slots: usize,
    pub offsets_topic_num_partitions: i32,
    pub offsets_topic_replication_factor: i16,
    pub offsets_topic_segment_bytes: i32,
    pub num_partitions: i32,
    pub default_replication_factor: i16,
    pub request_timeout_ms: i32,
    pub rack: Option<String>,
    pub broker_session_timeout_ms: i64,
}
