//! The controller: what is decided about brokers, topics, partitions, configuration, features, quotas and producer ids.
//!
//! An operation reads the state and returns records with a response; nothing changes until the records are replayed. One file holds one
//! operation and says which part of Kafka's controller it answers for. Time, chance and offsets are arguments.

mod activation;
mod alter_configs;
mod api_error;
mod assignment;
mod broker_heartbeat;
mod config_schema;
mod context;
mod controller;
mod controller_result;
mod create_topics;
mod delete_topics;
mod heartbeats;
mod leader_updates;
mod partition_change;
mod partition_index;
mod placement;
mod producer_ids;
mod reassignment;
mod register_broker;
mod state;

pub use activation::ActivationError;
pub use api_error::{ApiError, RECORDS_PER_USER_OP_MAX};
pub use broker_heartbeat::BrokerHeartbeatReply;
pub use config_schema::{ConfigLayers, ConfigSchema, ConfigSource, EffectiveConfig};
pub use context::{ControllerOptions, Random, RequestContext};
pub use controller::Controller;
pub use controller_result::ControllerResult;
pub use create_topics::CreateTopicsRights;
pub use delete_topics::DeleteTopicsRights;
pub use producer_ids::{PRODUCER_ID_BLOCK_SIZE, ProducerIdsBlock};
pub use register_broker::{BrokerOrigin, BrokerRegistrationReply};
