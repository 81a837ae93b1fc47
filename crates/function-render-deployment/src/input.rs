//! Input of the step.

use function_kit::CommonInput;
use serde::Deserialize;

/// Input of the step: `render-deployment.fn.asya.sh/v1alpha1`, kind `Input`.
/// Optional after resolve-flavors.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// The platform's settings, for this step alone.
    #[serde(flatten)]
    pub common: CommonInput,
}
