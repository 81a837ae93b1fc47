//! What the sidecar does on failure.

use actor::duration;
use actor::quantity::number_text;
use actor::spec::Resiliency;
use function_kit::{Code, Diagnostic};
use merge::FieldPath;
use serde::Serialize;

use crate::Actor;
use crate::environment::Environment;

const POLICIES: [&str; 2] = ["constant", "exponential"];

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

fn check(actor: &Actor, errors: &mut Vec<Diagnostic>) {
    let retry = &actor.spec.resiliency.retry;
    let mut error = |field: &str, problem: String| {
        let path = FieldPath::from(["resiliency", "retry", field]);
        let location = actor.call.locate(&path);
        let message = format!("spec.{path}: {problem} (set by {})", location.source);
        errors.push(Diagnostic::error(Code::InvalidRetry, location, message));
    };
    if let Some(policy) = retry
        .policy
        .as_deref()
        .filter(|name| !POLICIES.contains(name))
    {
        error(
            "policy",
            format!("{policy:?} is neither \"constant\" nor \"exponential\""),
        );
    }
    let intervals = [
        ("initialInterval", &retry.initial_interval),
        ("maxInterval", &retry.max_interval),
    ];
    for (field, interval) in intervals {
        if let Some(Err(invalid)) = interval.as_deref().map(duration::parse) {
            error(field, invalid.to_string());
        }
    }
}

/// JSON, for a value that was JSON before.
fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
