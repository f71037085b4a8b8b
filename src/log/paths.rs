//! Names of files and directories (`LogFileUtils`, `LocalLog`). Knows nothing of what is in them.

use std::path::{Path, PathBuf};

use ottla_io::Rng;
use ottla_model::TopicPartition;

pub(crate) const LOG_SUFFIX: &str = ".log";
pub(crate) const OFFSET_INDEX_SUFFIX: &str = ".index";
pub(crate) const TIME_INDEX_SUFFIX: &str = ".timeindex";
pub(crate) const TRANSACTION_INDEX_SUFFIX: &str = ".txnindex";
pub(crate) const PRODUCER_SNAPSHOT_SUFFIX: &str = ".snapshot";
/// A file of a segment that is about to be removed.
pub(crate) const DELETED_SUFFIX: &str = ".deleted";
/// A file that compaction is writing.
pub(crate) const CLEANED_SUFFIX: &str = ".cleaned";
/// A file that compaction has finished and that is about to take its place.
pub(crate) const SWAP_SUFFIX: &str = ".swap";
/// A partition's directory that is about to be removed.
pub(crate) const DELETE_DIR_SUFFIX: &str = "-delete";
/// A partition's directory that is being moved here from another log directory.
pub(crate) const FUTURE_DIR_SUFFIX: &str = "-future";
/// A partition's directory that the cluster's metadata does not place here.
pub(crate) const STRAY_DIR_SUFFIX: &str = "-stray";
/// The cache of tiered storage, which is no partition.
pub(crate) const REMOTE_INDEX_CACHE_DIR: &str = "remote-log-index-cache";

/// The longest name that file systems take.
const FILE_NAME_LENGTH_MAX: usize = 255;

/// `<dir>/<20 digits of the offset><suffix>`.
pub(crate) fn segment_file(dir: &Path, base_offset: i64, suffix: &str) -> PathBuf {
    dir.join(format!("{base_offset:020}{suffix}"))
}

/// The offset at the beginning of a file's name.
pub(crate) fn offset_of_file(name: &str) -> Option<i64> {
    name.split_once('.')?.0.parse().ok()
}

/// What a directory within a log directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartitionDir {
    /// A partition in use.
    Current(TopicPartition),
    /// Waiting to be removed.
    Deleted(TopicPartition),
    /// On its way from another log directory.
    Future(TopicPartition),
    /// Not placed here by the cluster's metadata.
    Stray(TopicPartition),
}

impl PartitionDir {
    /// What the name stands for; `None` when it is not one of Kafka's (`UnifiedLog.parseTopicPartitionName`).
    pub(crate) fn parse(name: &str) -> Option<PartitionDir> {
        let marked = [
            (DELETE_DIR_SUFFIX, PartitionDir::Deleted as fn(TopicPartition) -> PartitionDir),
            (FUTURE_DIR_SUFFIX, PartitionDir::Future),
            (STRAY_DIR_SUFFIX, PartitionDir::Stray),
        ];
        for (suffix, constructor) in marked {
            if let Some(marked) = name.strip_suffix(suffix) {
                let (partition, unique) = marked.rsplit_once('.')?;
                return if unique.is_empty() { None } else { parse_topic_partition(partition).map(constructor) };
            }
        }
        parse_topic_partition(name).map(PartitionDir::Current)
    }

    /// The partition, whatever its state.
    pub(crate) fn topic_partition(&self) -> &TopicPartition {
        match self {
            PartitionDir::Current(partition)
            | PartitionDir::Deleted(partition)
            | PartitionDir::Future(partition)
            | PartitionDir::Stray(partition) => partition,
        }
    }
}

fn parse_topic_partition(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    if topic.is_empty() {
        return None;
    }
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// `<topic>-<n>.<32 hex digits>-delete`, the topic shortened so that the whole stays a valid file name.
pub(crate) fn delete_dir_name(partition: &TopicPartition, rng: &mut dyn Rng) -> String {
    let unique = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
    let end = format!("-{}.{unique:032x}{DELETE_DIR_SUFFIX}", partition.partition);
    let length = partition.topic.len().min(FILE_NAME_LENGTH_MAX - end.len());
    format!("{}{end}", &partition.topic[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::SeededRng;

    #[test]
    fn segment_files_have_twenty_digits() {
        assert_eq!(segment_file(Path::new("/d/t-0"), 42, LOG_SUFFIX), Path::new("/d/t-0/00000000000000000042.log"));
        assert_eq!(offset_of_file("00000000000000000042.log.swap"), Some(42));
        assert_eq!(offset_of_file("leader-epoch-checkpoint"), None);
    }

    #[test]
    fn directory_names() {
        let orders = TopicPartition::new("my-orders", 3);
        assert_eq!(PartitionDir::parse("my-orders-3"), Some(PartitionDir::Current(orders.clone())));
        assert_eq!(PartitionDir::parse("my-orders-3.ab12-delete"), Some(PartitionDir::Deleted(orders.clone())));
        assert_eq!(PartitionDir::parse("my-orders-3.ab12-future"), Some(PartitionDir::Future(orders.clone())));
        assert_eq!(PartitionDir::parse("my-orders-3.ab12-stray"), Some(PartitionDir::Stray(orders)));
        for name in ["lost+found", "-3", "orders-", "orders-x", "orders-3-delete"] {
            assert_eq!(PartitionDir::parse(name), None, "{name}");
        }
    }

    #[test]
    fn names_of_deleted_directories_fit_a_file_name() {
        let partition = TopicPartition::new("t".repeat(249), 12);
        let name = delete_dir_name(&partition, &mut SeededRng::new(7));
        assert_eq!(name.len(), 255);
        assert!(name.starts_with(&"t".repeat(211)) && name.ends_with("-delete"), "{name}");
        assert!(matches!(PartitionDir::parse(&name), Some(PartitionDir::Deleted(_))));
        let short = delete_dir_name(&TopicPartition::new("t", 0), &mut SeededRng::new(7));
        assert_eq!(short.len(), "t-0.".len() + 32 + "-delete".len());
    }
}
