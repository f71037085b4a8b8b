//! `ottla serve`: formats an empty data directory, starts the node and serves until a signal comes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use ottla_broker::{AdvertisedListener, Blocking, Broker, Connection, Environment, NodeSettings, Responder};
use ottla_config::BrokerConfig;
use ottla_io::{Clock, HandleLimit, RealDisk, SystemClock, SystemRng};
use ottla_raft::Endpoint;
use ottla_server::{BlockingThreads, ListenerSettings, Opening, SecurityProtocol, ServerSettings, Service, StartFailure};

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
    let dir = args.overrides.iter().find_map(|o| o.strip_prefix("log.dirs=")).unwrap_or("./ottla-data");
    let config = Arc::new(BrokerConfig::stub(dir.into(), port));
    let listeners = listener_settings(&config);
    let settings = ServerSettings::new(listeners);
    ottla_server::raise_open_files_limit()?;
    let _log = ottla_server::logging::set_up(&ottla_server::logging::LogSettings::from_lookup(|key| std::env::var(key).ok())?)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opening_clock = clock.clone();
    ottla_server::run(
        &settings,
        clock,
        move |opening| open(config, opening_clock, opening),
        |addresses| {
            tracing::info!(target: ottla_server::logging::READY_TARGET, "ready: {addresses:?} in {} ms", begin.elapsed().as_millis());
        },
    )
}

fn listener_settings(config: &BrokerConfig) -> Vec<ListenerSettings> {
    let listener = |name: &str, port, is_controller_listener| ListenerSettings {
        name: name.into(),
        security_protocol: SecurityProtocol::Plaintext,
        host: "127.0.0.1".to_owned(),
        port,
        is_controller_listener,
        is_inter_broker_listener: !is_controller_listener,
        max_connections: None,
    };
    vec![listener("PLAINTEXT", config.port, false), listener("CONTROLLER", if config.port == 0 { 0 } else { config.port + 1 }, true)]
}

fn open(config: Arc<BrokerConfig>, clock: Arc<dyn Clock>, opening: Opening) -> Result<Arc<dyn Service>, StartFailure> {
    let disk = Arc::new(RealDisk::new(HandleLimit::of_process()));
    let now_ms = clock.now_ms();
    let advertised = |name: &str| {
        let address: SocketAddr = opening.addresses.iter().find(|(listener, _)| &**listener == name).map(|(_, address)| *address).expect("bound");
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
        blocking: Arc::new(Threads(opening.blocking.clone())),
    };
    let settings = NodeSettings { config, advertised_listeners: vec![advertised("PLAINTEXT")], controller_listeners: vec![controller] };
    let broker = Broker::start(settings, environment, now_ms)?;
    Ok(Arc::new(Node1(broker)))
}

struct Threads(BlockingThreads);

impl Blocking for Threads {
    fn run(&self, task: Box<dyn FnOnce() + Send>) {
        self.0.run(task);
    }
}

/// The broker as the shell's service.
struct Node1(Arc<Broker>);

impl Service for Node1 {
    fn handle(&self, connection: &Arc<Connection>, frame: bytes::Bytes, now_ms: i64, responder: Responder) {
        self.0.handle(connection, frame, now_ms, responder);
    }

    fn disconnected(&self, _connection: &Connection) {}

    fn tick(&self, now_ms: i64) {
        self.0.tick(now_ms);
    }

    fn next_deadline_ms(&self) -> Option<i64> {
        self.0.next_deadline_ms()
    }

    fn set_waker(&self, waker: Box<dyn Fn() + Send + Sync>) {
        self.0.set_waker(waker);
    }

    fn run_background_work(&self, now_ms: i64) -> i64 {
        self.0.background_tick(now_ms)
    }

    fn shut_down(&self, now_ms: i64) {
        self.0.shutdown(now_ms);
    }
}
