//! What an error of SQS means, in either of the two spellings that services use.

use std::time::Duration;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use super::{ServiceFault, credentials};
use crate::transport::fault::Fault;

/// Codes of the JSON protocol and of the query protocol before it.
const ABSENT: [&str; 2] = [
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
];
const EXISTS: [&str; 2] = ["QueueNameExists", "QueueAlreadyExists"];
const DELETED_RECENTLY: [&str; 2] = [
    "QueueDeletedRecently",
    "AWS.SimpleQueueService.QueueDeletedRecently",
];
pub(super) const DENIED: [&str; 12] = [
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "KmsAccessDenied",
    "KMS.AccessDeniedException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];
pub(super) const THROTTLED: [&str; 5] = [
    "OverLimit",
    "RequestThrottled",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// What went wrong with one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// There is no such queue.
    Absent,
    /// A queue of that name exists with other attributes.
    Exists,
    /// Anything else.
    Fault(Fault),
}

/// Who was asked for what.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The service.
    pub endpoint: &'a str,
    /// What for.
    pub action: &'a str,
    /// The queue.
    pub name: &'a str,
    /// When a name that was deleted recently is tried again.
    pub deleted_recently: Duration,
}

/// What the SDK's error means.
pub fn meaning<E, R>(error: &SdkError<E, R>, asked: Asked) -> Meaning
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug + 'static,
{
    if let SdkError::ServiceError(context) = error {
        let error = context.err();
        return of_code(
            error.code().unwrap_or_default(),
            error.message().unwrap_or_default(),
            asked,
        );
    }
    if let Some(fault) = credentials::fault(error, asked.endpoint) {
        return Meaning::Fault(fault);
    }
    let endpoint = asked.endpoint.to_owned();
    let cause = match error {
        SdkError::TimeoutError(_) => "no answer in time".to_owned(),
        SdkError::ResponseError(_) => "the answer cannot be read".to_owned(),
        _ => credentials::innermost(error),
    };
    Meaning::Fault(Fault::Unreachable { endpoint, cause })
}

/// Whether the answer is that of a service that does not know what it was asked for, as those that
/// only know queues do not know STS.
pub(super) fn is_not_understood(error: &ServiceFault) -> bool {
    match error {
        SdkError::ResponseError(_) => true,
        SdkError::ServiceError(context) => {
            let code = context.err().code().unwrap_or_default();
            let is_known = DENIED.contains(&code) || THROTTLED.contains(&code);
            context.raw().status().is_client_error() && !is_known
        }
        _ => false,
    }
}

/// What the code of a service's error means.
pub fn of_code(code: &str, message: &str, asked: Asked) -> Meaning {
    let (endpoint, action) = (asked.endpoint.to_owned(), asked.action.to_owned());
    if ABSENT.contains(&code) {
        return Meaning::Absent;
    }
    if EXISTS.contains(&code) {
        return Meaning::Exists;
    }
    // Codes are words; messages name the request or the time and would make a
    // condition change for ever, but those about values say what is wrong.
    let says_what = code.starts_with("Invalid") && !DENIED.contains(&code);
    let cause = match (code, message) {
        ("", _) => "the answer names no error".to_owned(),
        (code, message) if says_what && !message.is_empty() => format!("{code}: {message}"),
        (code, _) => code.to_owned(),
    };
    Meaning::Fault(if DELETED_RECENTLY.contains(&code) {
        Fault::DeletedRecently {
            name: asked.name.to_owned(),
            after: asked.deleted_recently,
        }
    } else if THROTTLED.contains(&code) {
        Fault::Throttled { endpoint, action }
    } else if DENIED.contains(&code) {
        Fault::Denied {
            endpoint,
            action,
            cause,
        }
    } else if code.is_empty() || code.contains("Internal") || code.contains("Unavailable") {
        Fault::Failed {
            endpoint,
            action,
            cause,
        }
    } else {
        Fault::Refused {
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
    fn both_spellings_mean_the_same() {
        let asked = Asked {
            endpoint: "sqs.us-east-1",
            action: "create queue",
            name: "asya-cart",
            deleted_recently: Duration::from_secs(65),
        };
        let cases = [
            ("QueueDoesNotExist", "absent"),
            ("AWS.SimpleQueueService.NonExistentQueue", "absent"),
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
                "sqs.us-east-1 asks for fewer calls while asked to create queue",
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
                "sqs.us-east-1 failed to create queue: the answer names no error",
            ),
        ];
        for (code, expected) in cases {
            let found = match of_code(code, "request 123", asked) {
                Meaning::Absent => "absent".to_owned(),
                Meaning::Exists => "exists".to_owned(),
                Meaning::Fault(fault) => fault.to_string(),
            };
            assert!(found.starts_with(expected), "{code}: {found}");
        }
    }
}
