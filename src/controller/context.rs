//! What an operation is given besides its request: time, chance and the node's settings.

use ottla_model::{BrokerId, Uuid};

/// A source of random numbers.
pub type Random<'a> = &'a mut dyn FnMut() -> u64;

/// The surroundings of one operation.
pub struct RequestContext<'a> {
    /// The time in ms.
    pub now_ms: i64,
    /// The offset that the next record of the metadata log gets.
    pub next_write_offset: i64,
    /// Random numbers for topic ids and placement.
    pub random: Random<'a>,
}

impl RequestContext<'_> {
    /// An id for a topic: random, and none of the reserved ones.
    pub(crate) fn random_uuid(&mut self) -> Uuid {
        loop {
            let (high, low) = ((self.random)(), (self.random)());
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&high.to_be_bytes());
            bytes[8..].copy_from_slice(&low.to_be_bytes());
            let id = Uuid::from_random_bytes(bytes);
            if !id.is_reserved() {
                return id;
            }
        }
    }
}

/// The settings of a controller, each named by its key.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// `node.id`.
    pub node_id: BrokerId,
    /// The cluster's id.
    pub cluster_id: String,
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `default.replication.factor`.
    pub default_replication_factor: i16,
    /// `broker.session.timeout.ms`.
    pub broker_session_timeout_ms: i64,
    /// `delete.topic.enable`.
    pub delete_topic_enable: bool,
    /// The node ids of the quorum's voters.
    pub quorum_node_ids: Vec<BrokerId>,
}
