//! Error codes of SQS and STS: those of the JSON protocol and of the query protocol before it.

/// The queue does not exist.
pub(super) const NOT_FOUND: [&str; 2] = [
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
];
/// A queue of that name exists with other attributes.
pub(super) const EXISTS: [&str; 2] = ["QueueNameExists", "QueueAlreadyExists"];
/// The name was deleted less than 60 seconds ago.
pub(super) const DELETED_RECENTLY: [&str; 2] = [
    "QueueDeletedRecently",
    "AWS.SimpleQueueService.QueueDeletedRecently",
];
/// Credentials are wrong or lack a right.
pub(super) const DENIED: [&str; 16] = [
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "IncompleteSignature",
    "InvalidSecurity",
    "InvalidSignatureException",
    "KmsAccessDenied",
    "KMS.AccessDeniedException",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];
/// Too many calls.
pub(super) const THROTTLED: [&str; 5] = [
    "OverLimit",
    "RequestThrottled",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];
