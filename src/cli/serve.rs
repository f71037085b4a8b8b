//! `ottla serve`: reads the configuration, takes the ports, formats an empty data directory, starts the node and serves until a signal comes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use clap::Args;
use ottla_broker::{AdvertisedListener, Broker, Environment, NodeSettings};
use ottla_config::{BrokerConfig, ConfigFile, ConfigSources, FileFormat, Listener, LoadedConfig, SecurityProtocol, load};
use ottla_io::{Clock, HandleLimit, RealDisk, SystemClock, SystemRng};
use ottla_raft::Endpoint;
use ottla_server::{
    BrokerService, ConnectionSettings, LimitSettings, ListenerSettings, Opening, QUEUED_REQUEST_BYTES_DEFAULT, ServerSettings,
    StartFailure, logging,
};
use parking_lot::Mutex;

use super::format::{Node, format_if_empty};

/// Arguments of `ottla serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The configuration: Kafka's `server.properties`, or TOML with the same keys. Without it: a combined node on 127.0.0.1:9092 with its
    /// data in ./ottla-data.
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Sets one key over the file and the `KAFKA_*` environment.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Serves until a signal comes. A start that fails says why in one sentence.
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
    let _log_control = logging::set_up(&logging::LogSettings::from_lookup(|key| env::var(key).ok())?)?;
    let LoadedConfig { config, warnings } = read_config(args)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    check_served(&config)?;
    if let Err(error) = ottla_server::raise_open_files_limit() {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let settings = server_settings(&config);
    let config = Arc::new(config);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opening_clock = clock.clone();
    let open = move |opening| open(config, opening_clock, opening);
    ottla_server::run(&settings, clock, open, |service, addresses| announce(&service.0, addresses, begin.elapsed()))
}

fn read_config(args: &ServeArgs) -> Result<LoadedConfig, StartFailure> {
    let name = args.config.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let text = match &args.config {
        Some(path) => fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}"))?,
        None => String::new(),
    };
    let file = args.config.is_some().then(|| ConfigFile { name: &name, format: FileFormat::of_name(&name), text: &text });
    let overrides = args.overrides.iter().map(String::as_str).collect();
    Ok(load(&ConfigSources { file, environment: env::vars().collect(), overrides })?)
}

/// What is configured rightly and not served yet is refused rather than half done.
fn check_served(config: &BrokerConfig) -> Result<(), StartFailure> {
    if !(config.process_roles.broker && config.process_roles.controller) {
        return Err("process.roles: only the combined roles broker,controller are served so far".into());
    }
    if config.controller_quorum_voters.len() > 1 {
        return Err("controller.quorum.voters: only a quorum of one node is served so far".into());
    }
    match config.listeners.iter().find(|listener| listener.security_protocol != SecurityProtocol::Plaintext) {
        None => Ok(()),
        Some(listener) => {
            let protocol = listener.security_protocol;
            Err(format!("listener.security.protocol.map: listener {listener} has protocol {protocol}, but only PLAINTEXT is served so far")
                .into())
        }
    }
}

fn server_settings(config: &BrokerConfig) -> ServerSettings {
    let buffer = |bytes: i32| usize::try_from(bytes).ok();
    let count = |number: i32| usize::try_from(number).unwrap_or(0);
    ServerSettings {
        listeners: config.listeners.iter().map(|listener| listener_settings(config, listener)).collect(),
        listen_backlog: u32::try_from(config.socket_listen_backlog_size).unwrap_or(1).max(1),
        queued_request_bytes_max: usize::try_from(config.queued_max_request_bytes).unwrap_or(QUEUED_REQUEST_BYTES_DEFAULT),
        limits: LimitSettings {
            max_connections: count(config.max_connections),
            max_connections_per_ip: count(config.max_connections_per_ip),
            max_connections_per_ip_overrides: config
                .max_connections_per_ip_overrides
                .iter()
                .map(|(host, limit)| (host.clone(), count(*limit)))
                .collect(),
        },
        connection: ConnectionSettings {
            request_bytes_max: count(config.socket_request_max_bytes),
            max_idle: u64::try_from(config.connections_max_idle_ms).ok().map(Duration::from_millis),
            send_buffer_bytes: buffer(config.socket_send_buffer_bytes),
            receive_buffer_bytes: buffer(config.socket_receive_buffer_bytes),
        },
    }
}

fn listener_settings(config: &BrokerConfig, listener: &Listener) -> ListenerSettings {
    let key = format!("listener.name.{}.max.connections", listener.name.to_lowercase());
    ListenerSettings {
        name: listener.name.as_str().into(),
        security_protocol: ottla_server::SecurityProtocol::Plaintext,
        host: listener.host.clone().unwrap_or_default(),
        port: listener.port,
        is_controller_listener: config.controller_listener_names.contains(&listener.name),
        is_inter_broker_listener: config.inter_broker_listener_name == listener.name,
        max_connections: config.originals().get(&key).and_then(|limit| limit.parse().ok()),
    }
}

fn open(config: Arc<BrokerConfig>, clock: Arc<dyn Clock>, opening: Opening) -> Result<Arc<BrokerService>, StartFailure> {
    let disk = Arc::new(RealDisk::new(HandleLimit::of_process()));
    let now_ms = clock.now_ms();
    let advertise = |listeners: &[Listener]| -> Vec<AdvertisedListener> {
        listeners.iter().map(|listener| advertised(listener, &opening.addresses)).collect()
    };
    let advertised_listeners = advertise(&config.advertised_listeners);
    let controller_listeners = advertise(&config.advertised_controller_listeners);
    let controller = controller_listeners.first();
    let node = Node {
        node_id: config.node_id,
        directories: config.log_dirs.iter().chain([&config.metadata_log_dir]).cloned().collect(),
        metadata_directory: config.metadata_log_dir.clone(),
        is_controller: config.process_roles.controller,
        controller_listener: controller.map(|listener| listener.name.clone()).unwrap_or_default(),
        controller_endpoint: controller.map(|listener| Endpoint { host: listener.host.clone(), port: listener.port }),
        has_static_voters: !config.controller_quorum_voters.is_empty(),
    };
    if let Some(formatted) = format_if_empty(&node, disk.as_ref(), &mut SystemRng, now_ms)? {
        tracing::info!(?formatted, "the data directory was empty and is formatted");
    }
    let environment =
        Environment { disk, clock, rng: Arc::new(Mutex::new(Box::new(SystemRng))), blocking: Arc::new(opening.blocking.clone()) };
    let settings = NodeSettings { config, advertised_listeners, controller_listeners };
    Ok(Arc::new(BrokerService(Broker::start(settings, environment, now_ms)?)))
}

/// What others are told of a listener: the port that it really has where the system chose one, and the machine's name where no host is given.
fn advertised(listener: &Listener, bound: &[(Arc<str>, SocketAddr)]) -> AdvertisedListener {
    let port = match listener.port {
        0 => bound.iter().find(|(name, _)| **name == *listener.name).map_or(0, |(_, address)| address.port()),
        port => port,
    };
    AdvertisedListener {
        name: listener.name.clone(),
        host: listener.host.clone().unwrap_or_else(machine_name),
        port,
        security_protocol: listener.security_protocol.id(),
    }
}

fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
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
