//! The synchronous broker: everything between a request's bytes and its answer. It owns no socket, no thread and no clock; the shell calls
//! `Broker::handle` and `Broker::tick` and lends it a place to run what may block.

mod connection;
pub mod metadata_log;

pub use connection::{ClientSoftware, Connection, ConnectionInfo, Reply, Responder};
