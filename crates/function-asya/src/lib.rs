//! All steps of the pipeline in one function: one decode and one encode for each call,
//! and two or three calls for a reconcile in place of seven or eight.
//!
//! Each step is the very code of its own function, and gives what it would give in a
//! pipeline of six; see [`function_kit::run_steps`] for what happens between them. An
//! invalid actor ends the reconcile fatally with the same messages and conditions.
//!
//! ```
//! use function_asya::{Config, run};
//! use function_kit::cases::form; // requests as people write them
//! use serde_json::{Value, json};
//!
//! let mut document = json!({
//!     "observed": {"composite": {
//!         "metadata": {"name": "text-processor", "namespace": "prod"},
//!         "spec": {"image": "my-org/app:1", "handler": "app.handle"},
//!     }},
//! });
//! let answer = |document: &Value| {
//!     form::request(document).map(|request| form::response(&run(request, &Config::default())))
//! };
//!
//! // The first call asks for the platform's settings, and renders nothing yet …
//! let asked = answer(&document)?;
//! assert_eq!(asked["requirements"]["resources"]["asya-platform"]["name"], "asya-platform");
//!
//! // … and with them, and with the answer whether KEDA is installed, all steps run.
//! document["required"] = json!({"asya-platform": [{"data": {"transports": {
//!     "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
//! }}}]});
//! document["schemas"] = json!({"control-configmap": {}, "keda-scaledobject": {}});
//! let rendered = answer(&document)?;
//! let names: Vec<&String> = rendered["desired"]["resources"].as_object().unwrap().keys().collect();
//! assert_eq!(names[..3], ["deployment", "health", "queue"]);
//! assert_eq!(rendered["desired"]["composite"]["status"]["status"], "Creating");
//! # Ok::<(), String>(())
//! ```

mod input;

use function_kit::{Call, Step, StepError, run_steps};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};

pub use function_inject_sidecar::{Config, ReadScriptError};
pub use input::{Input, StepName};

/// Runs the steps that the input names.
pub fn run(request: RunFunctionRequest, config: &Config) -> RunFunctionResponse {
    run_steps(request, |call| chosen(call, config))
}

fn chosen<'a>(call: &Call, config: &'a Config) -> Result<Vec<Step<'a>>, StepError> {
    let input: Input = call.input()?;
    let steps = input.steps()?.iter();
    Ok(steps.map(|name| step(*name, config)).collect())
}

fn step(name: StepName, config: &Config) -> Step<'_> {
    match name {
        StepName::ResolveFlavors => Box::new(function_resolve_flavors::step),
        StepName::RenderQueue => Box::new(function_render_queue::step),
        StepName::RenderDeployment => Box::new(function_render_deployment::step),
        StepName::InjectSidecar => {
            Box::new(move |call| function_inject_sidecar::step(call, config))
        }
        StepName::RenderScaledobject => Box::new(function_render_scaledobject::step),
        StepName::ReportStatus => Box::new(function_report_status::step),
    }
}
