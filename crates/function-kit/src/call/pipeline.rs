//! Several steps in one call.
//!
//! Crossplane's work between two functions is done here in memory: a step gets the
//! desired state, the context and the facts as the step before it left them, and the
//! pipeline ends with the first step that ends fatally. Nothing is encoded in between.
//!
//! # When a step asks for something
//! Crossplane calls a function until what it asks for no longer changes, and goes on to the
//! next one only then. So a call ends with the first step that asks for something new:
//! it answers with all that was asked for so far, Crossplane fetches that and calls
//! again, and the steps run from the first one on with the context that they were given.
//!
//! # Invariant
//! An answer that does not hold what all steps desire is given only where Crossplane
//! must call again; otherwise it would be an order to delete the rest. A question that
//! Crossplane leaves open is therefore remembered in the context, under [`ASKED_KEY`],
//! and does not end a second call.

use std::collections::BTreeSet;

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Call;
use crate::StepError;
use crate::require::Requests;
use crate::value::{into_pb, pb_to_json};

/// Context key of what was asked for and is not answered, between two calls.
pub const ASKED_KEY: &str = "asya.sh/asked";

/// One of several steps.
pub type Step<'a> = Box<dyn Fn(&mut Call) -> Result<(), StepError> + 'a>;

/// Runs several steps, one after the other. `choose` selects them from the request; all
/// of them read the same input.
pub fn run_steps<'a>(
    request: RunFunctionRequest,
    choose: impl FnOnce(&Call) -> Result<Vec<Step<'a>>, StepError>,
) -> RunFunctionResponse {
    let mut call = Call::new(request);
    let asked_before = call.take_asked();
    let given = call.context.clone();
    let is_complete = choose(&call)
        .and_then(|steps| call.run_each(&steps, &asked_before))
        .unwrap_or_else(|error| {
            call.fail(&error);
            true
        });
    let open = Questions::open(&call.requests);
    let mut response = call.into_response();
    if !is_complete {
        response.context = given;
    }
    if open != Questions::default() {
        let context = response.context.get_or_insert_default();
        let open = into_pb(json!(open));
        context.fields.insert(ASKED_KEY.to_owned(), open);
    }
    response
}

impl Call {
    /// Requirements of the call before this one that do not exist. No other step reads it.
    fn take_asked(&mut self) -> Questions {
        let context = self.context.as_mut();
        let asked = context.and_then(|context| context.fields.remove(ASKED_KEY));
        asked
            .and_then(|asked| serde_json::from_value(pb_to_json(&asked)).ok())
            .unwrap_or_default()
    }

    /// Runs the steps; returns whether all of them have run with everything that they require.
    fn run_each(&mut self, steps: &[Step], asked_before: &Questions) -> Result<bool, StepError> {
        let mut ttl_seconds = 0;
        for step in steps {
            self.ttl_seconds = 0;
            step(self)?;
            ttl_seconds = sooner(ttl_seconds, self.ttl_seconds);
            if !Questions::open(&self.requests).is_subset_of(asked_before) {
                return Ok(false);
            }
        }
        self.ttl_seconds = ttl_seconds;
        Ok(true)
    }
}

/// The smaller of two times to the next reconcile, as Crossplane takes it of all steps; 0 is
/// none.
fn sooner(one: u32, other: u32) -> u32 {
    [one, other]
        .into_iter()
        .filter(|seconds| *seconds > 0)
        .min()
        .unwrap_or_default()
}

/// Keys of requirements.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Questions {
    resources: BTreeSet<String>,
    schemas: BTreeSet<String>,
}

impl Questions {
    /// Requirements without an answer.
    fn open(requests: &Requests) -> Self {
        let asked = &requests.asked;
        let resources = asked.resources.keys().chain(asked.extra_resources.keys());
        let schemas = asked.schemas.keys();
        Self {
            resources: resources
                .filter(|key| requests.fetched(key).is_none())
                .cloned()
                .collect(),
            schemas: schemas
                .filter(|key| !requests.schemas.contains_key(*key))
                .cloned()
                .collect(),
        }
    }

