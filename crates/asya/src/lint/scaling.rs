//! Scalings that cannot have an effect.

use actor::diagnostic::{Code, Diagnostic};
use function_kit::Facts;
use pipeline::Outcome;

use crate::render_result::resolved_spec;

/// Settings of the autoscaler that cannot have an effect.
pub(super) fn problems(facts: &Facts, outcome: &Outcome) -> Vec<Diagnostic> {
    let Some(spec) = resolved_spec(outcome) else {
        return Vec::new();
    };
    let scaling = &spec["scaling"];
    let set: Vec<&String> = scaling
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys())
        .collect();
    let number = |field: &str| scaling[field].as_u64();
    let warning = |field: &str, problem: String, help: &str| {
        let location = facts.locate(&["scaling", field].into());
        let message = format!("scaling.{field} has no effect: {problem}");
        Diagnostic::warning(Code::ScalingWithoutEffect, location, message).help(help)
    };
    if scaling["enabled"] == false {
        let others = set.iter().filter(|field| field.as_str() != "enabled");
        let problem = "scaling.enabled is false";
        return others
            .map(|field| warning(field, problem.to_owned(), "remove it, or turn scaling on"))
            .collect();
    }
    let mut found = Vec::new();
    let (min, idle) = (
        number("minReplicaCount").unwrap_or(0),
        number("idleReplicaCount"),
    );
    if min > 0 && idle.is_none() {
        for field in ["cooldownPeriod", "initialCooldownPeriod"] {
            if number(field).is_some() {
                let problem = format!("it delays scaling to zero, and minReplicaCount is {min}");
                found.push(warning(
                    field,
                    problem,
                    "scaling.advanced.behavior slows down scaling between 1 and more pods",
                ));
            }
        }
    }
    if number("maxReplicaCount").is_some_and(|max| max == min) && idle.is_none() {
        let problem = format!("minReplicaCount is {min} too, so the number of pods never changes");
        found.push(warning(
            "maxReplicaCount",
            problem,
            "raise it, or set scaling.enabled: false and replicas",
        ));
    }
    let least = number("minReplicaCount").unwrap_or(0);
    let most = number("maxReplicaCount").unwrap_or(10);
    let fallback = scaling["fallback"]["replicas"].as_u64();
    if let Some(replicas) = fallback.filter(|replicas| *replicas > most || *replicas < least) {
        let location = facts.locate(&["scaling", "fallback", "replicas"].into());
        let message = format!(
            "scaling.fallback.replicas {replicas} is outside of {least} to {most} pods, and the autoscaler keeps within these"
        );
        found.push(Diagnostic::warning(
            Code::ScalingWithoutEffect,
            location,
            message,
        ));
    }
    found
}
