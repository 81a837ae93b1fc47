//! Values of `spec.resiliency` that a sidecar cannot work with.

use std::collections::BTreeMap;

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use super::Resiliency;
use crate::duration;

/// Most attempts that the sidecar counts.
const MAX_ATTEMPTS: u64 = u32::MAX as u64;
/// Kinds of the older form.
const POLICIES: [&str; 2] = ["constant", "exponential"];
/// Kinds of the newer form.
const BACKOFFS: [&str; 3] = ["constant", "linear", "exponential"];

/// One value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path below `resiliency`.
    pub path: FieldPath,
    /// The problem, in one line.
    pub message: String,
    /// True if another document may give the policy that is missing here.
    pub needs_policies: bool,
}

impl Resiliency {
    /// Values that `asya-sidecar` would refuse when it starts, or read as something else.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut errors = Errors(Vec::new());
        let retry = &self.retry;
        let retry_path = |field: &'static str| ["retry".into(), field.into()];
        if let Some(policy) = &retry.policy
            && !POLICIES.contains(&policy.as_str())
        {
            let problem = format!("{policy:?} is neither \"constant\" nor \"exponential\"");
            errors.add(retry_path("policy"), problem);
        }
        errors.interval(
            retry_path("initialInterval"),
            retry.initial_interval.as_deref(),
        );
        errors.interval(retry_path("maxInterval"), retry.max_interval.as_deref());
        errors.order(
            retry_path("initialInterval"),
            retry.initial_interval.as_deref(),
            retry.max_interval.as_deref(),
        );
        for (index, name) in self.non_retryable_errors.iter().enumerate() {
            if name.trim().is_empty() {
                let path = ["nonRetryableErrors".into(), index.into()];
                errors.add(path, "expected the name of an error");
            }
        }
        let coefficient = retry.backoff_coefficient.as_ref();
        if let Some(coefficient) = coefficient.filter(|it| it.as_f64().is_none_or(|it| it < 1.0)) {
            let problem = format!("{coefficient} is below 1: delays would get shorter");
            errors.add(retry_path("backoffCoefficient"), problem);
        }
        for (name, policy) in &self.policies {
            check_policy(name, policy, &mut errors);
        }
        for (index, rule) in self.rules.iter().enumerate() {
            check_rule(index, rule, &self.policies, &mut errors);
        }
        errors.0
    }
}

fn check_policy(name: &str, policy: &Map<String, Value>, errors: &mut Errors) {
    let path = |field: &'static str| ["policies".into(), name.into(), field.into()];
    if let Some(backoff) = policy.get("backoff")
        && !BACKOFFS.iter().any(|known| backoff == known)
    {
        let known = BACKOFFS.join(", ");
        errors.add(path("backoff"), format!("{backoff} is none of {known}"));
    }
    for field in ["initialDelay", "maxInterval", "maxDuration"] {
        match policy.get(field) {
            None => {}
            Some(Value::String(text)) => errors.interval(path(field), Some(text)),
            Some(other) => errors.add(
                path(field),
                format!("{other} is not a duration such as 10s"),
            ),
        }
    }
    let text = |field: &str| policy.get(field).and_then(Value::as_str);
    errors.order(
        path("initialDelay"),
        text("initialDelay"),
        text("maxInterval"),
    );
    if let Some(attempts) = policy.get("maxAttempts")
        && !attempts
            .as_u64()
            .is_some_and(|attempts| (1..=MAX_ATTEMPTS).contains(&attempts))
    {
        let problem = format!("{attempts} is not a whole number from 1 to {MAX_ATTEMPTS}");
        errors.add(path("maxAttempts"), problem);
    }
    if let Some(jitter) = policy.get("jitter").filter(|jitter| !jitter.is_boolean()) {
        errors.add(
            path("jitter"),
            format!("{jitter} is neither true nor false"),
        );
    }
    if let Some(actors) = policy.get("onExhausted")
        && !is_list_of_names(actors)
    {
        let problem = "expected a list of names of actors".to_owned();
        errors.add(path("onExhausted"), problem);
    }
}

fn check_rule(
    index: usize,
    rule: &Map<String, Value>,
    policies: &BTreeMap<String, Map<String, Value>>,
    errors: &mut Errors,
) {
    let path = |field: &'static str| ["rules".into(), index.into(), field.into()];
    if !rule.get("errors").is_some_and(is_list_of_names) {
        let problem = "expected a list of names of errors".to_owned();
        errors.add(path("errors"), problem);
    }
    let known = || policies.keys().cloned().collect::<Vec<_>>().join(", ");
    match rule.get("policy").and_then(Value::as_str) {
        Some(policy) if policies.contains_key(policy) => {}
        Some(policy) => {
            let message = match known() {
                known if known.is_empty() => {
                    format!("there is no policy {policy:?}: add it to resiliency.policies")
                }
                known => format!("there is no policy {policy:?}, only {known}"),
            };
            errors.0.push(Problem {
                path: path("policy").into_iter().collect(),
                message,
                needs_policies: true,
            });
        }
        None => errors.add(path("policy"), "expected the name of a policy".to_owned()),
    }
}

fn is_list_of_names(value: &Value) -> bool {
    let is_name = |item: &Value| item.as_str().is_some_and(|name| !name.is_empty());
    value
        .as_array()
        .is_some_and(|items| !items.is_empty() && items.iter().all(is_name))
}

/// Problems that were found so far.
struct Errors(Vec<Problem>);

impl Errors {
    fn add(&mut self, path: impl IntoIterator<Item = Segment>, message: impl Into<String>) {
        self.0.push(Problem {
            path: path.into_iter().collect(),
            message: message.into(),
            needs_policies: false,
        });
    }

    /// Checks that a duration is one, and above 0.
    fn interval(&mut self, path: impl IntoIterator<Item = Segment>, text: Option<&str>) {
        match text.map(duration::parse) {
            Some(Err(invalid)) => self.add(path, invalid.to_string()),
            Some(Ok(interval)) if interval.is_zero() => {
                self.add(
                    path,
                    "0 is no pause: leave it out, or set a duration such as 1s".to_owned(),
                );
            }
            None | Some(Ok(_)) => {}
        }
    }

    /// Checks that the first delay is not above the longest one.
    fn order(
        &mut self,
        path: impl IntoIterator<Item = Segment>,
        initial: Option<&str>,
        max: Option<&str>,
    ) {
        if let (Some(initial), Some(max)) = (initial, max)
            && let (Ok(first), Ok(longest)) = (duration::parse(initial), duration::parse(max))
            && !longest.is_zero()
            && first > longest
        {
            let problem =
                format!("{initial} is above maxInterval, {max}: lower the one or raise the other");
            self.add(path, problem);
        }
    }
}
