//! The asynchronous shell: listeners, connections, the order of answers, budgets and limits, background work, signals, logging. It is the only
//! place that names tokio. It knows nothing of what a request asks: between a frame and its answer stands a [`Service`].

mod broker_service;
mod budget;
mod cold_read;
mod config;
mod connection;
mod frame;
mod limits;
mod listener;
pub mod logging;
mod outbox;
mod outgoing;
mod process;
mod registry;
mod server;
mod service;
mod signals;
mod ticker;
mod transport;

pub use broker_service::BrokerService;
pub use config::{ConnectionSettings, LimitSettings, ListenerSettings, QUEUED_REQUEST_BYTES_DEFAULT, ServerSettings, SettingsError};
pub use listener::{BindError, BoundListeners};
pub use process::{BlockingThreads, Opening, StartFailure, host_name, raise_open_files_limit, run};
pub use server::{Server, StartError};
pub use service::Service;
