//! Errors of operations on values, and their HTTP responses to the runtime.

use http::StatusCode;

/// Error of an operation. The runtime raises an exception of Python for its status.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StateError {
    /// The key cannot be one: `ValueError`.
    #[error("key {key:?} {reason}")]
    InvalidKey {
        /// The key as it was given.
        key: String,
        /// Description of the problem.
        reason: &'static str,
    },
    /// The request is not one of the protocol: `ValueError`.
    #[error("{0}")]
    InvalidRequest(String),
    /// No such attribute: `ENODATA`.
    #[error("attribute {0:?} does not exist")]
    UnknownAttribute(String),
    /// The operation is not permitted: `PermissionError`.
    #[error("{0}")]
    Denied(String),
    /// No such value: `FileNotFoundError`.
    #[error("no value {0:?}")]
    NotFound(String),
    /// There is a value or directory where none may be: `FileExistsError`.
    #[error("{0}")]
    Exists(String),
    /// The value is not the one that the condition names: `FileExistsError`.
    #[error("value {0:?} was changed by another writer")]
    Changed(String),
    /// The value is larger than the store takes: `EFBIG`.
    #[error("{0}")]
    TooLarge(String),
    /// The store cannot be reached, or not used as it is: `ConnectionError`.
    #[error("{0}")]
    Unavailable(String),
    /// The store did not answer in time: `TimeoutError`.
    #[error("{0}")]
    Timeout(String),
    /// The store is full: `OSError`.
    #[error("{0}")]
    Full(String),
    /// The client broke off in the middle of its request. Nobody learns of it.
    #[error("the client broke off")]
    BrokenOff,
    /// Anything else: `OSError`.
    #[error("{0}")]
    Failed(String),
}

impl StateError {
    /// Status and code of the answer.
    pub fn answer(&self) -> (StatusCode, &'static str) {
        match self {
            Self::InvalidKey { .. } => (StatusCode::BAD_REQUEST, "invalid_key"),
            Self::InvalidRequest(_) | Self::BrokenOff => {
                (StatusCode::BAD_REQUEST, "invalid_request")
            }
            Self::UnknownAttribute(_) => (StatusCode::BAD_REQUEST, "unknown_attribute"),
            Self::Denied(_) => (StatusCode::FORBIDDEN, "denied"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Self::Exists(_) => (StatusCode::CONFLICT, "exists"),
            Self::Changed(_) => (StatusCode::PRECONDITION_FAILED, "changed"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Self::Timeout(_) => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
            Self::Full(_) => (StatusCode::INSUFFICIENT_STORAGE, "full"),
            Self::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        }
    }
}
