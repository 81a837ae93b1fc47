//! The functions of the pipeline, for tests that call each of them.

use function_asya::Config;
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};

/// A function: from a request to a response.
pub(crate) type Run = fn(RunFunctionRequest) -> RunFunctionResponse;

/// Each step, by the name of its function, in the order of the pipeline.
pub(crate) const STEPS: [(&str, Run); 6] = [
    ("function-resolve-flavors", function_resolve_flavors::run),
    ("function-render-queue", function_render_queue::run),
    (
        "function-render-deployment",
        function_render_deployment::run,
    ),
    ("function-inject-sidecar", |request| {
        function_inject_sidecar::run(request, &Config::default())
    }),
    (
        "function-render-scaledobject",
        function_render_scaledobject::run,
    ),
    ("function-report-status", function_report_status::run),
];
