//! Plain values that every layer shares: ids, names and error codes. Nothing here does I/O, knows the time or decides anything.

mod error_code;
mod id;
mod topic;
mod uuid;

pub use error_code::ErrorCode;
pub use id::{BrokerId, LeaderEpoch, ProducerId};
pub use topic::{InvalidTopicName, TOPIC_NAME_LENGTH_MAX, TopicPartition, internal_topic, validate_topic_name};
pub use uuid::{ParseUuidError, Uuid};
