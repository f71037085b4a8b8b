//! Addresses in configuration values: `host:port`, `id@host:port`. Resolves nothing.

use ottla_model::BrokerId;

/// A host and a port. An IPv6 address has no brackets here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl HostPort {
    /// Reads `host:port` or `[address]:port`.
    pub fn parse(text: &str) -> Option<HostPort> {
        let (host, port) = text.trim().rsplit_once(':')?;
        let host = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.strip_suffix(']')?,
            None if host.contains(':') => return None,
            None => host,
        };
        if !is_valid_host(host) {
            return None;
        }
        Some(HostPort { host: host.to_owned(), port: port.parse().ok()? })
    }
}

/// A voter of `controller.quorum.voters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumVoter {
    /// The controller's node id.
    pub id: BrokerId,
    /// Its controller listener.
    pub address: HostPort,
}

impl QuorumVoter {
    /// Reads `id@host:port`. The error is Kafka's (`QuorumConfig.parseVoterConnections`).
    pub(crate) fn parse(entry: &str) -> Result<QuorumVoter, String> {
        const FORM: &str = "Each entry should be in the form `{id}@{host}:{port}`.";
        let Some((id, address)) = entry.split_once('@').filter(|(_, address)| !address.contains('@')) else {
            return Err(format!("Invalid configuration value for controller.quorum.voters. {FORM}"));
        };
        let id = id.parse().map_err(|_| format!("Failed to parse voter ID as an integer from {id}"))?;
        let address = HostPort::parse(address).ok_or_else(|| {
            format!("Failed to parse host name from entry {entry} for the configuration controller.quorum.voters. {FORM}")
        })?;
        Ok(QuorumVoter { id: BrokerId(id), address })
    }
}

/// Reads an entry of `controller.quorum.bootstrap.servers`.
pub(crate) fn parse_bootstrap_server(entry: &str) -> Result<HostPort, String> {
    HostPort::parse(entry).ok_or_else(|| {
        format!(
            "Failed to parse host name from {entry} for the configuration controller.quorum.bootstrap.servers. Each entry should be in \
             the form \"{{host}}:{{port}}\""
        )
    })
}

/// Whether the text can be a host name or an address (`Utils.validHostPattern`).
pub(crate) fn is_valid_host(host: &str) -> bool {
    !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_%:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let host_port = |host: &str, port| Some(HostPort { host: host.to_owned(), port });
        assert_eq!(HostPort::parse("localhost:9093"), host_port("localhost", 9093));
        assert_eq!(HostPort::parse("[::1]:9093"), host_port("::1", 9093));
        for wrong in ["localhost", ":9093", "a:b:1", "a:99999", "a b:1", "[::1:1"] {
            assert_eq!(HostPort::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn voters() {
        assert_eq!(QuorumVoter::parse("1@localhost:9093").map(|voter| voter.id), Ok(BrokerId(1)));
        let form = "Invalid configuration value for controller.quorum.voters. Each entry should be in the form `{id}@{host}:{port}`.";
        assert_eq!(QuorumVoter::parse("localhost:9093"), Err(form.to_owned()));
        assert!(QuorumVoter::parse("x@localhost:9093").is_err());
        assert!(QuorumVoter::parse("1@localhost").is_err());
    }
}
