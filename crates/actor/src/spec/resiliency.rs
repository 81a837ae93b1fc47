//! `spec.resiliency`: the one timeout, and what the sidecar does on failure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// Timeout and retries. `retry` and `nonRetryableErrors` are the older form,
/// `policies` and `rules` the newer one; sidecars know one or the other.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Resiliency {
    /// Longest run of the handler for one message, such as `90s` or `1h30m`; 5
    /// minutes unless given. What the queue and the pod allow follows from it.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub actor_timeout: Option<String>,
    /// How failed messages are tried again.
    pub retry: Retry,
    /// Exceptions that are not tried again, by qualified name.
    pub non_retryable_errors: Vec<String>,
    /// Named retry policies.
    pub policies: BTreeMap<String, Map<String, Value>>,
    /// Which errors follow which policy; the first match counts.
    pub rules: Vec<Map<String, Value>>,
}

/// `resiliency.retry`. What is not set is the sidecar's default; an explicit
/// `0` or `false` is passed on.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// Whether pauses stay the same or grow: `constant` or `exponential`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::retry_policy")
    )]
    pub policy: Option<String>,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Pause before the second attempt, such as `1s`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub initial_interval: Option<String>,
    /// Longest pause, such as `5m`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub max_interval: Option<String>,
    /// Factor from one pause to the next.
    pub backoff_coefficient: Option<Number>,
    /// Whether pauses are randomised.
    pub jitter: Option<bool>,
}
