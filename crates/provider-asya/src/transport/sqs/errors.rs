//! Errors of SQS, by their codes in both protocols that services speak.

use std::time::Duration;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use super::codes::{DELETED_RECENTLY, DENIED, EXISTS, NOT_FOUND, THROTTLED};
use super::{StsError, credentials};
use crate::text;
use crate::transport::TransportError;

/// Error of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The queue does not exist.
    NotFound,
    /// A queue of that name exists with other attributes.
    Exists,
    /// Any other error.
    Transport(TransportError),
}

/// Context of a call, for its error.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    /// The service.
    pub endpoint: &'a str,
    /// The action.
    pub action: &'a str,
    /// The queue.
    pub name: &'a str,
    /// Retry interval after a name was deleted recently.
    pub deleted_recently: Duration,
}

/// Interprets an error of the SDK.
pub fn call_error<E, R>(error: &SdkError<E, R>, context: CallContext) -> CallError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    if let SdkError::ServiceError(service) = error {
        let error = service.err();
        return from_code(
            error.code().unwrap_or_default(),
            error.message().unwrap_or_default(),
            context,
        );
    }
    if let Some(problem) = credentials::credentials_error(error, context.endpoint) {
        return CallError::Transport(problem);
    }
    let endpoint = context.endpoint.to_owned();
    let cause = match error {
        SdkError::TimeoutError(_) => "no answer in time".to_owned(),
        SdkError::ResponseError(_) => "the answer cannot be read".to_owned(),
        _ => credentials::innermost(error),
    };
    CallError::Transport(TransportError::Unreachable { endpoint, cause })
}

/// Returns whether the answer is that of a service that does not know what it was context for, as those that
/// only know queues do not know STS.
pub(super) fn is_not_understood(error: &StsError) -> bool {
    match error {
        SdkError::ResponseError(_) => true,
        SdkError::ServiceError(service) => {
            let code = service.err().code().unwrap_or_default();
            let is_known = DENIED.contains(&code) || THROTTLED.contains(&code);
            service.raw().status().is_client_error() && !is_known
        }
        _ => false,
    }
}

/// Interprets the code of a service's error.
pub fn from_code(code: &str, message: &str, context: CallContext) -> CallError {
    let (endpoint, action) = (context.endpoint.to_owned(), context.action.to_owned());
    if NOT_FOUND.contains(&code) {
        return CallError::NotFound;
    }
    if EXISTS.contains(&code) {
        return CallError::Exists;
    }
    // Messages contain request ids or times, which would change a condition all the time; only those
    // about invalid values are used.
    let is_about_value = code.starts_with("Invalid") && !DENIED.contains(&code);
    let cause = match (code, message) {
        ("", _) => "the answer has no error code".to_owned(),
        (code, message) if is_about_value && !message.is_empty() => {
            text::clean(&format!("{code}: {message}"), text::FOREIGN_MAX)
        }
        (code, _) => text::clean(code, text::FOREIGN_MAX),
    };
    CallError::Transport(if DELETED_RECENTLY.contains(&code) {
        TransportError::DeletedRecently {
            name: context.name.to_owned(),
            after: context.deleted_recently,
        }
    } else if THROTTLED.contains(&code) {
        TransportError::Throttled { endpoint, action }
    } else if DENIED.contains(&code) {
        TransportError::Denied {
            endpoint,
            action,
            cause,
        }
    } else if code.is_empty() || code.contains("Internal") || code.contains("Unavailable") {
        TransportError::Failed {
            endpoint,
            action,
            cause,
        }
    } else {
        TransportError::Refused {
            endpoint,
            action,
            cause,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_protocols_mean_the_same() {
        let context = CallContext {
            endpoint: "sqs.us-east-1",
            action: "create queue",
            name: "asya-cart",
            deleted_recently: Duration::from_secs(65),
        };
        let cases = [
            ("QueueDoesNotExist", "not found"),
            ("AWS.SimpleQueueService.NonExistentQueue", "not found"),
            ("QueueNameExists", "exists"),
            ("QueueAlreadyExists", "exists"),
            (
                "QueueDeletedRecently",
                "a queue named \"asya-cart\" was deleted less than 60 seconds ago",
            ),
            (
                "AWS.SimpleQueueService.QueueDeletedRecently",
                "a queue named \"asya-cart\" was deleted less than 60 seconds ago",
            ),
            (
                "RequestThrottled",
                "sqs.us-east-1 throttles calls to create queue",
            ),
            (
                "AccessDenied",
                "sqs.us-east-1 denies create queue: AccessDenied",
            ),
            (
                "InvalidAttributeValue",
                "sqs.us-east-1 refuses to create queue: InvalidAttributeValue: request 123",
            ),
            (
                "UnsupportedOperation",
                "sqs.us-east-1 refuses to create queue: UnsupportedOperation",
            ),
            (
                "InternalError",
                "sqs.us-east-1 failed to create queue: InternalError",
            ),
            (
                "",
                "sqs.us-east-1 failed to create queue: the answer has no error code",
            ),
        ];
        for (code, expected) in cases {
            let found = match from_code(code, "request 123", context) {
                CallError::NotFound => "not found".to_owned(),
                CallError::Exists => "exists".to_owned(),
                CallError::Transport(error) => error.to_string(),
            };
            assert!(found.starts_with(expected), "{code}: {found}");
        }
    }

    #[test]
    fn codes_and_messages_are_cleaned_and_cut() {
        let context = CallContext {
            endpoint: "sqs.us-east-1",
            action: "create queue",
            name: "asya-cart",
            deleted_recently: Duration::from_secs(65),
        };
        let long = "x".repeat(100_000);
        for (code, message) in [
            ("Invalid\u{1b}[31m", "red"),
            ("InvalidAddress", "two\nlines\u{202e}"),
            ("InvalidAddress", long.as_str()),
            (long.as_str(), ""),
        ] {
            let CallError::Transport(error) = from_code(code, message, context) else {
                panic!("{code:?} is an error");
            };
            let error = error.to_string();
            assert!(error.len() < 500, "{} bytes", error.len());
            assert!(!error.contains(actor::hidden::is_hidden), "{error:?}");
        }
    }
}
