//! Input of the step.

use actor::names::PLATFORM;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Input of the step: `resolve-flavors.fn.asya.sh/v1alpha1`, kind `Input`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Name of the EnvironmentConfig that holds the platform's settings;
    /// `asya-platform` unless given. Not used where the Composition hands the
    /// settings over through a bootstrap requirement called `platform`.
    pub platform_name: Option<String>,
    /// Platform settings of this Composition. Laid over those of the
    /// EnvironmentConfig, key by key at any depth, and handed on with them; where
    /// there is no EnvironmentConfig they are all there is.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<actor::platform::Platform>")
    )]
    pub platform: Option<Map<String, Value>>,
    /// Where the resolved spec goes.
    pub output: Output,
}

/// Where the resolved spec goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Output {
    /// Into the `spec` of the desired XR, which report-status removes at the end
    /// of the pipeline.
    #[default]
    #[serde(rename = "XR")]
    Xr,
    /// Into the context key `asya.sh/spec`, for Compositions without our
    /// report-status. The desired XR stays as it is.
    Context,
}

impl Input {
    /// Name of the EnvironmentConfig that is asked for. Empty counts as not given.
    pub(crate) fn platform_name(&self) -> &str {
        match self.platform_name.as_deref() {
            None | Some("") => PLATFORM,
            Some(name) => name,
        }
    }
}
