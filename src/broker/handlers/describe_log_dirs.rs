//! DescribeLogDirs: the log directories, how full they are, and which partitions are in them (KIP-113, KIP-827).

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use ottla_log::LogDirInfo;
use ottla_model::{ErrorCode, TopicPartition};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::describe_log_dirs_request::DescribeLogDirsRequest;
use ottla_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic,
};

use crate::api::{Handler, Operation, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The size of a file system that does not tell.
const UNKNOWN_BYTES: i64 = -1;

/// The API.
pub struct DescribeLogDirs;

impl Handler for DescribeLogDirs {
    type Request = DescribeLogDirsRequest;
    const KEY: ApiKey = ApiKey::DescribeLogDirs;
    const RIGHTS: Rights = Rights::Cluster(Operation::Describe);

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: DescribeLogDirsRequest) {
        let wanted: Option<HashSet<TopicPartition>> = request.topics.as_ref().map(|topics| {
            let partitions = topics.iter().flat_map(|topic| {
                let name: Arc<str> = Arc::from(topic.topic.as_str());
                topic.partitions.iter().map(move |&partition| TopicPartition { topic: name.clone(), partition })
            });
            partitions.collect()
        });
        let dirs = broker.logs().log_dirs();
        let results = dirs.iter().map(|dir| describe(dir, wanted.as_ref())).collect();
        context.reply(&DescribeLogDirsResponse { results, ..DescribeLogDirsResponse::default() });
    }
}

fn describe(dir: &LogDirInfo, wanted: Option<&HashSet<TopicPartition>>) -> DescribeLogDirsResult {
    let log_dir = absolute(&dir.path);
    if dir.error.is_some() {
        return DescribeLogDirsResult { error_code: ErrorCode::KafkaStorageError.code(), log_dir, ..DescribeLogDirsResult::default() };
    }
    let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
    for sizes in &dir.partitions {
        let topic_partition = &sizes.partition;
        if wanted.is_none_or(|wanted| wanted.contains(topic_partition)) {
            topics.entry(&topic_partition.topic).or_default().push(DescribeLogDirsPartition {
                partition_index: topic_partition.partition,
                partition_size: sizes.size_bytes as i64,
                offset_lag: sizes.log_end_offset.saturating_sub(sizes.high_watermark).max(0),
                ..DescribeLogDirsPartition::default()
            });
        }
    }
    let topics = topics.into_iter().map(|(name, partitions)| DescribeLogDirsTopic {
        name: name.to_owned(),
        partitions,
        ..DescribeLogDirsTopic::default()
    });
    DescribeLogDirsResult {
        log_dir,
        topics: topics.collect(),
        total_bytes: space(dir.total_bytes),
        usable_bytes: space(dir.usable_bytes),
        ..DescribeLogDirsResult::default()
    }
}

fn space(bytes: Option<u64>) -> i64 {
    bytes.map_or(UNKNOWN_BYTES, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