    fn is_subset_of(&self, other: &Self) -> bool {
        self.resources.is_subset(&other.resources) && self.schemas.is_subset(&other.schemas)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use actor::diagnostic::{Code, Diagnostic, Location};
    use function_proto::v1::{Resource, Resources, Severity};
    use serde_json::Value;

    use super::*;
    use crate::value::struct_to_json;

    /// Plays Crossplane: calls until what is asked for no longer changes, with every object
    /// that is in `exists` and those that are not as absent; what `mute` says is never
    /// answered. Returns each answer.
    fn calls(
        exists: &[&str],
        mute: &[&str],
        run: impl Fn(RunFunctionRequest) -> RunFunctionResponse,
    ) -> Vec<RunFunctionResponse> {
        let mut request = RunFunctionRequest::default();
        let mut answers: Vec<RunFunctionResponse> = Vec::new();
        loop {
            let answer = run(request.clone());
            let before = answers.last().map(|answer| answer.requirements.clone());
            let is_stable = before.unwrap_or_default() == answer.requirements;
            let is_fatal = !answer.results.is_empty();
            request.context.clone_from(&answer.context);
            let asked = answer.requirements.clone().unwrap_or_default();
            answers.push(answer);
            if is_stable || is_fatal {
                return answers;
            }
            assert!(answers.len() < 6, "Crossplane has given up");
            let answered = asked
                .resources
                .into_keys()
                .filter(|key| !mute.contains(&key.as_str()));
            request.required_resources = answered
                .map(|key| {
                    let found = exists.contains(&key.as_str());
                    let items = if found {
                        vec![Resource::default()]
                    } else {
                        Vec::new()
                    };
                    (key, Resources { items })
                })
                .collect();
        }
    }

    /// A step that asks for an object and composes one of the same name in any case.
    fn asking(key: &'static str) -> Step<'static> {
        Box::new(move |call| {
            call.require(key, ("v1", "ConfigMap"), key, None);
            call.compose(key, json!({"kind": "ConfigMap"}));
            Ok(())
        })
    }

    fn names(response: &RunFunctionResponse) -> Vec<&str> {
        let desired = response.desired.iter();
        let mut names: Vec<&str> = desired
            .flat_map(|desired| desired.resources.keys().map(String::as_str))
            .collect();
        names.sort_unstable();
        names
    }

    fn context(response: &RunFunctionResponse) -> Value {
        let context = response.context.clone().unwrap_or_default();
        Value::Object(
            struct_to_json(&context)
                .as_object()
                .cloned()
                .unwrap_or_default(),
        )
    }

    #[test]
    fn a_step_runs_when_the_one_before_it_knows_all_it_asks_for() {
        let answers = calls(&["one"], &[], |request| {
            run_steps(request, |_| Ok(vec![asking("one"), asking("two")]))
        });
        let seen: Vec<_> = answers.iter().map(names).collect();
        assert_eq!(seen, [vec!["one"], vec!["one", "two"], vec!["one", "two"]]);
        assert_eq!(context(&answers[2]), json!({}), "nothing of it is left");
    }

    #[test]
    fn unanswered_requirements_delete_no_object() {
        for mute in ["one", "two"] {
            let answers = calls(&["one", "two"], &[mute], |request| {
                run_steps(request, |_| Ok(vec![asking("one"), asking("two")]))
            });
            let last = answers.last().unwrap();
            assert_eq!(names(last), ["one", "two"], "{mute}");
        }
    }

    #[test]
    fn each_call_begins_with_the_context_that_was_given() {
        let seen = RefCell::new(Vec::new());
        calls(&[], &[], |request| {
            run_steps(request, |_| {
                let first: Step = Box::new(|call| {
                    seen.borrow_mut().push(call.context("trace").is_some());
                    call.set_context("trace", json!("of the first step"));
                    Ok(())
                });
                Ok(vec![first, asking("one")])
            })
        });
        assert_eq!(seen.into_inner(), [false, false]);
    }

    #[test]
    fn an_error_ends_the_steps_and_keeps_their_conditions() {
        let ran = RefCell::new(false);
        let answer = run_steps(RunFunctionRequest::default(), |_| {
            let faulty: Step = Box::new(|_| {
                Err(StepError::config(Diagnostic::error(
                    Code::ImageMissing,
                    Location::actor(["spec", "image"]),
                    "no image",
                )))
            });
            let later: Step = Box::new(|_| {
                *ran.borrow_mut() = true;
                Ok(())
            });
            let returning: Step = Box::new(|call| {
                let flavors = actor::status::ConditionType::FlavorsResolved;
                call.condition(flavors, Some(true), "Resolved", None);
                Ok(())
            });
            Ok(vec![returning, faulty, later])
        });
        assert!(!ran.into_inner());
        assert_eq!(answer.results[0].severity, Severity::Fatal as i32);
        let reasons = answer.conditions.iter().map(|c| c.reason.as_str());
        let reasons: Vec<_> = reasons.collect();
        assert_eq!(
            reasons,
            ["Resolved", "NotChecked", "NotChecked", "ConfigError"]
        );
    }

    #[test]
    fn the_sooner_of_two_times_counts_and_none_is_not_at_once() {
        let cases = [(0, 0, 0), (0, 15, 15), (15, 0, 15), (60, 15, 15)];
        for (one, other, expected) in cases {
            let answer = run_steps(RunFunctionRequest::default(), |_| {
                let step = |seconds| -> Step {
                    Box::new(move |call| {
                        call.set_ttl_seconds(seconds);
                        Ok(())
                    })
                };
                Ok(vec![step(one), step(other)])
            });
            let ttl = answer.meta.and_then(|meta| meta.ttl).unwrap_or_default();
            assert_eq!(ttl.seconds, i64::from(expected), "{one}, {other}");
        }
    }
}
