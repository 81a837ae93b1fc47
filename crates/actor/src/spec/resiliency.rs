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
    /// Maximum time of the handler for one message, such as `90s` or `1h30m`. Sets the visibility
    /// timeout of the queue and the grace period of the pods. Default: 5 minutes.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub actor_timeout: Option<String>,
    /// Retries of failed messages, older form.
    pub retry: Retry,
    /// Names of exceptions that are not retried, older form. Base classes match too.
    pub non_retryable_errors: Vec<String>,
    /// Retry policies by name, newer form. Policy `default` applies to errors that no rule matches.
    pub policies: BTreeMap<String, Map<String, Value>>,
    /// Rules that map errors to policies, newer form; the first match applies.
    pub rules: Vec<Map<String, Value>>,
}

/// `resiliency.retry`. The sidecar has the defaults; an explicit `0` or `false` reaches it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Retry {
    /// `constant` or `exponential` delay between attempts. Default: the sidecar's; `asya-sidecar` uses
    /// `exponential`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::retry_policy")
    )]
    pub policy: Option<String>,
    /// Maximum number of attempts, the first included. Default: the sidecar's; `asya-sidecar` makes 3
    /// if another field of `retry` is set, else 1.
    pub max_attempts: Option<u32>,
    /// Delay before the second attempt, such as `1s`. Default: the sidecar's; `asya-sidecar` waits
    /// `1s`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub initial_interval: Option<String>,
    /// Longest delay, such as `5m`. Default: the sidecar's; `asya-sidecar` waits at most `5m`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::fields::duration")
    )]
    pub max_interval: Option<String>,
    /// Factor by which the delay grows, at least 1, if `policy` is `exponential`. Default: the
    /// sidecar's; `asya-sidecar` uses 2.
    pub backoff_coefficient: Option<Number>,
    /// If true, delays are randomised. Default: the sidecar's; `asya-sidecar` randomises them.
    pub jitter: Option<bool>,
}
