//! Outcomes of errors of SQS for a message.

use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

use crate::service_text;
use crate::transport::SendError;

/// Returns whether the queue is missing. Both spellings occur: that of the query protocol and the shape's name.
pub(super) fn is_missing_queue<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let code = error.code().unwrap_or_default();
    code.ends_with("NonExistentQueue") || code.ends_with("QueueDoesNotExist")
}

/// Returns whether the receipt is of no use any more: the message is visible, deleted, or another owner's.
pub(super) fn is_stale_receipt<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let code = error.code().unwrap_or_default();
    ["MessageNotInflight", "ReceiptHandleIsInvalid"]
        .iter()
        .any(|stale| code.ends_with(stale))
        || code == "InvalidParameterValue"
}

/// The error of a request in one line.
pub(super) fn text<E>(error: &SdkError<E>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {}", service_text::message(message)),
        (Some(code), None) => code.to_owned(),
        // No answer: the reason is below.
        _ => service_text::message(&DisplayErrorContext(error).to_string()),
    }
}

/// Outcome of an error while sending a message of this size to an actor.
pub(super) fn of_send<E>(error: &SdkError<E>, actor: &str, bytes: usize) -> SendError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    if is_missing_queue(error) {
        return SendError::Unroutable(actor.to_owned());
    }
    let text = text(error);
    if error.as_service_error().is_none() {
        return SendError::Disconnected(text);
    }
    match limit(error.message().unwrap_or_default()) {
        Some(limit) if bytes > limit => SendError::TooLarge { bytes, limit },
        _ if is_permanent(error.code().unwrap_or_default()) => {
            tracing::warn!(actor, error = text, "the queue takes no such message");
            SendError::Unroutable(actor.to_owned())
        }
        _ => SendError::Refused(text),
    }
}

/// Returns whether the same request would be refused again, such as one to a FIFO queue, which needs a
/// group.
fn is_permanent(code: &str) -> bool {
    const CODES: [&str; 4] = [
        "MissingParameter",
        "InvalidParameterValue",
        "InvalidMessageContents",
        "UnsupportedOperation",
    ];
    CODES.iter().any(|permanent| code.ends_with(permanent))
}

/// The limit in "Message must be shorter than 262144 bytes".
fn limit(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("shorter than ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn the_limit_is_read_from_the_services_message() {
        let text = "One or more parameters are invalid. Reason: Message must be shorter than 262144 bytes.";
        assert_eq!(limit(text), Some(262_144));
        assert_eq!(limit("Message is too short"), None);
    }
}
