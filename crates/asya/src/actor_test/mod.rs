//! Cases of actors with what they shall come to, for the people who write flavors.
//!
//! The steps themselves run on the actor of each case. What is expected is a part of
//! what comes out: whatever a case does not mention may be anything.
//!
//! Pure: [`crate::inputs`] reads the files.

mod form;
mod subset;

use std::path::PathBuf;

use actor::yaml::{Position, Positions};
use merge::{FieldPath, Segment};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use form::{json, lines};

use self::subset::{Mismatch, mismatches};
use crate::pass::{Pass, Picture, Refusal, pass, spec};
use pipeline::{Functions, Inputs, Object};

/// API version of a case.
pub const API_VERSION: &str = "test.asya.sh/v1alpha1";
/// Kind of a case.
pub const KIND: &str = "ActorTest";

/// A case, without the actor and what it is made from.
#[derive(Debug, Clone)]
pub struct ActorTest {
    /// What it shows, in a sentence.
    pub name: String,
    /// The file that it is in.
    pub file: PathBuf,
    /// Where its fields stand.
    pub positions: Positions,
    /// What is expected.
    pub expect: Expectation,
}

/// What is expected of an actor. All of it must hold.
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
    /// Parts of the messages with which the actor is refused. Without any, it must not
    /// be.
    #[serde(default)]
    pub error: Texts,
    /// Parts of what the actor's conditions tell; if there are none in the list, they
    /// must tell nothing.
    pub warnings: Option<Vec<String>>,
}

/// What is not rendered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Absent {
    /// Any object of that kind.
    Kind(String),
    /// Any object of which this is a part.
    Object(Map<String, Value>),
}

/// One text, or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Texts {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Texts {
    fn each(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        }
    }
}

/// Something that is not as expected.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Where that is expected.
    pub position: Position,
    /// Where it is expected, in the case.
    pub path: FieldPath,
    /// What is expected where, and what there is.
    pub message: String,
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The case.
    pub test: ActorTest,
    /// What is not as expected; nothing where the case passed.
    pub failures: Vec<Failure>,
}

impl Expectation {
    /// Whether nothing at all is expected.
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
    match pass(inputs, functions) {
        Pass::Refused(refusal) => failures.of_refused(&refusal),
        Pass::Rendered(picture) => failures.of_rendered(&picture),
    }
    let failures = failures.found;
    Outcome { test, failures }
}

struct Failures<'a> {
    test: &'a ActorTest,
    found: Vec<Failure>,
}

impl Failures<'_> {
    /// Adds a failure at a path in `expect`.
    fn add(&mut self, path: &[Segment], message: String) {
        let mut segments = vec![Segment::from("expect")];
        segments.extend_from_slice(path);
        let path = FieldPath::from(segments);
        self.found.push(Failure {
            position: self.test.positions.of(&path),
            path,
            message,
        });
    }

    fn of_refused(&mut self, refusal: &Refusal) {
        let expect = &self.test.expect;
        let asked = expect.error.each();
        if asked.is_empty() {
            for message in &refusal.messages {
                self.add(&[], format!("the actor is refused: {message}"));
            }
            return;
        }
        self.texts("error", asked, &refusal.messages, "the messages are");
        let others = [
            ("objects", !expect.objects.is_empty()),
            ("spec", expect.spec.is_some()),
            ("warnings", expect.warnings.is_some()),
        ];
        for (field, is_expected) in others {
            if is_expected {
                let message = "the actor is refused, and comes to nothing else".to_owned();
                self.add(&[field.into()], message);
            }
        }
    }

    fn of_rendered(&mut self, picture: &Picture) {
        let expect = &self.test.expect;
        if let Some(text) = expect.error.each().first() {
            let message = format!("expected an error with {text:?}, and the actor is rendered");
            self.add(&["error".into()], message);
        }
        let objects: Vec<&Object> = std::iter::once(&picture.composite)
            .chain(picture.objects.values())
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
            let found = Value::Object(spec(&picture.fields));
            let found = mismatches(&Value::Object(expected.clone()), &found);
            self.mismatches(&["spec".into()], "resolved spec", found);
        }
        match &expect.warnings {
            Some(asked) if asked.is_empty() => {
                for note in &picture.notes {
                    self.add(
                        &["warnings".into()],
                        format!("expected no warning, found {note:?}"),
                    );
                }
            }
            Some(asked) => self.texts("warnings", asked, &picture.notes, "the warnings are"),
            None => {}
        }
    }

    /// Each of `asked` must be a part of one of `found`.
    fn texts(&mut self, field: &str, asked: &[String], found: &[String], they: &str) {
        for (index, text) in asked.iter().enumerate() {
            if !found.iter().any(|found| found.contains(text.as_str())) {
                let found = if found.is_empty() {
                    "there are none".to_owned()
                } else {
                    format!("{they} {}", found.join("; "))
                };
                let path = [field.into(), index.into()];
                self.add(&path, format!("expected {text:?}: {found}"));
            }
        }
    }

    /// One of the objects of that kind must have `expected` as a part; what the nearest
    /// of them lacks is told.
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
            None => "the object says no kind".to_owned(),
        };
        self.add(path, message);
    }

    fn mismatches(&mut self, path: &[Segment], of: &str, mismatches: Vec<Mismatch>) {
        for Mismatch {
            path: inner,
            place,
            fault,
        } in mismatches
        {
            let path = [path, &inner].concat();
            self.add(&path, format!("{of}: {place}: {fault}"));
        }
    }
}

fn value(object: &Object) -> Value {
    Value::Object(object.as_map().clone())
}
