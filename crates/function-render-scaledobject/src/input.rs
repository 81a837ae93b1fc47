//! Input of the step.

use function_kit::{CommonInput, QueueInput};
use serde::Deserialize;

/// Input of the step: `render-scaledobject.fn.asya.sh/v1alpha1`, kind `Input`.
/// Optional after the steps before this one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Composition-resource name of the workload to scale: an object that an earlier step desires, or an
    /// observed one. Default: `deployment`, `statefulset` or `adapter`, whichever is desired.
    pub target: Option<String>,
    /// The platform's settings, for this step alone.
    #[serde(flatten)]
    pub common: CommonInput,
    /// The queue's name, where no step renders it.
    #[serde(flatten)]
    pub queue: QueueInput,
}
