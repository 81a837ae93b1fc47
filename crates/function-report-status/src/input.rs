//! Input of the step.

use actor::health;
use actor::status::StatusReason;
use function_kit::{Call, value};
use function_proto::v1::Capability;
use serde::Deserialize;

use crate::status_reason;

/// Input of the step: `report-status.fn.asya.sh/v1alpha1`, kind `Input`.
///
/// Crossplane reconciles an actor at once when a composed object changes. These are for what it
/// does not watch: flavors and the platform's settings. The provider watches them, and reports in
/// the ActorHealth that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Seconds until the next reconcile while the actor is created, updated or scaled. 0: never.
    /// Default: 120 while the provider watches the actor's EnvironmentConfigs or has yet to report whether
    /// it does, else 15; 15 also while it waits for an object of a deleted actor, and with Crossplane before 2.2.
    pub ttl_seconds_in_motion: Option<u32>,
    /// Seconds until the next reconcile of a settled actor. 0: never. Default: 600 while the
    /// provider watches the actor's EnvironmentConfigs, else and with Crossplane before 2.2 60.
    pub ttl_seconds_settled: Option<u32>,
}

impl Input {
    /// Seconds until the next reconcile.
    pub(crate) fn ttl_seconds(self, reason: StatusReason, watched: EnvironmentWatched) -> u32 {
        use EnvironmentWatched::{Unreported, Watched};
        let (set, default) = if status_reason::is_transitional(reason) {
            // What it waits for belongs to another actor, so Crossplane does not watch it.
            let is_blind = reason == StatusReason::Waiting;
            let is_long = !is_blind && matches!(watched, Watched | Unreported);
            (self.ttl_seconds_in_motion, if is_long { 120 } else { 15 })
        } else {
            let is_long = watched == Watched;
            (self.ttl_seconds_settled, if is_long { 600 } else { 60 })
        };
        set.unwrap_or(default)
    }
}

/// Whether the provider informs the actor of changes of its EnvironmentConfigs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvironmentWatched {
    /// It does.
    Watched,
    /// It does not, there is no ActorHealth, or Crossplane does not notice it.
    Unwatched,
    /// The provider has not written a status to the ActorHealth yet.
    Unreported,
}

impl EnvironmentWatched {
    /// Reads it from the actor's ActorHealth. Crossplane before 2.2 does not tell its capabilities, and 2.0 does
    /// not reconcile a namespaced actor when something changes: what the provider does is not noticed.
    pub(crate) fn of(call: &Call) -> Self {
        let is_namespaced = value::text(call.xr(), &["metadata", "namespace"]).is_some();
        if is_namespaced && !call.has_capability(Capability::Capabilities) {
            return Self::Unwatched;
        }
        let name = health::RESOURCE_NAME;
        let observed = call.observed(name);
        let reported = observed.filter(|health| value::at(health, &["status"]).is_some());
        match reported {
            Some(reported) => {
                let watched = value::condition(reported, health::ENVIRONMENT_WATCHED);
                match watched.and_then(|watched| value::text(watched, &["status"])) {
                    Some("True") => Self::Watched,
                    _ => Self::Unwatched,
                }
            }
            None if call.desired(name).is_some() => Self::Unreported,
            None => Self::Unwatched,
        }
    }
}
