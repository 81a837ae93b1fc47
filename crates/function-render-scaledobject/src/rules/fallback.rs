//! `scaling.fallback`: what KEDA does when it cannot count.

use actor::spec::Scaling;
use function_kit::{Call, Code, Diagnostic};
use serde_json::Value;

use super::{NUMBER_MAX, locate};

const BEHAVIORS: [&str; 5] = [
    "static",
    "currentReplicas",
    "currentReplicasIfHigher",
    "currentReplicasIfLower",
    "scalingModifiers",
];

pub(super) fn check(call: &Call, scaling: &Scaling) -> Vec<Diagnostic> {
    let Some(fallback) = &scaling.fallback else {
        return Vec::new();
    };
    let at = |field: &str| locate(call, ["fallback", field]);
    let set_by = |field: &str| format!("set by {}", at(field).source);
    let error = |field: &str, message: String, help: String| {
        Diagnostic::error(Code::InvalidFallback, at(field), message).help(help)
    };
    let mut errors = Vec::new();
    for field in ["failureThreshold", "replicas"] {
        let is_count = |value: &Value| value.as_u64().is_some_and(|n| n <= NUMBER_MAX.into());
        match fallback.get(field) {
            Some(value) if is_count(value) => {}
            Some(value) => errors.push(error(
                field,
                format!("scaling.fallback.{field} is {value} ({})", set_by(field)),
                format!("set a number from 0 to {NUMBER_MAX}"),
            )),
            None => errors.push(error(
                field,
                format!("scaling.fallback.{field} is missing"),
                "a fallback needs failureThreshold and replicas".to_owned(),
            )),
        }
    }
    if let Some(behavior) = fallback.get("behavior")
        && !BEHAVIORS.iter().any(|known| behavior == known)
    {
        let origin = set_by("behavior");
        errors.push(error(
            "behavior",
            format!("scaling.fallback.behavior is {behavior} ({origin})"),
            format!("set one of {}", BEHAVIORS.join(", ")),
        ));
    }
    if scaling.advanced.metric_type.as_deref() == Some("Value") {
        let metric_type = locate(call, ["advanced", "metricType"]);
        let message = format!(
            "scaling.fallback cannot stand beside scaling.advanced.metricType \"Value\" (set by {})",
            metric_type.source
        );
        errors.push(
            Diagnostic::error(Code::InvalidFallback, locate(call, ["fallback"]), message)
                .related([metric_type])
                .help("KEDA falls back on average values only"),
        );
    }
    errors
}
