//! Listeners: `listeners`, `advertised.listeners` and `listener.security.protocol.map` as values (`SocketServerConfigs`,
//! `AbstractKafkaConfig`). Binds and resolves nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use crate::invalid::InvalidConfig;

/// How a listener's connections are protected, with Kafka's numbers (`SecurityProtocol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum SecurityProtocol {
    /// Neither encrypted nor authenticated.
    Plaintext = 0,
    /// TLS.
    Ssl = 1,
    /// SASL without encryption.
    SaslPlaintext = 2,
    /// SASL over TLS.
    SaslSsl = 3,
}

impl SecurityProtocol {
    /// The number in metadata records and responses.
    pub fn id(self) -> i16 {
        self as i16
    }

    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            SecurityProtocol::Plaintext => "PLAINTEXT",
            SecurityProtocol::Ssl => "SSL",
            SecurityProtocol::SaslPlaintext => "SASL_PLAINTEXT",
            SecurityProtocol::SaslSsl => "SASL_SSL",
        }
    }

    /// The protocol of that name, in capitals or not.
    pub fn from_name(name: &str) -> Option<SecurityProtocol> {
        use SecurityProtocol::*;
        [Plaintext, Ssl, SaslPlaintext, SaslSsl].into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(name))
    }

    /// Whether clients authenticate with SASL.
    pub fn uses_sasl(self) -> bool {
        matches!(self, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl)
    }
}

impl fmt::Display for SecurityProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One address that the node listens on, or that it tells others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The name, in capitals.
    pub name: String,
    /// How it is protected.
    pub security_protocol: SecurityProtocol,
    /// A name or an address, IPv6 without brackets; `None` for all addresses of the machine.
    pub host: Option<String>,
    /// The port; 0 lets the system choose.
    pub port: u16,
}

impl Listener {
    /// The host as an address, if it is one.
    fn ip(&self) -> Option<IpAddr> {
        self.host.as_deref()?.parse().ok()
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_deref() {
            Some(host) if host.contains(':') => write!(f, "{}://[{host}]:{}", self.name, self.port),
            host => write!(f, "{}://{}:{}", self.name, host.unwrap_or_default(), self.port),
        }
    }
}

/// Which protocol each listener name has.
pub type ProtocolMap = BTreeMap<String, SecurityProtocol>;

/// Reads `NAME:PROTOCOL,...`.
pub(crate) fn parse_protocol_map(key: &str, text: &str) -> Result<ProtocolMap, InvalidConfig> {
    let mut map = ProtocolMap::new();
    for (name, protocol) in parse_csv_map(key, text)? {
        let protocol = SecurityProtocol::from_name(&protocol)
            .ok_or_else(|| InvalidConfig::rule(key, format!("Invalid security protocol `{protocol}` defined in {key}")))?;
        map.insert(name.to_uppercase(), protocol);
    }
    Ok(map)
}

/// Reads `a:1,b:2` (`Csv.parseCsvMap`): the last colon of an item counts.
pub(crate) fn parse_csv_map(key: &str, text: &str) -> Result<Vec<(String, String)>, InvalidConfig> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let pairs = items.map(|item| match item.rsplit_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => {
            Err(InvalidConfig::rule(key, format!("Error parsing configuration property '{key}': {item} is not of the form name:value")))
        }
    });
    pairs.collect()
}

/// Reads `NAME://host:port` items. Names must differ.
pub(crate) fn parse_listeners(key: &'static str, items: &[String], protocols: &ProtocolMap) -> Result<Vec<Listener>, InvalidConfig> {
    let failed = |why: String| InvalidConfig::rule(key, format!("Error creating broker listeners from '[{}]': {why}", items.join(", ")));
    let mut listeners: Vec<Listener> = Vec::with_capacity(items.len());
    for item in items {
        let listener = parse_listener(item, protocols).map_err(failed)?;
        if listeners.iter().any(|other| other.name == listener.name) {
            return Err(failed(format!("Each listener must have a different name, listeners: [{}]", items.join(", "))));
        }
        listeners.push(listener);
    }
    Ok(listeners)
}

