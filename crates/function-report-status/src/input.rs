//! Input of the step.

use serde::Deserialize;

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
    /// Default: 60 while the provider watches the actor's EnvironmentConfigs, else 15.
    pub ttl_seconds_in_motion: Option<u32>,
    /// Seconds until the next reconcile of a settled actor. 0: never. Default: 600 while the
    /// provider watches the actor's EnvironmentConfigs, else 60.
    pub ttl_seconds_settled: Option<u32>,
}

impl Input {
    /// Seconds until the next reconcile.
    pub(crate) fn ttl_seconds(self, is_transitional: bool, is_watched: bool) -> u32 {
        match (is_transitional, is_watched) {
            (true, watched) => self
                .ttl_seconds_in_motion
                .unwrap_or(if watched { 60 } else { 15 }),
            (false, watched) => self
                .ttl_seconds_settled
                .unwrap_or(if watched { 600 } else { 60 }),
        }
    }
}
