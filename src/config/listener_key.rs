//! Keys for one listener: `listener.name.<listener>.<key>`, or with a SASL mechanism before the key (`DynamicBrokerConfig`).

/// Keys that may stand behind a mechanism's name.
const MECHANISM_KEYS: [&str; 5] = [
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
];

/// What stands behind the listener's name, mechanism included.
pub(crate) fn without_listener(name: &str) -> Option<&str> {
    let (_listener, rest) = name.strip_prefix("listener.name.")?.split_once('.')?;
    Some(rest)
}

/// The key that a listener's key stands for; `None` if the name is not that of a listener's key.
pub(crate) fn base_key(name: &str) -> Option<&str> {
    let rest = without_listener(name)?;
    Some(MECHANISM_KEYS.into_iter().find(|key| rest.ends_with(key)).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_behind_the_listener() {
        assert_eq!(base_key("listener.name.plaintext.max.connections"), Some("max.connections"));
        assert_eq!(base_key("listener.name.ext.scram-sha-256.sasl.jaas.config"), Some("sasl.jaas.config"));
        assert_eq!(base_key("max.connections"), None);
        assert_eq!(base_key("listener.name.x"), None);
    }
}
