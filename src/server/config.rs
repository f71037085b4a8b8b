//! What the shell takes from the configuration, in its own types; each field names Kafka's key.

use std::sync::Arc;
use std::time::Duration;

use ottla_config::{BrokerConfig, Listener, SecurityProtocol};
use thiserror::Error;

/// What the configuration asks for and the shell does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A protocol other than PLAINTEXT.
    #[error("listeners: listener {listener} has the security protocol {protocol}, which Ottla does not serve yet; it serves PLAINTEXT")]
    UnservedProtocol {
        /// The listener.
        listener: String,
        /// Its protocol.
        protocol: SecurityProtocol,
    },
    /// A listener's own limit.
    #[error("{key}={value}: expected a number above 0")]
    ListenerLimit {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
}

/// One entry of `listeners`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSettings {
    /// The name, e.g. `PLAINTEXT` or `INTERNAL`.
    pub name: Arc<str>,
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

    /// What a node's configuration says. Kafka's `num.network.threads` and `num.io.threads` have no counterpart: there is one worker per core.
    pub fn from_config(config: &BrokerConfig) -> Result<ServerSettings, SettingsError> {
        let listeners = config.listeners.iter().map(|listener| listener_settings(config, listener)).collect::<Result<_, _>>()?;
        let overrides = config.max_connections_per_ip_overrides.iter();
        Ok(ServerSettings {
            listeners,
            listen_backlog: config.socket_listen_backlog_size.unsigned_abs(),
            queued_request_bytes_max: positive(config.queued_max_request_bytes).unwrap_or(QUEUED_REQUEST_BYTES_DEFAULT),
            limits: LimitSettings {
                max_connections: count(config.max_connections),
                max_connections_per_ip: count(config.max_connections_per_ip),
                max_connections_per_ip_overrides: overrides.map(|(host, max)| (host.clone(), count(*max))).collect(),
            },
            connection: ConnectionSettings {
                request_bytes_max: count(config.socket_request_max_bytes),
                max_idle: u64::try_from(config.connections_max_idle_ms).ok().map(Duration::from_millis),
                send_buffer_bytes: positive(i64::from(config.socket_send_buffer_bytes)),
                receive_buffer_bytes: positive(i64::from(config.socket_receive_buffer_bytes)),
            },
        })
    }
}

fn listener_settings(config: &BrokerConfig, listener: &Listener) -> Result<ListenerSettings, SettingsError> {
    if listener.security_protocol != SecurityProtocol::Plaintext {
        let protocol = listener.security_protocol;
        return Err(SettingsError::UnservedProtocol { listener: listener.name.clone(), protocol });
    }
    Ok(ListenerSettings {
        name: listener.name.as_str().into(),
        host: listener.host.clone().unwrap_or_default(),
        port: listener.port,
        is_controller_listener: config.controller_listener_names.contains(&listener.name),
        is_inter_broker_listener: config.inter_broker_listener_name == listener.name,
        max_connections: listener_limit(config, listener)?,
    })
}

fn listener_limit(config: &BrokerConfig, listener: &Listener) -> Result<Option<usize>, SettingsError> {
    let key = format!("listener.name.{}.max.connections", listener.name.to_lowercase());
    let Some(value) = config.originals().get(&key) else { return Ok(None) };
    match value.trim().parse() {
        Ok(max @ 1..) => Ok(Some(max)),
        Ok(0) | Err(_) => Err(SettingsError::ListenerLimit { key, value: value.clone() }),
    }
}

/// A number that Kafka keeps from being negative.
fn count(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// A number for which Kafka takes anything below 1 as "not set".
fn positive(value: i64) -> Option<usize> {
    usize::try_from(value).ok().filter(|&value| value > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(overrides: &[&str]) -> Result<ServerSettings, SettingsError> {
        let sources = ottla_config::ConfigSources { overrides: overrides.to_vec(), ..ottla_config::ConfigSources::default() };
        ServerSettings::from_config(&ottla_config::load(&sources).unwrap().config)
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let listener = |name: &str, port| ListenerSettings {
            name: name.into(),
            host: "127.0.0.1".to_owned(),
            port,
            is_controller_listener: name == "CONTROLLER",
            is_inter_broker_listener: name == "PLAINTEXT",
            max_connections: None,
        };
        assert_eq!(settings(&[]).unwrap(), ServerSettings::new(vec![listener("PLAINTEXT", 9092), listener("CONTROLLER", 9093)]));
    }

    #[test]
    fn keys_reach_their_settings() {
        let settings = settings(&[
            "listeners=PLAINTEXT://:19092,CONTROLLER://localhost:0",
            "listener.name.plaintext.max.connections=7",
            "connections.max.idle.ms=-1",
            "socket.send.buffer.bytes=-1",
            "socket.receive.buffer.bytes=4096",
            "max.connections=5",
            "max.connections.per.ip=4",
            "max.connections.per.ip.overrides=127.0.0.1:3,localhost:2",
            "socket.request.max.bytes=1000",
            "queued.max.request.bytes=2000",
        ])
        .unwrap();
        assert_eq!((settings.listeners[0].host.as_str(), settings.listeners[0].max_connections), ("", Some(7)));
        assert_eq!(settings.listeners[1].port, 0);
        let connection =
            ConnectionSettings { request_bytes_max: 1000, max_idle: None, send_buffer_bytes: None, receive_buffer_bytes: Some(4096) };
        assert_eq!((settings.connection, settings.queued_request_bytes_max), (connection, 2000));
        let limits = LimitSettings {
            max_connections: 5,
            max_connections_per_ip: 4,
            max_connections_per_ip_overrides: vec![("127.0.0.1".to_owned(), 3), ("localhost".to_owned(), 2)],
        };
        assert_eq!(settings.limits, limits);
    }

    #[test]
    fn what_is_not_served_is_said() {
        let error = settings(&[
            "listeners=SSL://:9092,CONTROLLER://:9093",
            "listener.security.protocol.map=SSL:SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name=SSL",
        ]);
        let expected = "listeners: listener SSL has the security protocol SSL, which Ottla does not serve yet; it serves PLAINTEXT";
        assert_eq!(error.unwrap_err().to_string(), expected);
        let error = settings(&["listener.name.plaintext.max.connections=0"]).unwrap_err().to_string();
        assert_eq!(error, "listener.name.plaintext.max.connections=0: expected a number above 0");
    }
}
