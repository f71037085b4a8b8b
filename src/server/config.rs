//! What the shell takes from the configuration, in its own types; each field names Kafka's key.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How bytes travel on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext,
}

impl fmt::Display for SecurityProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecurityProtocol::Plaintext => f.write_str("PLAINTEXT"),
        }
    }
}

/// One entry of `listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSettings {
    /// The name, e.g. `PLAINTEXT` or `INTERNAL`.
    pub name: Arc<str>,
    /// From `listener.security.protocol.map`.
    pub security_protocol: SecurityProtocol,
    /// A name or an address; empty for all interfaces.
    pub host: String,
    /// 0 lets the operating system choose.
    pub port: u16,
    /// Whether it is one of `controller.listener.names`.
    pub is_controller_listener: bool,
    /// Whether it is `inter.broker.listener.name`.
    pub is_inter_broker_listener: bool,
    /// `listener.name.<name>.max.connections`.
    pub max_connections: Option<usize>,
}

/// How many connections there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// `max.connections`.
    pub max_connections: usize,
    /// `max.connections.per.ip`.
    pub max_connections_per_ip: usize,
    /// `max.connections.per.ip.overrides`: host names or addresses with their limits.
    pub max_connections_per_ip_overrides: Vec<(String, usize)>,
}

impl Default for LimitSettings {
    fn default() -> LimitSettings {
        LimitSettings {
            max_connections: i32::MAX as usize,
            max_connections_per_ip: i32::MAX as usize,
            max_connections_per_ip_overrides: Vec::new(),
        }
    }
}

/// What holds for each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `connections.max.idle.ms`; `None` for ever.
    pub max_idle: Option<Duration>,
    /// `socket.send.buffer.bytes`; `None` for the operating system's choice.
    pub send_buffer_bytes: Option<usize>,
    /// `socket.receive.buffer.bytes`; `None` for the operating system's choice.
    pub receive_buffer_bytes: Option<usize>,
}

impl Default for ConnectionSettings {
    /// Kafka's defaults.
    fn default() -> ConnectionSettings {
        ConnectionSettings {
            request_bytes_max: 100 * 1024 * 1024,
            max_idle: Some(Duration::from_secs(600)),
            send_buffer_bytes: Some(100 * 1024),
            receive_buffer_bytes: Some(100 * 1024),
        }
    }
}

/// The frames in memory at once when `queued.max.request.bytes` is not set, where Kafka knows no bound.
pub const QUEUED_REQUEST_BYTES_DEFAULT: usize = 512 * 1024 * 1024;

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `listeners`.
    pub listeners: Vec<ListenerSettings>,
    /// `socket.listen.backlog.size`.
    pub listen_backlog: u32,
    /// `queued.max.request.bytes`.
    pub queued_request_bytes_max: usize,
    /// How many connections.
    pub limits: LimitSettings,
    /// What each may do.
    pub connection: ConnectionSettings,
}

impl ServerSettings {
    /// Kafka's defaults for these listeners.
    pub fn new(listeners: Vec<ListenerSettings>) -> ServerSettings {
        ServerSettings {
            listeners,
            listen_backlog: 50,
            queued_request_bytes_max: QUEUED_REQUEST_BYTES_DEFAULT,
            limits: LimitSettings::default(),
            connection: ConnectionSettings::default(),
        }
    }
}
