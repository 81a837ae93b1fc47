//! Environment variables by which a flavor sets what the actor sets by a field, or by a variable of its
//! own in another environment.

use std::collections::BTreeSet;

use merge::{FieldPath, Segment};
use serde_json::Value;

use super::{Document, Lost, Yielding, is_set, keys_of};
use crate::names::RUNTIME_CONTAINER;
use crate::timeout;

/// Interpreter of the runtime, as field and as variable.
const INTERPRETER: (&[&str], &str) = (&["pythonExecutable"], "ASYA_PYTHONEXECUTABLE");

/// Fields of the actor, each with the variable that a sidecar or runtime reads in its place.
const FIELDS: [(&[&str], &str); 11] = [
    (&["resiliency", "actorTimeout"], timeout::VARIABLE),
    (
        &["resiliency", "retry", "policy"],
        "ASYA_RESILIENCY_RETRY_POLICY",
    ),
    (
        &["resiliency", "retry", "maxAttempts"],
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS",
    ),
    (
        &["resiliency", "retry", "initialInterval"],
        "ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL",
    ),
    (
        &["resiliency", "retry", "maxInterval"],
        "ASYA_RESILIENCY_RETRY_MAX_INTERVAL",
    ),
    (
        &["resiliency", "retry", "backoffCoefficient"],
        "ASYA_RESILIENCY_RETRY_BACKOFF_COEFFICIENT",
    ),
    (
        &["resiliency", "retry", "jitter"],
        "ASYA_RESILIENCY_RETRY_JITTER",
    ),
    (
        &["resiliency", "nonRetryableErrors"],
        "ASYA_RESILIENCY_NON_RETRYABLE_ERRORS",
    ),
    (&["resiliency", "policies"], "ASYA_RESILIENCY_POLICIES"),
    (&["resiliency", "rules"], "ASYA_RESILIENCY_RULES"),
    INTERPRETER,
];

/// Environments of the actor whose timeout holds for its sidecar too.
const ENVIRONMENTS: [&[&str]; 2] = [&["env"], &["runtime", "env"]];

impl Yielding<'_> {
    /// Removes the variables of what the actor sets from the environment in `place`.
    pub(super) fn remove_variables(&mut self, place: &mut Document, at: &[Segment]) {
        for (field, variable) in FIELDS {
            if is_set(value_at(self.own, field)) {
                self.remove_variable(place, at, variable, field);
            }
        }
        let own = self.own_environment_with(timeout::VARIABLE);
        if let Some(environment) = own {
            self.remove_variable(place, at, timeout::VARIABLE, environment);
        }
    }

    /// Removes the interpreter of the flavor, if a variable of the actor's sets one.
    pub(super) fn remove_interpreter(&mut self, flavor: &mut Document) {
        let ([field], variable) = INTERPRETER else {
            return;
        };
        let Some(environment) = self.own_environment_with(variable) else {
            return;
        };
        if flavor.remove(*field).is_some() {
            self.yielded.lost.push(Lost {
                path: FieldPath::from([*field]),
                by: environment.iter().copied().collect(),
                variable: None,
            });
        }
    }

    fn remove_variable(
        &mut self,
        place: &mut Document,
        at: &[Segment],
        variable: &'static str,
        by: &[&str],
    ) {
        let names = BTreeSet::from([vec![variable]]);
        let removed = self.remove_items(place, at, ("env", &["name"]), &names);
        let lost = removed.into_iter().map(|(path, _)| Lost {
            path,
            by: by.iter().copied().collect(),
            variable: Some(variable),
        });
        self.yielded.lost.extend(lost);
    }

    /// The environment of the actor in which it sets a variable of the runtime.
    fn own_environment_with(&self, variable: &str) -> Option<&'static [&'static str]> {
        let sets = |environment: Option<&Value>| {
            let variables = environment.and_then(Value::as_array).into_iter().flatten();
            let mut names = variables.filter_map(|item| keys_of(item, &["name"]));
            names.any(|name| name == [variable])
        };
        let inline = ENVIRONMENTS
            .into_iter()
            .find(|path| sets(value_at(self.own, path)));
        inline.or_else(|| {
            let containers = value_at(self.own, &["workload", "template", "spec", "containers"]);
            let containers = containers.and_then(Value::as_array).into_iter().flatten();
            let mut containers =
                containers.filter(|container| container["name"] == RUNTIME_CONTAINER);
            let is_set = containers.any(|container| sets(container.get("env")));
            is_set.then_some(&["workload", "template"] as &[&str])
        })
    }
}

fn value_at<'a>(document: &'a Document, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(document.get(*first)?, |value, key| value.get(*key))
}
