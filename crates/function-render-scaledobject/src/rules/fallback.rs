//! `scaling.fallback`: what KEDA does when it cannot count.

use actor::spec::Scaling;
use function_kit::Call;
use serde_json::Value;

use super::{NUMBER_MAX, set_by};

const BEHAVIORS: [&str; 5] = [
    "static",
    "currentReplicas",
    "currentReplicasIfHigher",
    "currentReplicasIfLower",
    "scalingModifiers",
];

pub(super) fn faults(call: &Call, scaling: &Scaling) -> Vec<String> {
    let Some(fallback) = &scaling.fallback else {
        return Vec::new();
    };
    let origin = |field: &str| set_by(call, ["fallback", field]);
    let mut faults = Vec::new();
    for field in ["failureThreshold", "replicas"] {
        let is_count = |value: &Value| value.as_u64().is_some_and(|n| n <= NUMBER_MAX.into());
        match fallback.get(field) {
            Some(value) if is_count(value) => {}
            Some(value) => faults.push(format!(
                "scaling.fallback.{field} is {value} ({}): set a number from 0 to {NUMBER_MAX}",
                origin(field)
            )),
            None => faults.push(format!(
                "scaling.fallback.{field} is missing: a fallback needs failureThreshold and replicas"
            )),
        }
    }
    if let Some(behavior) = fallback.get("behavior")
        && !BEHAVIORS.iter().any(|known| behavior == known)
    {
        faults.push(format!(
            "scaling.fallback.behavior is {behavior} ({}): set one of {}",
            origin("behavior"),
            BEHAVIORS.join(", ")
        ));
    }
    if scaling.advanced.metric_type.as_deref() == Some("Value") {
        faults.push(format!(
            "scaling.fallback cannot stand beside scaling.advanced.metricType \"Value\" ({}): KEDA falls back on average values only",
            set_by(call, ["advanced", "metricType"])
        ));
    }
    faults
}
