//! `ActorTest`: cases of actors with expected objects, for authors of flavors.
//!
//! The functions render the actor of each case. An expectation is a part of the result: fields that
//! a case does not mention may have any value.
//!
//! Pure: [`crate::inputs`] reads the files.

mod expected;
mod form;
mod subset;
mod unknown_fields;

use std::path::PathBuf;

use actor::diagnostic::Diagnostic;
use actor::yaml::{Position, Positions};
use function_kit::Note;
use merge::{FieldPath, Segment};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use expected::{ExpectedDiagnostic, ExpectedFields, OneOrMany};
pub use form::{json, junit, lines};
pub use unknown_fields::{InlineActor, UnknownField, unknown_fields};

use self::subset::{Mismatch, mismatches};
use crate::diagnostics::note_line;
use crate::render_result::{Refusal, RenderResult, RenderedActor, render_actor, spec};
use pipeline::{Functions, Inputs, Object};

/// API version of a case.
pub const API_VERSION: &str = "test.asya.sh/v1alpha1";
/// Kind of a case.
pub const KIND: &str = "ActorTest";

/// A case without its actor, flavors and settings.
#[derive(Debug, Clone)]
pub struct ActorTest {
    /// Its name: a sentence.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// Positions of its fields in the file.
    pub positions: Positions,
    /// The expectation.
    pub expect: Expectation,
}

/// Expectations about an actor, all of which must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Parts of objects that are rendered, each with its `kind`.
    #[serde(default)]
    pub objects: Vec<Map<String, Value>>,
    /// Kinds, or parts of objects, of which none is rendered.
    #[serde(default)]
    pub absent: Vec<Absent>,
    /// A part of the resolved spec, defaults included.
    pub spec: Option<Map<String, Value>>,
    /// Errors for which the actor is refused. If empty, the actor must not be refused.
    #[serde(default)]
    pub error: OneOrMany<ExpectedDiagnostic>,
    /// Warnings in the actor's conditions. An empty list expects no warning.
    pub warnings: Option<Vec<ExpectedDiagnostic>>,
}

/// An object that must not be rendered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Absent {
    /// Any object of that kind.
    Kind(String),
    /// Any object of which this is a part.
    Object(Map<String, Value>),
}

/// An expectation that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Position of the expectation in its file.
    pub position: Position,
    /// Path of the expectation in its case.
    pub path: FieldPath,
    /// The expected and the actual value.
    pub message: String,
    /// The diagnostic that was not expected, if the failure is about one.
    pub diagnostic: Option<Diagnostic>,
}

/// The result of a case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The case.
    pub test: ActorTest,
    /// Expectations that do not hold; empty if the case passed.
    pub failures: Vec<Failure>,
    /// Errors of a refused actor, or diagnostics in the conditions of a rendered one.
    pub reported: Reported,
}

/// A case that cannot run, or a file of cases that cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidCase {
    /// Its name; that of its file if it has none.
    pub name: String,
    /// Its file; none if the problem is not one of a file.
    pub file: Option<PathBuf>,
    /// Position of the problem, if it is known.
    pub position: Option<Position>,
    /// The problem, in one line.
    pub message: String,
}

/// The results of all cases.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Cases that ran.
    pub outcomes: Vec<Outcome>,
    /// Cases that cannot run.
    pub invalid: Vec<InvalidCase>,
}

/// Diagnostics of the actor of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Reported {
    /// The actor is refused.
    Errors(Vec<Diagnostic>),
    /// The actor is rendered.
    Notes(Vec<Note>),
}

impl Expectation {
    /// Returns whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Runs the steps on the actor of a case.
pub fn run(test: ActorTest, inputs: &Inputs, functions: &Functions) -> Outcome {
    let mut failures = Failures {
        test: &test,
        found: Vec::new(),
    };
    let reported = match render_actor(inputs, functions) {
        RenderResult::Refused(refusal) => {
            failures.of_refused(&refusal);
            Reported::Errors(refusal.errors)
        }
        RenderResult::Rendered(actor) => {
            failures.of_rendered(&actor);
            Reported::Notes(actor.notes)
        }
    };
    let failures = failures.found;
    Outcome {
        test,
        failures,
        reported,
    }
}

struct Failures<'a> {
    test: &'a ActorTest,
    found: Vec<Failure>,
}

