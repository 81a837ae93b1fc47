//! S3 errors as state errors.

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use crate::service_text;
use crate::state::StateError;

/// Status of the answer; none where there was no answer.
pub(super) fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    error.raw_response().map(|answer| answer.status().as_u16())
}

/// The error of an operation on what is at a key.
pub(super) fn of<E>(error: &SdkError<E, HttpResponse>, key: &str) -> StateError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match error {
        SdkError::TimeoutError(_) => StateError::Timeout(format!("{key:?}: no answer in time")),
        SdkError::ServiceError(_) | SdkError::ResponseError(_) => of_answer(error, key),
        // No connection, no credentials.
        _ => StateError::Unavailable(format!("{key:?}: {}", one_line(error))),
    }
}

fn of_answer<E>(error: &SdkError<E, HttpResponse>, key: &str) -> StateError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let code = error.code().unwrap_or("no code");
    let message = service_text::message(error.message().unwrap_or("no message"));
    let text = || format!("{key:?}: {code}: {message}");
    match (
        error.code().unwrap_or_default(),
        status(error).unwrap_or_default(),
    ) {
        ("NoSuchBucket", _) | (_, 429 | 500..) => StateError::Unavailable(text()),
        ("EntityTooLarge", _) | (_, 413) => StateError::TooLarge(text()),
        // Of two conditional writes at once one wins, and the other is a conflict.
        ("ConditionalRequestConflict" | "PreconditionFailed", _) | (_, 412) => {
            StateError::Changed(key.to_owned())
        }
        ("KeyTooLongError", _) => StateError::InvalidKey {
            key: key.to_owned(),
            reason: "is too long for S3 with the store's prefix",
        },
        ("RequestTimeout", _) => StateError::Timeout(text()),
        (_, 403) => StateError::Denied(text()),
        (code, 404) if code != "NoSuchUpload" => StateError::NotFound(key.to_owned()),
        _ => StateError::Failed(text()),
    }
}

fn one_line<E: std::error::Error>(error: &E) -> String {
    let text = DisplayErrorContext(error).to_string();
    // The debug form of the whole error follows in parentheses.
    let text = text.split(" (").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
