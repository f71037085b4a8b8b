//! The shell put together: starts acceptors, the tick and background work around a service, and takes them down in order.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ottla_io::Clock;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::budget::FrameBudget;
use crate::config::ServerSettings;
use crate::connection::Shared;
use crate::limits::{ConnectionCounts, Limits, ListenerLimit};
use crate::listener::{Acceptor, BindError, BoundListeners, resolve_host};
use crate::outbox::Ending;
use crate::registry::Registry;
use crate::service::Service;
use crate::ticker::{self, BackgroundThread};

/// How long requests that were read may take to be answered once the server stops, before the service is told to answer whatever waits;
/// and how long the answers may then take to leave.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// Why the server cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A listener or a limit.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The operating system gives no thread.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
}

/// A running server.
pub struct Server {
    service: Arc<dyn Service>,
    clock: Arc<dyn Clock>,
    registry: Arc<Registry>,
    acceptors: Vec<JoinHandle<()>>,
    tick: JoinHandle<()>,
    background: BackgroundThread,
}

impl Server {
    /// Lets clients in. To be called within a tokio runtime.
    pub fn start(
        settings: &ServerSettings,
        listeners: BoundListeners,
        service: Arc<dyn Service>,
        clock: Arc<dyn Clock>,
    ) -> Result<Server, StartError> {
        let counts = ConnectionCounts::new(limits(settings)?);
        let registry = Arc::new(Registry::default());
        let shared = Arc::new(Shared {
            service: service.clone(),
            clock: clock.clone(),
            budget: FrameBudget::new(settings.queued_request_bytes_max),
            settings: settings.connection.clone(),
            started: Instant::now(),
        });
        let listening = listeners.listen(settings.listen_backlog)?;
        let background = BackgroundThread::start(service.clone(), clock.clone()).map_err(StartError::Thread)?;
        let accept = |(index, socket)| {
            let acceptor = Acceptor::new(socket, index, counts.clone(), registry.clone(), shared.clone());
            tokio::spawn(acceptor.run())
        };
        let acceptors = listening.into_iter().enumerate().map(accept).collect();
        let tick = tokio::spawn(ticker::tick(service.clone(), clock.clone()));
        Ok(Server { service, clock, registry, acceptors, tick, background })
    }

    /// Accepts nobody any more, answers the requests that were read, and shuts the service down.
    pub async fn shut_down(self) {
        for acceptor in self.acceptors {
            acceptor.abort();
        }
        self.registry.end_all(Ending::Drain);
        let drained = timeout(DRAIN_TIMEOUT, self.registry.empty()).await.is_ok();
        self.tick.abort();
        let (service, clock, background) = (self.service, self.clock, self.background);
        let closing = tokio::task::spawn_blocking(move || {
            background.stop();
            service.shut_down(clock.now_ms());
        });
        if closing.await.is_err() {
            tracing::error!("shutting down ended with a panic");
        }
        if !drained && timeout(DRAIN_TIMEOUT, self.registry.empty()).await.is_err() {
            tracing::info!("some clients have not taken their last answers");
        }
    }
}

fn limits(settings: &ServerSettings) -> Result<Limits, BindError> {
    let mut overrides = HashMap::new();
    for (host, max) in &settings.limits.max_connections_per_ip_overrides {
        let address = resolve_host(host).map_err(|source| BindError::UnknownOverride { host: host.clone(), source })?;
        overrides.insert(address, *max);
    }
    let has_others = settings.listeners.len() > 1;
    let listeners = settings.listeners.iter().map(|listener| ListenerLimit {
        max_connections: listener.max_connections,
        is_protected: listener.is_inter_broker_listener && has_others,
    });
    Ok(Limits {
        max_connections: settings.limits.max_connections,
        max_connections_per_ip: settings.limits.max_connections_per_ip,
        max_connections_per_ip_overrides: overrides,
        listeners: listeners.collect(),
    })
}
