//! What the Composition may tell this step.

use serde::Deserialize;

/// Input of the step: `report-status.fn.asya.sh/v1alpha1`, kind `Input`.
///
/// Crossplane comes back at once when a composed object changes. These are for
/// what it does not watch: flavors and the platform's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Seconds until the next reconcile while the actor is being created, updated or
    /// scaled; 15 unless given, 0 is never.
    pub ttl_seconds_in_motion: u32,
    /// Seconds until the next reconcile otherwise; 60 unless given, 0 is never.
    pub ttl_seconds_settled: u32,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            ttl_seconds_in_motion: 15,
            ttl_seconds_settled: 60,
        }
    }
}
