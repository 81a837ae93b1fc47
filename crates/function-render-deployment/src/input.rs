//! What the Composition tells this step.

use function_kit::CommonInput;
use serde::Deserialize;

/// Input of the step `render-deployment`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// What every step takes.
    #[serde(flatten)]
    pub common: CommonInput,
}
