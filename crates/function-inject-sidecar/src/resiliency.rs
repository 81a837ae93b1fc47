//! Environment of the sidecar for timeouts and retries.

use actor::quantity::number_text;
use actor::spec::Resiliency;
use function_kit::{Code, Diagnostic};
use merge::{FieldPath, Segment};
use serde::Serialize;

use crate::Actor;
use crate::variables::Environment;

/// Adds the variables of both forms. What is not set is the sidecar's default; an
/// explicit `0` or `false` is passed on.
pub(crate) fn add(actor: &Actor, env: &mut Environment, errors: &mut Vec<Diagnostic>) {
    let Resiliency {
        actor_timeout: _,
        retry,
        non_retryable_errors,
        policies,
        rules,
    } = &actor.spec.resiliency;
    check(actor, errors);
    let whole = |number: u32| number.to_string();
    let retries = [
        ("POLICY", retry.policy.clone()),
        ("MAX_ATTEMPTS", retry.max_attempts.map(whole)),
        ("INITIAL_INTERVAL", retry.initial_interval.clone()),
        ("MAX_INTERVAL", retry.max_interval.clone()),
        (
            "BACKOFF_COEFFICIENT",
            retry.backoff_coefficient.as_ref().map(number_text),
        ),
        ("JITTER", retry.jitter.map(|jitter| jitter.to_string())),
    ];
    for (name, value) in retries {
        env.set_if(&format!("ASYA_RESILIENCY_RETRY_{name}"), value);
    }
    let errors = (!non_retryable_errors.is_empty()).then(|| non_retryable_errors.join(","));
    env.set_if("ASYA_RESILIENCY_NON_RETRYABLE_ERRORS", errors);
    let policies = (!policies.is_empty()).then(|| json_text(policies));
    env.set_if("ASYA_RESILIENCY_POLICIES", policies);
    let rules = (!rules.is_empty()).then(|| json_text(rules));
    env.set_if("ASYA_RESILIENCY_RULES", rules);
}

/// Adds the problems of the values.
fn check(actor: &Actor, errors: &mut Vec<Diagnostic>) {
    for problem in actor.spec.resiliency.problems() {
        let below = problem.path.segments().iter().cloned();
        let path: FieldPath = std::iter::once(Segment::from("resiliency"))
            .chain(below)
            .collect();
        let location = actor.call.locate(&path);
        let message = format!(
            "spec.{path}: {} (set by {})",
            problem.message, location.source
        );
        errors.push(Diagnostic::error(Code::InvalidRetry, location, message));
    }
}

/// JSON, for a value that was JSON before.
fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