impl Failures<'_> {
    /// Adds a failure at a path in `expect`.
    fn add(&mut self, path: &[Segment], message: String) {
        self.add_about(path, message, None);
    }

    /// Adds a failure about a diagnostic.
    fn add_about(&mut self, path: &[Segment], message: String, diagnostic: Option<&Diagnostic>) {
        let mut segments = vec![Segment::from("expect")];
        segments.extend_from_slice(path);
        let path = FieldPath::from(segments);
        self.found.push(Failure {
            position: self.test.positions.of(&path),
            path,
            message,
            diagnostic: diagnostic.cloned(),
        });
    }

    fn of_refused(&mut self, refusal: &Refusal) {
        let expect = &self.test.expect;
        let expected = expect.error.items();
        if expected.is_empty() {
            for error in &refusal.errors {
                let message = format!("the actor is refused: {error}");
                self.add_about(&[], message, Some(error));
            }
            return;
        }
        let errors = refusal.errors.iter();
        let errors: Vec<_> = errors.map(|error| (error, error.to_string())).collect();
        self.diagnostics("error", expected, &errors, "the messages are");
        let others = [
            ("objects", !expect.objects.is_empty()),
            ("spec", expect.spec.is_some()),
            ("warnings", expect.warnings.is_some()),
        ];
        for (field, is_expected) in others {
            if is_expected {
                let message = "the actor is refused and has no objects".to_owned();
                self.add(&[field.into()], message);
            }
        }
    }

    fn of_rendered(&mut self, actor: &RenderedActor) {
        let expect = &self.test.expect;
        if let Some(error) = expect.error.items().first() {
            let message = format!("expected an error with {error}, and the actor is rendered");
            self.add(&["error".into()], message);
        }
        let objects: Vec<&Object> = std::iter::once(&actor.composite)
            .chain(actor.objects.values())
            .collect();
        for (index, expected) in expect.objects.iter().enumerate() {
            self.object(&["objects".into(), index.into()], expected, &objects);
        }
        for (index, absent) in expect.absent.iter().enumerate() {
            let part = match absent {
                Absent::Kind(kind) => json!({"kind": kind}),
                Absent::Object(part) => Value::Object(part.clone()),
            };
            let mut present = objects.iter();
            if let Some(present) =
                present.find(|object| mismatches(&part, &value(object)).is_empty())
            {
                let message = format!("expected no such object, found {present}");
                self.add(&["absent".into(), index.into()], message);
            }
        }
        if let Some(expected) = &expect.spec {
            let found = Value::Object(spec(&actor.fields));
            let found = mismatches(&Value::Object(expected.clone()), &found);
            self.mismatches(&["spec".into()], "resolved spec", found);
        }
        let notes = actor.notes.iter();
        let notes: Vec<_> = notes
            .map(|note| (&note.diagnostic, note_line(note)))
            .collect();
        match &expect.warnings {
            Some(expected) if expected.is_empty() => {
                for (diagnostic, line) in notes {
                    let message = format!("expected no warning, found {line:?}");
                    self.add_about(&["warnings".into()], message, Some(diagnostic));
                }
            }
            Some(expected) => self.diagnostics("warnings", expected, &notes, "the warnings are"),
            None => {}
        }
    }

    /// Checks that each of `expected` describes one of `found`, each given with its line.
    fn diagnostics(
        &mut self,
        field: &str,
        expected: &[ExpectedDiagnostic],
        found: &[(&Diagnostic, String)],
        they: &str,
    ) {
        for (index, expected) in expected.iter().enumerate() {
            let mut all = found.iter();
            if !all.any(|(diagnostic, line)| expected.describes(diagnostic, line)) {
                let lines: Vec<&str> = found.iter().map(|(_, line)| line.as_str()).collect();
                let found = if lines.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("{they} {}", lines.join("; "))
                };
                let path = [field.into(), index.into()];
                self.add(&path, format!("expected {expected}: {found}"));
            }
        }
    }

    /// Checks that one of the objects of that kind has `expected` as a part. A failure lists the
    /// mismatches of the nearest object.
    fn object(&mut self, path: &[Segment], expected: &Map<String, Value>, objects: &[&Object]) {
        let kind = expected.get("kind").and_then(Value::as_str);
        let part = Value::Object(expected.clone());
        let same_kind = objects.iter().filter(|object| Some(object.kind()) == kind);
        let nearest = same_kind
            .map(|object| (object, mismatches(&part, &value(object))))
            .min_by_key(|(_, mismatches)| mismatches.len());
        if let Some((object, found)) = nearest {
            self.mismatches(path, &object.to_string(), found);
            return;
        }
        let mut kinds: Vec<&str> = objects.iter().map(|object| object.kind()).collect();
        kinds.dedup();
        let kinds = kinds.join(", ");
        let message = match kind {
            Some(kind) => format!("expected an object of kind {kind:?}, found {kinds}"),
            None => "the expected object has no kind".to_owned(),
        };
        self.add(path, message);
    }

    fn mismatches(&mut self, path: &[Segment], of: &str, mismatches: Vec<Mismatch>) {
        for Mismatch {
            path: inner,
            place,
            problem,
        } in mismatches
        {
            let path = [path, &inner].concat();
            self.add(&path, format!("{of}: {place}: {problem}"));
        }
    }
}

fn value(object: &Object) -> Value {
    Value::Object(object.as_map().clone())
}
