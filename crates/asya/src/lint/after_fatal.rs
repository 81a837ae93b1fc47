//! Errors after the first Fatal result. In the cluster it ends the pipeline; here the other steps run all the
//! same, and then all steps on what is left without the fields that have errors, so that one run reports
//! every error that can be known.

use std::collections::BTreeSet;

use actor::diagnostic::{Code, Diagnostic, Severity, Source};
use function_kit::{Facts, Note};
use merge::Segment;
use pipeline::{Composition, EngineError, Functions, Inputs, Outcome, RenderError, outcome};
use serde_json::Value;

use super::document::Document;
use crate::steps::RESOLVE_FLAVORS;

/// Functions without which another one has nothing to work on.
const NEEDED_BY: [(&str, &str); 1] = [("function-render-deployment", "function-inject-sidecar")];

/// Fields that decide how others are read. Without them, the rest means something else.
const DECISIVE: [&str; 6] = [
    "actor",
    "binding",
    "flavors",
    "runtime",
    "workload",
    "workloadRef",
];

/// Errors about a field that another one would repair, which is left out.
const REPAIRED_BY: [(Code, &str); 2] = [
    (Code::UndeclaredVolume, "volumes"),
    (Code::ServiceAccountRole, "serviceAccountName"),
];

/// Name of the flavor that gives what the fields with errors would give.
pub(super) const REST: &str = "asya-lint-rest";

/// What the steps returned.
#[derive(Debug)]
pub(super) struct Checked {
    /// State after the last step that ran.
    pub(super) outcome: Outcome,
    /// Facts of that step, with the diagnostics of all steps, each once.
    pub(super) facts: Facts,
}

/// Runs the steps. A step with a Fatal result is left out of the next run, with those that need it.
///
/// # Errors
/// When the pipeline cannot run.
pub(super) fn run(mut inputs: Inputs, functions: &Functions) -> Result<Checked, RenderError> {
    let mut notes: Vec<Note> = Vec::new();
    let mut last: Option<Outcome> = None;
    loop {
        let (found, fatal) = match outcome(&inputs, functions) {
            Ok(outcome) => (outcome, None),
            Err(RenderError::Engine(EngineError::Fatal { step, left, .. })) => (*left, Some(step)),
            Err(error) => match last {
                Some(outcome) => return Ok(checked(outcome, notes)),
                None => return Err(error),
            },
        };
        let is_first = last.is_none();
        let diagnostics = Facts::from_context(found.context.as_ref()).diagnostics;
        for note in diagnostics {
            // An input that a step misses is one that the step left out would have given.
            let is_consequence = !is_first && note.diagnostic.source == Source::Input;
            if !is_consequence && !notes.contains(&note) {
                notes.push(note);
            }
        }
        let rest = fatal.and_then(|step| without(inputs.composition.clone(), &step));
        match rest {
            Some(composition) => inputs.composition = composition,
            None => return Ok(checked(found, notes)),
        }
        last = Some(found);
    }
}

fn checked(outcome: Outcome, notes: Vec<Note>) -> Checked {
    let mut facts = Facts::from_context(outcome.context.as_ref());
    facts.diagnostics = notes;
    Checked { outcome, facts }
}

/// The Composition without a step; none if the others need it or nothing is left.
fn without(composition: Composition, step: &str) -> Option<Composition> {
    let (_, all) = composition.clone().without_unknown(|_| false);
    let [_, function] = all.iter().find(|[name, _]| name == step)?;
    if function == RESOLVE_FLAVORS {
        return None;
    }
    let is_needed = |name: &str| NEEDED_BY.contains(&(function.as_str(), name));
    let (rest, _) = composition.without_unknown(|name| name != function && !is_needed(name));
    (!rest.is_empty()).then_some(rest)
}

/// What cannot be used in a further run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Invalid {
    /// Top-level fields of the spec, in whichever document.
    pub(super) fields: BTreeSet<String>,
    /// True if the platform's settings have the error, or the transport that the actor chooses from them.
    pub(super) is_platform: bool,
}

impl Invalid {
    /// Adds what diagnostics report as invalid; returns whether a further run without it can find more.
    pub(super) fn add<'a>(&mut self, diagnostics: impl Iterator<Item = &'a Diagnostic>) -> bool {
        let before = (self.fields.len(), self.is_platform);
        for error in diagnostics.filter(|it| it.severity == Severity::Error) {
            let of_transport = match error.path.segments() {
                _ if error.source == Source::Platform => true,
                [_, Segment::Key(field), ..] => {
                    self.fields.insert(field.clone());
                    field == "transport"
                }
                _ => false,
            };
            self.is_platform |= of_transport;
        }
        let is_decisive = |field: &String| DECISIVE.contains(&field.as_str());
        before != (self.fields.len(), self.is_platform) && !self.fields.iter().any(is_decisive)
    }

    /// Returns whether an error may be there only because the fields are left out.
    pub(super) fn may_cause(&self, error: &Diagnostic) -> bool {
        let repaired_by =
            |(code, field): &(Code, &str)| *code == error.code && self.fields.contains(*field);
        REPAIRED_BY.iter().any(repaired_by)
    }

    /// The document without the fields.
    pub(super) fn removed_from(&self, document: &Document) -> Document {
        let mut rest = document.clone();
        for root in ["spec", "data"] {
            if let Some(Value::Object(_)) = document.get(&[root]) {
                let fields = rest.object.map_mut(&[root]);
                fields.retain(|field, _| !self.fields.contains(field));
            }
        }
        rest
    }
}

/// Returns whether an error of a run without some fields is one of the whole actor too: it is about a value
/// that the actor itself gives.
pub(super) fn is_of_whole(diagnostic: &Diagnostic, actor: &Document) -> bool {
    let mut segments = diagnostic.path.segments().iter();
    let root = match segments.next() {
        Some(Segment::Key(root)) => actor.get(&[root]),
        _ => None,
    };
    let value = segments.try_fold(root, |value, segment| {
        let inner = match segment {
            Segment::Key(key) => value?.get(key),
            Segment::Index(index) => value?.get(index),
        };
        inner.filter(|inner| !inner.is_null()).map(Some)
    });
    let is_field = matches!(
        diagnostic.path.segments(),
        [_, Segment::Key(field), ..] if !DECISIVE.contains(&field.as_str())
    );
    diagnostic.severity == Severity::Error
        && diagnostic.source == Source::Actor
        && is_field
        && value.is_some()
}
