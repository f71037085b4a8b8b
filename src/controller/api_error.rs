//! An error as a client is told it: a code and, mostly, a sentence (`ApiError`).

use ottla_model::ErrorCode;

/// An error that an operation answers. Displays as code and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The code.
    pub error: ErrorCode,
    /// The text, where Kafka gives one.
    pub message: Option<String>,
}

impl std::error::Error for ApiError {}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.error),
            None => write!(f, "{}", self.error),
        }
    }
}

impl ApiError {
    /// The error with a text of its own.
    pub fn new(error: ErrorCode, message: impl Into<String>) -> ApiError {
        ApiError { error, message: Some(message.into()) }
    }

    /// The error without a text: what Kafka answers for an exception that says no more than its code.
    pub fn bare(error: ErrorCode) -> ApiError {
        ApiError { error, message: None }
    }

    /// An INVALID_REQUEST.
    pub fn invalid_request(message: impl Into<String>) -> ApiError {
        ApiError::new(ErrorCode::InvalidRequest, message)
    }

    /// More than [`RECORDS_PER_USER_OP_MAX`] records out of one request.
    pub fn excessively_large() -> ApiError {
        ApiError::new(ErrorCode::PolicyViolation, "Unable to perform excessively large batch operation.")
    }
}

/// The most records that one request may cause (`QuorumController.MAX_RECORDS_PER_USER_OP`).
pub const RECORDS_PER_USER_OP_MAX: usize = 10_000;

/// Code and text for a response: 0 and null for success.
pub(crate) fn response_error<T>(result: &Result<T, ApiError>) -> (i16, Option<String>) {
    match result {
        Ok(_) => (ErrorCode::None.code(), None),
        Err(error) => (error.error.code(), error.message.clone()),
    }
}
