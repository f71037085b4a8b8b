//! Why a change of configuration is refused, as a client is told it.

use ottla_model::ErrorCode;

/// A refused change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}: {message}")]
pub struct ConfigRejection {
    /// INVALID_CONFIG or INVALID_REQUEST.
    pub error: ErrorCode,
    /// Kafka's text.
    pub message: String,
}

impl ConfigRejection {
    /// INVALID_CONFIG: a value is not acceptable.
    pub(crate) fn invalid_config(message: impl Into<String>) -> ConfigRejection {
        ConfigRejection { error: ErrorCode::InvalidConfig, message: message.into() }
    }

    /// INVALID_REQUEST: the request itself makes no sense; also what Kafka answers for all that is wrong with a broker's values.
    pub(crate) fn invalid_request(message: impl Into<String>) -> ConfigRejection {
        ConfigRejection { error: ErrorCode::InvalidRequest, message: message.into() }
    }
}
