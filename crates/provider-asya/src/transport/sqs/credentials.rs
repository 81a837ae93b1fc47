//! Errors of credentials.
//!
//! The SDK gets credentials before it calls the service: with a role from STS, else from the pod's
//! environment. The cause is deep in the error of the call, beside a request id that changes each time.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::error::{ErrorMetadata, ProvideErrorMetadata};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;

use super::codes::{DENIED, THROTTLED};
use crate::text;
use crate::transport::TransportError;

/// Codes of STS for denied credentials, beside those of every service.
const DENIED_BY_STS: [&str; 6] = [
    "IDPRejectedClaim",
    "IDPRejectedClaimException",
    "InvalidIdentityToken",
    "InvalidIdentityTokenException",
    "RegionDisabledException",
    "ValidationError",
];
/// Codes whose messages contain the time.
const EXPIRED: [&str; 2] = ["ExpiredToken", "ExpiredTokenException"];

/// Source of credentials that are not in a Secret.
const SOURCE: &str = "the source of the provider's AWS credentials";
const STS: &str = "AWS STS";

/// The error, where it is one of credentials; `service` is what they are for.
pub(super) fn credentials_error(
    error: &(dyn Error + 'static),
    service: &str,
) -> Option<TransportError> {
    let credentials = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>())?;
    if let CredentialsError::CredentialsNotLoaded(_) = credentials {
        return Some(TransportError::Invalid(format!(
            "there are no credentials for {service}: give the provider's pod a role (IRSA, EKS Pod Identity), or \
             name a Secret in the ProviderConfig"
        )));
    }
    if let CredentialsError::ProviderTimedOut(_) = credentials {
        return Some(unreachable("no answer in time".to_owned()));
    }
    if let Some(metadata) = causes(credentials).find_map(sts_metadata) {
        return Some(refused(metadata));
    }
    Some(unreachable(innermost(credentials)))
}

/// Message of the last cause, without request ids.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, |cause| {
        // Its own text contains everything, including the request id.
        match sts_metadata(cause) {
            Some(metadata) => code_and_message(metadata),
            None => without_ids(&cause.to_string()),
        }
    })
}

fn unreachable(cause: String) -> TransportError {
    TransportError::Unreachable {
        endpoint: SOURCE.to_owned(),
        cause,
    }
}

fn refused(metadata: &ErrorMetadata) -> TransportError {
    let code = metadata.code().unwrap_or_default();
    let (endpoint, action) = (STS.to_owned(), "assume the provider's role".to_owned());
    let cause = code_and_message(metadata);
    if THROTTLED.contains(&code) {
        TransportError::Throttled { endpoint, action }
    } else if DENIED.contains(&code) || DENIED_BY_STS.contains(&code) {
        let cause = format!("{cause}: check that the role's trust policy names its ServiceAccount");
        TransportError::Denied {
            endpoint,
            action,
            cause,
        }
    } else {
        TransportError::Failed {
            endpoint,
            action,
            cause,
        }
    }
}

/// Code and message of an answer.
fn code_and_message(metadata: &ErrorMetadata) -> String {
    let code = metadata.code().unwrap_or("the answer has no error code");
    match metadata.message() {
        Some(message) if !message.is_empty() && !EXPIRED.contains(&code) => {
            without_ids(&format!("{code}: {message}"))
        }
        _ => text::clean(code, text::FOREIGN_MAX),
    }
}

fn sts_metadata<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a ErrorMetadata> {
    let of_web_identity = cause.downcast_ref::<AssumeRoleWithWebIdentityError>();
    of_web_identity
        .map(ProvideErrorMetadata::meta)
        .or_else(|| {
            cause
                .downcast_ref::<AssumeRoleError>()
                .map(ProvideErrorMetadata::meta)
        })
        .or_else(|| cause.downcast_ref::<ErrorMetadata>())
}

/// The error, what caused it, what caused that, and so on.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause: &&'a (dyn Error + 'static)| {
        (*cause).source()
    })
}

/// The text on one line and cut, with an ellipsis for each request id.
fn without_ids(message: &str) -> String {
    let parts = message.split_whitespace().map(|part| {
        let bare = part.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let groups: Vec<usize> = bare.split('-').map(str::len).collect();
        if groups == [8, 4, 4, 4, 12] {
            part.replace(bare, "…")
        } else {
            part.to_owned()
        }
    });
    text::clean(&parts.collect::<Vec<_>>().join(" "), text::FOREIGN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(code: &str, message: &str, id: &str) -> ErrorMetadata {
        let metadata = ErrorMetadata::builder().code(code).message(message);
        metadata.custom("aws_request_id", id).build()
    }

    fn message(error: &CredentialsError) -> String {
        credentials_error(error, "SQS of region us-east-1")
            .unwrap()
            .to_string()
    }

    #[test]
    fn errors_of_credentials_name_source_and_cause() {
        let id = "0f3b2c1a-1111-2222-3333-444455556666";
        let of_sts = |code, message| CredentialsError::provider_error(metadata(code, message, id));
        let no_file = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let cases = [
            (
                of_sts(
                    "AccessDenied",
                    "Not authorized to perform sts:AssumeRoleWithWebIdentity",
                ),
                "AWS STS denies assume the provider's role: AccessDenied: Not authorized to perform \
                 sts:AssumeRoleWithWebIdentity: check that",
            ),
            (
                of_sts(
                    "InvalidIdentityToken",
                    "No provider for https://oidc (request 0f3b2c1a-1111-2222-3333-444455556666)",
                ),
                "AWS STS denies assume the provider's role: InvalidIdentityToken: No provider for https://oidc \
                 (request …): check that",
            ),
            (
                of_sts(
                    "ExpiredTokenException",
                    "Token expired: current time 1700000000",
                ),
                "AWS STS denies assume the provider's role: ExpiredTokenException: check that",
            ),
            (
                of_sts("Throttling", "Rate exceeded"),
                "AWS STS throttles calls to assume the provider's role",
            ),
            (
                of_sts("IDPCommunicationError", "timeout"),
                "AWS STS failed to assume the provider's role: IDPCommunicationError: timeout",
            ),
            (
                CredentialsError::provider_error(no_file),
                "cannot reach the source of the provider's AWS credentials: no such file",
            ),
            (
                CredentialsError::provider_timed_out(std::time::Duration::from_secs(5)),
                "cannot reach the source of the provider's AWS credentials: no answer in time",
            ),
            (
                CredentialsError::not_loaded_no_source(),
                "there are no credentials for SQS of region us-east-1: give the provider's pod a role",
            ),
        ];
        for (error, expected) in cases {
            let found = message(&error);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn other_errors_are_not_errors_of_credentials() {
        let error = std::io::Error::other("connection refused");
        assert_eq!(credentials_error(&error, "SQS"), None);
        assert_eq!(innermost(&error), "connection refused");
        let error = metadata("InternalError", "try again", "id");
        assert_eq!(innermost(&error), "InternalError: try again");
        let error = metadata("Internal\u{1b}Error", &"x".repeat(100_000), "id");
        let found = innermost(&error);
        assert!(
            found.starts_with("Internal Error: x") && found.len() < 500,
            "{found}"
        );
    }
}
