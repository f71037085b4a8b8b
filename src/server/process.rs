//! The process around the server: its threads, its file descriptors, and its life from the first port to the last signal.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ottla_broker::Blocking;
use ottla_io::Clock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::config::ServerSettings;
use crate::listener::BoundListeners;
use crate::server::Server;
use crate::service::Service;
use crate::signals::StopSignals;

/// Threads for work that waits for disks; idle ones end by themselves.
const BLOCKING_THREADS_MAX: usize = 32;

/// What ends a start: one sentence that names the key, the file or the port.
pub type StartFailure = Box<dyn Error + Send + Sync>;

/// What is known when a service is to be opened.
#[derive(Debug)]
pub struct Opening {
    /// The listeners' names and the addresses that they really have.
    pub addresses: Vec<(Arc<str>, SocketAddr)>,
    /// Where blocking work can run.
    pub blocking: BlockingThreads,
}

/// Threads for work that may wait for disks.
#[derive(Clone)]
pub struct BlockingThreads(Handle);

impl Blocking for BlockingThreads {
    fn run(&self, task: Box<dyn FnOnce() + Send>) {
        self.0.spawn_blocking(task);
    }
}

impl fmt::Debug for BlockingThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingThreads")
    }
}

/// Raises the limit of open files to what the process may have at most.
pub fn raise_open_files_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?)
}

/// The machine's name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Takes the ports, opens the service, serves, and returns once a signal has stopped it in order. `ready` is called when clients are let in.
/// A second signal ends the process at once.
pub fn run<S: Service>(
    settings: &ServerSettings,
    clock: Arc<dyn Clock>,
    open: impl FnOnce(Opening) -> Result<Arc<S>, StartFailure> + Send + 'static,
    ready: impl FnOnce(&S, &[(Arc<str>, SocketAddr)]),
) -> Result<(), StartFailure> {
    let listeners = BoundListeners::bind(settings)?;
    let addresses = listeners.addresses();
    let runtime = runtime().map_err(|error| format!("the threads of the server cannot be started: {error}"))?;
    let outcome = runtime.block_on(async {
        let mut signals = StopSignals::new().map_err(|error| format!("signals cannot be received: {error}"))?;
        let opening = Opening { addresses: addresses.clone(), blocking: BlockingThreads(Handle::current()) };
        let opened = tokio::task::spawn_blocking(move || open(opening));
        let service = tokio::select! {
            opened = opened => opened??,
            // Nothing was promised to any client yet, and what is on disk is what a crash would leave: there is nothing to wait for.
            signal = signals.next() => std::process::exit(signal.exit_code()),
        };
        let server = Server::start(settings, listeners, service.clone(), clock)?;
        ready(&service, &addresses);
        let first = signals.next().await;
        tracing::info!("{} received: shutting down", first.name());
        let stopping = tokio::spawn(server.shut_down());
        tokio::select! {
            stopped = stopping => stopped.map_err(StartFailure::from),
            second = signals.next() => std::process::exit(second.exit_code()),
        }
    });
    // What still runs on blocking threads has nothing left to do that matters: the service is shut down.
    runtime.shutdown_timeout(Duration::ZERO);
    outcome
}

fn runtime() -> io::Result<Runtime> {
    let workers = std::thread::available_parallelism()?.get();
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("ottla-worker")
        .enable_all()
        .build()
}
