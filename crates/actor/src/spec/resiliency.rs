//! `spec.resiliency`: the one timeout, and what the sidecar does on failure.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// Timeout and retries. `retry` and `nonRetryableErrors` are the older form,
/// `policies` and `rules` the newer one; sidecars know one or the other.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resiliency {
    /// Longest run of the handler for one message, a Go duration; see
    /// [`crate::timeout`].
    pub actor_timeout: Option<String>,
    /// How failed messages are tried again.
    pub retry: Retry,
    /// Exceptions that are not tried again, by qualified name.
    pub non_retryable_errors: Vec<String>,
    /// Named retry policies.
    pub policies: Map<String, Value>,
    /// Which errors follow which policy; the first match counts.
    pub rules: Vec<Value>,
}

/// `resiliency.retry`. What is not set is the sidecar's default; an explicit
/// `0` or `false` is passed on.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// `constant` or `exponential`.
    pub policy: Option<String>,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Pause before the second attempt, a Go duration.
    pub initial_interval: Option<String>,
    /// Longest pause, a Go duration.
    pub max_interval: Option<String>,
    /// Factor from one pause to the next.
    pub backoff_coefficient: Option<Number>,
    /// Whether pauses are randomised.
    pub jitter: Option<bool>,
}
