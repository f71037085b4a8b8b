//! What a topic may be called, and how a partition is named. Knows nothing of where topics are kept.

use std::fmt;
use std::sync::Arc;

/// A partition of a topic; its text is the name of its directory, `<topic>-<partition>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number within the topic.
    pub partition: i32,
}

impl TopicPartition {
    /// The partition `partition` of `topic`.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> TopicPartition {
        TopicPartition { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Names of the topics that Kafka keeps for itself.
pub mod internal_topic {
    /// The log of the metadata quorum.
    pub const CLUSTER_METADATA: &str = "__cluster_metadata";
    /// Consumer groups and their offsets.
    pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";
    /// The transaction coordinator's state.
    pub const TRANSACTION_STATE: &str = "__transaction_state";
    /// The share coordinator's state.
    pub const SHARE_GROUP_STATE: &str = "__share_group_state";

    /// Whether clients see this topic marked as internal (`Topic.isInternal`).
    pub fn is_internal(topic: &str) -> bool {
        matches!(topic, CONSUMER_OFFSETS | TRANSACTION_STATE | SHARE_GROUP_STATE)
    }
}

/// The longest topic name, in characters: with a partition number and a deletion suffix it must fit in a file name.
pub const TOPIC_NAME_LENGTH_MAX: usize = 249;

/// Why a topic cannot have this name (`Topic.validate`). The texts are what clients are shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTopicName {
    /// The name is the empty string.
    #[error("Topic name is invalid: the empty string is not allowed")]
    Empty,
    /// The name would be a path.
    #[error("Topic name is invalid: '{0}' is not allowed")]
    Dots(String),
    /// The name is longer than [`TOPIC_NAME_LENGTH_MAX`].
    #[error("Topic name is invalid: the length of '{0}' is longer than the max allowed length {TOPIC_NAME_LENGTH_MAX}")]
    TooLong(String),
    /// A character outside of `[a-zA-Z0-9._-]`.
    #[error("Topic name is invalid: '{0}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'")]
    Characters(String),
}

/// Checks a topic's name by Kafka's rules.
pub fn validate_topic_name(name: &str) -> Result<(), InvalidTopicName> {
    if name.is_empty() {
        return Err(InvalidTopicName::Empty);
    }
    if name == "." || name == ".." {
        return Err(InvalidTopicName::Dots(name.to_owned()));
    }
    if name.len() > TOPIC_NAME_LENGTH_MAX {
        return Err(InvalidTopicName::TooLong(name.to_owned()));
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
        return Err(InvalidTopicName::Characters(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names() {
        assert_eq!(validate_topic_name("orders.v1_x-2"), Ok(()));
        assert_eq!(validate_topic_name(&"a".repeat(249)), Ok(()));
        assert_eq!(validate_topic_name(&"a".repeat(250)), Err(InvalidTopicName::TooLong("a".repeat(250))));
        assert_eq!(validate_topic_name(""), Err(InvalidTopicName::Empty));
        assert_eq!(validate_topic_name(".."), Err(InvalidTopicName::Dots("..".into())));
        assert_eq!(validate_topic_name("a b"), Err(InvalidTopicName::Characters("a b".into())));
        assert_eq!(validate_topic_name("é"), Err(InvalidTopicName::Characters("é".into())));
    }
}
