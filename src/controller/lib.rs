//! The controller: what is decided about brokers, topics, partitions, configuration, features, quotas and producer ids.
//!
//! An operation reads the state and returns records with a response; nothing changes until the records are replayed. One file holds one
//! operation and says which part of Kafka's controller it answers for. Time, chance and offsets are arguments.

mod activation;
mod alter_configs;
mod alter_configs_request;
mod alter_partition;
mod api_error;
mod assign_replicas_to_dirs;
mod assignment;
mod broker_heartbeat;
mod client_quotas;
mod config_schema;
mod context;
mod controller;
mod controller_result;
mod create_partitions;
mod create_topics;
mod delete_topics;
mod elect_leaders;
mod heartbeats;
mod leader_updates;
mod node_registrations;
mod partition_change;
mod partition_index;
mod partition_reassignments;
mod placement;
mod producer_ids;
mod reassignment;
mod register_broker;
mod state;
mod update_features;

#[cfg(test)]
mod scenarios;

pub use activation::ActivationError;
pub use alter_configs_request::{AlterConfigsChecks, LogLevels};
pub use api_error::{ApiError, RECORDS_PER_USER_OP_MAX};
pub use broker_heartbeat::BrokerHeartbeatReply;
pub use client_quotas::describe_client_quotas;
pub use config_schema::{ConfigSchema, KafkaConfigSchema};
pub use context::{ControllerOptions, Random, RequestContext};
pub use controller::Controller;
pub use controller_result::ControllerResult;
pub use create_topics::CreateTopicsRights;
pub use delete_topics::DeleteTopicsRights;
pub use ottla_config::{EffectiveTopicConfig as EffectiveConfig, TopicLayers as ConfigLayers};
pub use producer_ids::{PRODUCER_ID_BLOCK_SIZE, ProducerIdsBlock};
pub use register_broker::{BrokerOrigin, BrokerRegistrationReply};
