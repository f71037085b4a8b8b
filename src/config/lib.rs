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
    pub port: u16,
}
impl BrokerConfig {
    pub fn stub(dir: PathBuf, port: u16) -> BrokerConfig {
        BrokerConfig {
            node_id: BrokerId(1),
            auto_create_topics_enable: true,
            fetch_max_bytes: 57671680,
            max_request_partition_size_limit: 2000,
            delete_topic_enable: true,
            log_dirs: vec![dir.clone()],
            metadata_log_dir: dir,
            max_incremental_fetch_session_cache_slots: 1000,
            offsets_topic_num_partitions: 50,
            offsets_topic_replication_factor: 1,
            offsets_topic_segment_bytes: 104857600,
            num_partitions: 1,
            default_replication_factor: 1,
            request_timeout_ms: 30000,
            rack: None,
            broker_session_timeout_ms: 9000,
            port,
        }
    }
}
