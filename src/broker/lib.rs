//! The synchronous broker: everything between a request's bytes and its answer. It owns no socket, no thread and no clock; the shell calls
//! `Broker::handle` and `Broker::tick` and lends it a place to run what may block.

pub mod api;
mod append;
mod authorized_operations;
mod auto_create;
mod broker;
mod config_checks;
mod connection;
mod controller_host;
mod deadlines;
mod delayed_fetch;
mod endpoints;
mod environment;
mod fetch_session;
mod forward;
mod gather;
mod group_host;
mod group_loader;
pub mod handlers;
pub mod metadata_log;
mod metadata_publisher;
mod partition;
mod partition_map;
mod partitions;
mod producer_ids;
mod request;
mod startup;
mod topic_configs;
mod transaction_host;
mod transaction_loader;
mod transaction_markers;
mod verification;

pub use broker::{Broker, Waker};
pub use connection::{ClientSoftware, Connection, ConnectionInfo, Reply, Responder};
pub use environment::{Blocking, Environment, Loggers, NoLoggers, RunInline};
pub use partition::Partition;
pub use request::RequestContext;
pub use startup::{AdvertisedListener, NodeSettings, StartError};
