//! `ottla serve`: formats an empty data directory, starts the node and serves until a signal comes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ottla_broker::{AdvertisedListener, Broker, Environment, NodeSettings};
use ottla_config::BrokerConfig;
use ottla_io::{Clock, HandleLimit, RealDisk, SystemClock, SystemRng};
use ottla_raft::Endpoint;
use ottla_server::{BrokerService, ListenerSettings, Opening, SecurityProtocol, ServerSettings, StartFailure};

use super::format::{Node, format_if_empty};

/// Arguments of `ottla serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The configuration: Kafka's `server.properties`, or TOML with the same keys. Without it: a combined node on 127.0.0.1:9092 with its
    /// data in ./ottla-data.
    #[arg(short, long)]
    config: Option<PathBuf>,
    /// Sets one key over the file and the environment.
    #[arg(long = "override", value_name = "KEY=VALUE")]
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
    let port = args.overrides.iter().find_map(|o| o.strip_prefix("port=")).map_or(9092, |p| p.parse().unwrap());
    let dir = args.overrides.iter().find_map(|o| o.strip_prefix("log.dirs=")).unwrap_or("./ottla-data").to_owned();
    let mut dir = dir.to_owned();
    let mut port = port;
    let mut controller_port = if port == 0 { 0 } else { port + 1 };
    if let Some(path) = &args.config {
        for line in std::fs::read_to_string(path)?.lines() {
            if let Some(v) = line.strip_prefix("log.dirs=").or(line.strip_prefix("log.dir=")) {
                dir = v.to_owned();
            }
            if let Some(v) = line.strip_prefix("listeners=") {
                if let Some(c) = v.split(',').find(|l| l.starts_with("CONTROLLER")).and_then(|l| l.rsplit(':').next()) {
                    controller_port = c.parse().unwrap();
                }
                port = v.split(',').find(|l| !l.starts_with("CONTROLLER")).and_then(|l| l.rsplit(':').next()).unwrap().parse().unwrap();
            }
        }
    }
    let config = Arc::new(BrokerConfig::stub(dir.into(), port));
    let listeners = listener_settings(&config, controller_port);
    let settings = ServerSettings::new(listeners);
    ottla_server::raise_open_files_limit()?;
    let _log = ottla_server::logging::set_up(&ottla_server::logging::LogSettings::from_lookup(|key| std::env::var(key).ok())?)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opening_clock = clock.clone();
    ottla_server::run(
        &settings,
        clock,
        move |opening| open(config, opening_clock, opening),
        |service, addresses| announce(&service.0, addresses, begin.elapsed()),
    )
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

fn listener_settings(config: &BrokerConfig, controller_port: u16) -> Vec<ListenerSettings> {
    let listener = |name: &str, port, is_controller_listener| ListenerSettings {
        name: name.into(),
        security_protocol: SecurityProtocol::Plaintext,
        host: "127.0.0.1".to_owned(),
        port,
        is_controller_listener,
        is_inter_broker_listener: !is_controller_listener,
        max_connections: None,
    };
    vec![listener("PLAINTEXT", config.port, false), listener("CONTROLLER", controller_port, true)]
}

fn open(config: Arc<BrokerConfig>, clock: Arc<dyn Clock>, opening: Opening) -> Result<Arc<BrokerService>, StartFailure> {
    let disk = Arc::new(RealDisk::new(HandleLimit::of_process()));
    let now_ms = clock.now_ms();
    let advertised = |name: &str| {
        let address: SocketAddr =
            opening.addresses.iter().find(|(listener, _)| &**listener == name).map(|(_, address)| *address).expect("bound");
        AdvertisedListener { name: name.to_owned(), host: address.ip().to_string(), port: address.port(), security_protocol: 0 }
    };
    let controller = advertised("CONTROLLER");
    let node = Node {
        node_id: config.node_id,
        directories: config.log_dirs.iter().cloned().collect(),
        metadata_directory: config.metadata_log_dir.clone(),
        is_controller: true,
        controller_listener: controller.name.clone(),
        controller_endpoint: Some(Endpoint { host: controller.host.clone(), port: controller.port }),
        has_static_voters: false,
    };
    format_if_empty(&node, disk.as_ref(), &mut SystemRng, now_ms)?;
    let environment = Environment {
        disk,
        clock,
        rng: Arc::new(parking_lot::Mutex::new(Box::new(SystemRng))),
        blocking: Arc::new(opening.blocking.clone()),
    };
    let settings = NodeSettings { config, advertised_listeners: vec![advertised("PLAINTEXT")], controller_listeners: vec![controller] };
    let broker = Broker::start(settings, environment, now_ms)?;
    Ok(Arc::new(BrokerService(broker)))
}
