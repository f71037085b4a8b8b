//! `ottla serve`: formats an empty data directory, starts the node and serves until a signal comes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ottla_broker::{AdvertisedListener, Broker, Environment, NodeSettings};
use ottla_config::{BrokerConfig, Listener};
use ottla_io::{Clock, HandleLimit, RealDisk, SystemClock, SystemRng};
use ottla_raft::Endpoint;
use ottla_server::logging::{self, LogControl, LogSettings};
use ottla_server::{BrokerService, Opening, ServerSettings, StartFailure};
use parking_lot::Mutex;

use super::configuration;
use super::format::{Node, format_if_empty};

/// Arguments of `ottla serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The configuration: Kafka's server.properties, or TOML with the same keys if the name ends in .toml. Without it: a combined node on
    /// 127.0.0.1:9092 with its data in ./ottla-data. Variables such as KAFKA_NUM_PARTITIONS set keys over the file.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets one key over the file and the environment; may be given many times.
    #[arg(short, long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Serves until a signal comes.
pub fn run(args: &ServeArgs) -> ExitCode {
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ottla: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &ServeArgs) -> Result<(), StartFailure> {
    let begin = Instant::now();
    let loaded = configuration::read(args.config.as_deref(), &args.overrides)?;
    let log_control = logging::set_up(&LogSettings::from_lookup(|name| std::env::var(name).ok())?)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    if let Err(error) = ottla_server::raise_open_files_limit() {
        tracing::warn!("the limit of open files cannot be raised: {error}");
    }
    let config = Arc::new(loaded.config);
    check_served(&config)?;
    let settings = ServerSettings::from_config(&config)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opening_clock = clock.clone();
    ottla_server::run(
        &settings,
        clock,
        move |opening| open(config, opening_clock, Arc::new(log_control), &opening),
        |service, addresses| announce(&service.0, addresses, begin.elapsed()),
    )
}

fn open(
    config: Arc<BrokerConfig>,
    clock: Arc<dyn Clock>,
    loggers: Arc<LogControl>,
    opening: &Opening,
) -> Result<Arc<BrokerService>, StartFailure> {
    let disk = Arc::new(RealDisk::new(HandleLimit::of_process()));
    let now_ms = clock.now_ms();
    let advertised_listeners = advertised(&config.advertised_listeners, &opening.addresses);
    let controller_listeners = advertised(&config.advertised_controller_listeners, &opening.addresses);
    let controller = controller_listeners.first();
    let controller_endpoint = controller.map(|listener| Endpoint { host: listener.host.clone(), port: listener.port });
    let node = Node { controller_endpoint, ..Node::of(&config) };
    if let Some(formatted) = format_if_empty(&node, disk.as_ref(), &mut SystemRng, now_ms)? {
        for (directory, _) in &formatted.directories {
            tracing::info!("{} was not formatted and is now", directory.display());
        }
    }
    let environment =
        Environment { disk, clock, rng: Arc::new(Mutex::new(Box::new(SystemRng))), blocking: Arc::new(opening.blocking.clone()), loggers };
    let settings = NodeSettings { config, advertised_listeners, controller_listeners };
    Ok(Arc::new(BrokerService(Broker::start(settings, environment, now_ms)?)))
}

/// What others are told of listeners: the machine's name where the configuration names no host, and the port that the operating system
/// chose where it says 0.
fn advertised(listeners: &[Listener], addresses: &[(Arc<str>, SocketAddr)]) -> Vec<AdvertisedListener> {
    let bound_port = |listener: &Listener| addresses.iter().find(|(name, _)| **name == *listener.name).map(|(_, address)| address.port());
    let advertise = |listener: &Listener| AdvertisedListener {
        name: listener.name.clone(),
        host: listener.host.clone().unwrap_or_else(ottla_server::host_name),
        port: if listener.port == 0 { bound_port(listener).unwrap_or(0) } else { listener.port },
        security_protocol: listener.security_protocol.id(),
    };
    listeners.iter().map(advertise).collect()
}

/// What is configured rightly and not served yet is refused rather than half done.
fn check_served(config: &BrokerConfig) -> Result<(), StartFailure> {
    if !(config.process_roles.broker && config.process_roles.controller) {
        return Err("process.roles: only a node that is broker and controller is served so far: process.roles=broker,controller".into());
    }
    if config.controller_quorum_voters.len() > 1 {
        return Err("controller.quorum.voters: only a quorum of this node alone is served so far".into());
    }
    Ok(())
}

/// The lines that people and tools wait for, whatever is logged: the second has the words in which Kafka says the same, since container
/// modules look for them on standard output.
fn announce(broker: &Broker, addresses: &[(Arc<str>, SocketAddr)], startup: Duration) {
    let listeners: Vec<String> = addresses.iter().map(|(name, address)| format!("{name}://{address}")).collect();
    let directories: Vec<String> = broker.config().log_dirs.iter().map(|directory| directory.display().to_string()).collect();
    println!(
        "Ottla {} (Kafka 4.4 protocol) ready: {}, cluster {}, node {}, data {}, {} ms",
        env!("CARGO_PKG_VERSION"),
        listeners.join(","),
        broker.cluster_id(),
        broker.node_id(),
        directories.join(","),
        startup.as_millis(),
    );
    println!("[KafkaRaftServer nodeId={}] Kafka Server started: Transitioning from RECOVERY to RUNNING", broker.node_id());
}
