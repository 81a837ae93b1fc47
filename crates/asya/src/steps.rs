//! The functions of Asya's own pipeline.

use function_inject_sidecar::{Config, ReadScriptError};

use serde_json::json;

use pipeline::{Composition, Functions};

/// The function that merges flavors.
pub const RESOLVE_FLAVORS: &str = "function-resolve-flavors";

/// The last function that renders objects.
const RENDER_SCALEDOBJECT: &str = "function-render-scaledobject";

/// The function that runs all steps, or those that its input names.
const ALL_STEPS: &str = "function-asya";

/// Every function, by the name of its package.
const OWN: [&str; 7] = [
    ALL_STEPS,
    RESOLVE_FLAVORS,
    "function-render-queue",
    "function-render-deployment",
    "function-inject-sidecar",
    RENDER_SCALEDOBJECT,
    "function-report-status",
];

/// Returns whether the name is that of one of Asya's own functions.
pub fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// The Composition up to the merge of flavors; none if it merges none.
pub fn up_to_flavors(composition: Composition) -> Option<Composition> {
    match composition.clone().up_to(RESOLVE_FLAVORS) {
        None => {
            let all = composition.up_to(ALL_STEPS)?;
            Some(all.with_input_of_last("steps", json!(["resolve-flavors"])))
        }
        up_to => up_to,
    }
}

/// The Composition up to the last step that renders. The step after it reports the status, and
/// removes the resolved spec, which the rendered objects are traced back to.
pub(crate) fn up_to_scaling(composition: Composition) -> Composition {
    let rendering = composition.clone().up_to(RENDER_SCALEDOBJECT);
    rendering.unwrap_or(composition)
}

/// All functions, as they run in the cluster. Their environment variables are read from this
/// process.
///
/// # Errors
/// When the environment names a runtime script that cannot be read.
pub fn functions() -> Result<Functions, ReadScriptError> {
    let [
        all_steps,
        resolve_flavors,
        render_queue,
        render_deployment,
        inject_sidecar,
        render_scaledobject,
        report_status,
    ] = OWN;
    let sidecar = Config::from_env()?;
    let sidecar_of_all = sidecar.clone();
    Ok(Functions::none()
        .with(all_steps, move |request| {
            function_asya::run(request, &sidecar_of_all)
        })
        .with(resolve_flavors, function_resolve_flavors::run)
        .with(render_queue, function_render_queue::run)
        .with(render_deployment, function_render_deployment::run)
        .with(inject_sidecar, move |request| {
            function_inject_sidecar::run(request, &sidecar)
        })
        .with(render_scaledobject, function_render_scaledobject::run)
        .with(report_status, function_report_status::run))
}
