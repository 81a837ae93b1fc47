//! Input of the step.

use actor::names::PLATFORM;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Input of the step: `resolve-flavors.fn.asya.sh/v1alpha1`, kind `Input`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Name of the EnvironmentConfig with the platform's settings. Default: `asya-platform`. Ignored if
    /// the Composition has a bootstrap requirement named `platform`.
    pub platform_name: Option<String>,
    /// Platform settings of this Composition. They override those of the EnvironmentConfig key by key
    /// at any depth, for all steps. Default: none.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<actor::platform::Platform>")
    )]
    pub platform: Option<Map<String, Value>>,
    /// Destination of the resolved spec. Default: `XR`.
    pub output: Output,
}

/// Destination of the resolved spec.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Output {
    /// `spec` of the desired XR, which report-status removes at the end of the pipeline.
    #[default]
    #[serde(rename = "XR")]
    Xr,
    /// Context key `asya.sh/spec`, for Compositions without report-status. The desired XR is not
    /// changed.
    Context,
}

impl Input {
    /// Name of the EnvironmentConfig that the step requires. Empty means not set.
    pub(crate) fn platform_name(&self) -> &str {
        match self.platform_name.as_deref() {
            None | Some("") => PLATFORM,
            Some(name) => name,
        }
    }
}
