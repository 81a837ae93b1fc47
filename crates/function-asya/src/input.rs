//! Input of the function.

use std::fmt;

use function_kit::{Code, Diagnostic, Location, QueueInput, StepError};
use serde::Deserialize;

/// Input of the function: `asya.fn.asya.sh/v1alpha1`, kind `Input`. Optional.
///
/// Besides `steps` it has the fields of the inputs of all steps.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Steps to run, each once and in the order of the pipeline. Default: all. Other functions, or this
    /// input, provide what the missing steps would.
    pub steps: Option<Vec<StepName>>,
    /// Composition-resource name of a workload that another function renders, for the sidecar and for
    /// scaling. Default: the workload that render-deployment renders.
    pub target: Option<String>,
    /// Image of the sidecar, for actors and platforms that set none. Default: `ASYA_SIDECAR_IMAGE` of
    /// the function, else `asya-sidecar:latest`.
    pub sidecar_image: Option<String>,
    /// Input of resolve-flavors. `platform` is for every step.
    #[serde(flatten)]
    pub resolve_flavors: function_resolve_flavors::Input,
    /// The queue's name, in place of the platform's template.
    #[serde(flatten)]
    pub queue: QueueInput,
    /// Input of report-status.
    #[serde(flatten)]
    pub report_status: function_report_status::Input,
}

/// A step of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StepName {
    /// Merges flavors and the actor's own fields into one resolved spec.
    ResolveFlavors,
    /// Renders the Queue.
    RenderQueue,
    /// Renders the workload.
    RenderDeployment,
    /// Adds sidecar, state proxies and runtime files to the workload.
    InjectSidecar,
    /// Renders the ScaledObject and its credentials.
    RenderScaledobject,
    /// Sets status, conditions and readiness.
    ReportStatus,
}

impl StepName {
    /// All steps, in the order of the pipeline.
    pub const ALL: [Self; 6] = [
        Self::ResolveFlavors,
        Self::RenderQueue,
        Self::RenderDeployment,
        Self::InjectSidecar,
        Self::RenderScaledobject,
        Self::ReportStatus,
    ];
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResolveFlavors => "resolve-flavors",
            Self::RenderQueue => "render-queue",
            Self::RenderDeployment => "render-deployment",
            Self::InjectSidecar => "inject-sidecar",
            Self::RenderScaledobject => "render-scaledobject",
            Self::ReportStatus => "report-status",
        })
    }
}

impl Input {
    /// The steps to run.
    ///
    /// # Errors
    /// When the list is empty, or not in the order of the pipeline: no step could read
    /// what a later one writes.
    pub(crate) fn steps(&self) -> Result<&[StepName], StepError> {
        let Some(steps) = &self.steps else {
            return Ok(&StepName::ALL);
        };
        if steps.is_empty() {
            return Err(invalid(
                "steps is empty: name the steps to run, or leave it out to run all",
            ));
        }
        match steps.windows(2).find(|pair| pair[0] >= pair[1]) {
            None => Ok(steps),
            Some(pair) => {
                let order = StepName::ALL.map(|step| step.to_string()).join(", ");
                Err(invalid(&format!(
                    "steps has \"{}\" after \"{}\": each step runs once, in the order {order}",
                    pair[1], pair[0]
                )))
            }
        }
    }
}

fn invalid(message: &str) -> StepError {
    let message = format!("the Composition's input for this step is invalid: {message}");
    let location = Location::input(["steps"]);
    StepError::config(Diagnostic::error(Code::InvalidInput, location, message))
}
