//! Why values do not make a configuration. The texts are Kafka's, because clients see them.

/// A value, or a combination of values, that is not accepted. Displays as Kafka's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidConfig {
    /// One value is wrong in itself.
    #[error("{message}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A key without a default is not set.
    #[error("Missing required configuration \"{key}\" which has no default value.")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// Values do not fit each other, or a value has no meaning here.
    #[error("{message}")]
    Rule {
        /// The key to look at first.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// Like `Rule`; Kafka puts some words before these.
    #[error("requirement failed: {message}")]
    Requirement {
        /// The key to look at first.
        key: String,
        /// What is wrong.
        message: String,
    },
}

impl InvalidConfig {
    /// A rule that does not hold.
    pub(crate) fn rule(key: impl Into<String>, message: impl Into<String>) -> InvalidConfig {
        InvalidConfig::Rule { key: key.into(), message: message.into() }
    }

    /// The key to look at.
    pub fn key(&self) -> &str {
        match self {
            InvalidConfig::Value { key, .. } | InvalidConfig::Missing { key } => key,
            InvalidConfig::Rule { key, .. } | InvalidConfig::Requirement { key, .. } => key,
        }
    }

    /// What is wrong, without Kafka's "requirement failed".
    pub fn reason(&self) -> String {
        match self {
            InvalidConfig::Requirement { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }
}

/// Fails with `message` about `key` unless the condition holds.
pub(crate) fn require(condition: bool, key: &str, message: impl FnOnce() -> String) -> Result<(), InvalidConfig> {
    if condition { Ok(()) } else { Err(InvalidConfig::Requirement { key: key.to_owned(), message: message() }) }
}
