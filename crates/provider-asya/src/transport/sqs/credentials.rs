//! What it means that there are no credentials to make a call with.
//!
//! The SDK gets them before it calls the service: with a role from STS, else from
//! the pod's surroundings. What goes wrong there lies deep in the error of the call,
//! beside an id of the request that is another one each time.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::error::{ErrorMetadata, ProvideErrorMetadata};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;

use super::errors::{DENIED, THROTTLED};
use crate::transport::fault::Fault;

/// Codes of STS that mean that it does not know us, beside those of every service.
const DENIED_BY_STS: [&str; 6] = [
    "IDPRejectedClaim",
    "IDPRejectedClaimException",
    "InvalidIdentityToken",
    "InvalidIdentityTokenException",
    "RegionDisabledException",
    "ValidationError",
];
/// Codes whose messages tell the time.
const EXPIRED: [&str; 2] = ["ExpiredToken", "ExpiredTokenException"];

/// Where credentials come from that no Secret holds.
const SOURCE: &str = "the source of the provider's AWS credentials";
const STS: &str = "AWS STS";

/// The fault, where it is one of credentials; `service` is the one that they are for.
pub(super) fn fault(error: &(dyn Error + 'static), service: &str) -> Option<Fault> {
    let credentials = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>())?;
    if let CredentialsError::CredentialsNotLoaded(_) = credentials {
        return Some(Fault::Invalid(format!(
            "there are no credentials for {service}: give the provider's pod a role (IRSA, EKS Pod Identity), or \
             name a Secret in the ProviderConfig"
        )));
    }
    if let CredentialsError::ProviderTimedOut(_) = credentials {
        return Some(unreachable("no answer in time".to_owned()));
    }
    if let Some(said) = causes(credentials).find_map(said_by_sts) {
        return Some(refused(said));
    }
    Some(unreachable(innermost(credentials)))
}

/// The last of the causes, without what is another in each answer.
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(String::new, |cause| {
        // Its own text lists everything that came along, the id of the request included.
        match said_by_sts(cause) {
            Some(said) => sentence(said),
            None => without_ids(&cause.to_string()),
        }
    })
}

fn unreachable(cause: String) -> Fault {
    Fault::Unreachable {
        endpoint: SOURCE.to_owned(),
        cause,
    }
}

fn refused(said: &ErrorMetadata) -> Fault {
    let code = said.code().unwrap_or_default();
    let (endpoint, action) = (STS.to_owned(), "assume the provider's role".to_owned());
    let cause = sentence(said);
    if THROTTLED.contains(&code) {
        Fault::Throttled { endpoint, action }
    } else if DENIED.contains(&code) || DENIED_BY_STS.contains(&code) {
        let cause = format!("{cause}: see that the role's trust policy names its ServiceAccount");
        Fault::Denied {
            endpoint,
            action,
            cause,
        }
    } else {
        Fault::Failed {
            endpoint,
            action,
            cause,
        }
    }
}

/// Code and message of an answer.
fn sentence(said: &ErrorMetadata) -> String {
    let code = said.code().unwrap_or("the answer names no error");
    match said.message() {
        Some(message) if !message.is_empty() && !EXPIRED.contains(&code) => {
            format!("{code}: {}", without_ids(message))
        }
        _ => code.to_owned(),
    }
}

fn said_by_sts<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a ErrorMetadata> {
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

/// On one line, and with an ellipsis for each id of the form that requests have.
fn without_ids(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let groups: Vec<usize> = bare.split('-').map(str::len).collect();
        if groups == [8, 4, 4, 4, 12] {
            word.replace(bare, "…")
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(code: &str, message: &str, id: &str) -> ErrorMetadata {
        let metadata = ErrorMetadata::builder().code(code).message(message);
        metadata.custom("aws_request_id", id).build()
    }

    fn said(error: &CredentialsError) -> String {
        fault(error, "SQS of region us-east-1").unwrap().to_string()
    }

    #[test]
    fn a_fault_of_credentials_says_who_gives_none_and_why() {
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
                 sts:AssumeRoleWithWebIdentity: see that",
            ),
            (
                of_sts(
                    "InvalidIdentityToken",
                    "No provider for https://oidc (request 0f3b2c1a-1111-2222-3333-444455556666)",
                ),
                "AWS STS denies assume the provider's role: InvalidIdentityToken: No provider for https://oidc \
                 (request …): see that",
            ),
            (
                of_sts(
                    "ExpiredTokenException",
                    "Token expired: current time 1700000000",
                ),
                "AWS STS denies assume the provider's role: ExpiredTokenException: see that",
            ),
            (
                of_sts("Throttling", "Rate exceeded"),
                "AWS STS asks for fewer calls while asked to assume the provider's role",
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
            let found = said(&error);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn only_faults_of_credentials_are_told_as_such() {
        let error = std::io::Error::other("connection refused");
        assert_eq!(fault(&error, "SQS"), None);
        assert_eq!(innermost(&error), "connection refused");
        let error = metadata("InternalError", "try again", "id");
        assert_eq!(innermost(&error), "InternalError: try again");
    }
}