fn parse_listener(text: &str, protocols: &ProtocolMap) -> Result<Listener, String> {
    let unable = || format!("Unable to parse {text} to a broker endpoint");
    let (name, address) = text.rsplit_once("://").ok_or_else(unable)?;
    let (host, port) = address.rsplit_once(':').ok_or_else(unable)?;
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.strip_suffix(']').ok_or_else(unable)?,
        None => host,
    };
    let port = port.parse().map_err(|_| unable())?;
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_%:".contains(&byte)) {
        return Err(unable());
    }
    let name = name.to_uppercase();
    let security_protocol = *protocols.get(&name).ok_or_else(|| format!("No security protocol defined for listener {name}"))?;
    Ok(Listener { name, security_protocol, host: (!host.is_empty()).then(|| host.to_owned()), port })
}

/// Two listeners may share a port only as an IPv4 and an IPv6 address. Port 0 does not count.
pub(crate) fn check_ports(key: &'static str, listeners: &[Listener]) -> Result<(), InvalidConfig> {
    for (index, listener) in listeners.iter().enumerate() {
        let mut others = listeners[..index].iter().filter(|other| other.port == listener.port && other.port != 0);
        let is_pair = |other: &Listener| ip_versions_differ(listener, other);
        let first = others.next();
        if first.is_some_and(|other| !is_pair(other)) || others.next().is_some() {
            let all = listeners.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let unless = " unless exactly one listener has an IPv4 address and the other IPv6 address";
            let unless = if listener.ip().is_some() { unless } else { "" };
            let message = format!("Each listener must have a different port{unless}, listeners: [{all}]");
            let message = format!("Error creating broker listeners from '[{all}]': {message}");
            return Err(InvalidConfig::rule(key, message));
        }
    }
    Ok(())
}

fn ip_versions_differ(one: &Listener, other: &Listener) -> bool {
    matches!((one.ip(), other.ip()), (Some(one), Some(other)) if one.is_ipv4() != other.is_ipv4())
}

/// Whether the host is `0.0.0.0`, which nobody can connect to from elsewhere.
pub(crate) fn is_any_ipv4(listener: &Listener) -> bool {
    listener.host.as_deref() == Some("0.0.0.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocols() -> ProtocolMap {
        parse_protocol_map("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,controller:PLAINTEXT,EXT:SASL_SSL").unwrap()
    }

    fn parse(text: &str) -> Result<Vec<Listener>, String> {
        let items: Vec<String> = text.split(',').map(Into::into).collect();
        let listeners = parse_listeners("listeners", &items, &protocols()).map_err(|error| error.to_string())?;
        check_ports("listeners", &listeners).map_err(|error| error.to_string())?;
        Ok(listeners)
    }

    #[test]
    fn listeners_are_read() {
        let found = parse("PLAINTEXT://:9092,CONTROLLER://localhost:9093,ext://[::1]:9094").unwrap();
        assert_eq!(
            found[0],
            Listener { name: "PLAINTEXT".to_owned(), security_protocol: SecurityProtocol::Plaintext, host: None, port: 9092 }
        );
        assert_eq!(found[1].host.as_deref(), Some("localhost"));
        assert_eq!((found[2].host.as_deref(), found[2].security_protocol), (Some("::1"), SecurityProtocol::SaslSsl));
        assert_eq!(found[2].to_string(), "EXT://[::1]:9094");
    }

    #[test]
    fn what_is_wrong_with_a_listener_is_said() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(error("FOO://:1"), "Error creating broker listeners from '[FOO://:1]': No security protocol defined for listener FOO");
        assert_eq!(error("9092"), "Error creating broker listeners from '[9092]': Unable to parse 9092 to a broker endpoint");
        assert!(error("PLAINTEXT://:99999").contains("Unable to parse"));
        assert!(error("PLAINTEXT://a:1,PLAINTEXT://b:2").contains("different name"));
        assert!(error("PLAINTEXT://:1,EXT://:1").contains("different port"));
    }

    #[test]
    fn an_ipv4_and_an_ipv6_address_may_share_a_port() {
        assert!(parse("PLAINTEXT://127.0.0.1:1,EXT://[::1]:1").is_ok());
        assert!(parse("PLAINTEXT://127.0.0.1:1,EXT://127.0.0.2:1").is_err());
        assert!(parse("PLAINTEXT://:0,EXT://:0").is_ok());
    }

    #[test]
    fn the_protocol_map_is_checked() {
        let error = parse_protocol_map("listener.security.protocol.map", "A:B").unwrap_err();
        assert_eq!(error.to_string(), "Invalid security protocol `B` defined in listener.security.protocol.map");
        assert!(parse_protocol_map("listener.security.protocol.map", "A").is_err());
    }
}
