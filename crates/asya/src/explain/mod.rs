//! Who decided each field of an actor.
//!
//! The resolved spec and the flavors behind its fields are what resolve-flavors
//! itself says, run in process; defaults and what is derived come from the same
//! accessors that the later steps use.

mod conflicts;
mod defaults;
mod derived;
mod form;

use actor::diagnostic::{Code, Diagnostic};
use actor::spec::Spec;
use actor::{labels, queue};
use function_kit::value::struct_to_json;
use function_kit::{Facts, PLATFORM_KEY, SPEC_KEY, redacted, value};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

pub use conflicts::{Conflict, Side};
pub use derived::Derived;
pub(crate) use form::{conflict, origin};
pub use form::{document, table};

use crate::steps::{RESOLVE_FLAVORS, up_to_flavors};
use pipeline::{
    EngineError, Functions, Inputs, Machinery, Object, Outcome, RESOURCE_NAME, RenderError, outcome,
};

/// What stands in place of a value that may be secret.
const HIDDEN: &str = "***";

/// Who decided the fields of one actor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// The actor.
    pub actor: String,
    /// Its namespace.
    pub namespace: String,
    /// Every field of the resolved spec, and those that have a default; by path.
    pub fields: Vec<Field>,
    /// What follows from the fields.
    pub derived: Vec<Derived>,
    /// Where flavors contradict each other; nothing else is known then.
    pub conflicts: Vec<Conflict>,
    /// What is wrong, one line each.
    pub faults: Vec<String>,
    /// What the steps have found.
    pub diagnostics: Vec<Diagnostic>,
}

/// One field and who decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Where it is, in `spec`.
    pub path: FieldPath,
    /// Its value; `***` where that may be secret.
    pub value: Value,
    /// Its value, also where that may be secret: to compare, never to show.
    pub(crate) plain: Value,
    /// Who decided it.
    pub origin: Origin,
}

/// Who decided a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The flavor of that name.
    Flavor(String),
    /// The actor itself.
    Actor,
    /// The platform's settings, with the one that says so.
    Platform(String),
    /// The queue that the actor has already.
    LiveQueue,
    /// Nobody: it is the default. With what that follows from, if anything.
    Default(Option<String>),
}

/// Explains an actor.
///
/// # Errors
/// When nothing can be said of it. Faults of the actor itself are in the
/// explanation, beside what is known all the same.
pub fn explain(inputs: &Inputs, functions: &Functions) -> Result<Explanation, RenderError> {
    let mut explanation = Explanation {
        namespace: namespace(inputs).to_owned(),
        actor: name(inputs).to_owned(),
        ..Explanation::default()
    };
    let Some(composition) = up_to_flavors(inputs.composition.clone()) else {
        explanation.faults.push(format!(
            "Composition {:?} has no step that runs {RESOLVE_FLAVORS}, which knows who set what",
            inputs.composition.name()
        ));
        return Ok(explanation);
    };
    let inputs = Inputs {
        composition,
        ..inputs.clone()
    };
    let outcome = match outcome(&inputs, functions) {
        Ok(outcome) => outcome,
        Err(RenderError::Engine(error)) => {
            explanation.faults = error.lines();
            let EngineError::Fatal { left, .. } = error else {
                return Ok(explanation);
            };
            let errors = Facts::from_context(left.context.as_ref())
                .diagnostics
                .into_iter();
            explanation.diagnostics = errors.map(|note| note.diagnostic).collect();
            explanation.conflicts = conflicts::all(&inputs, &explanation.diagnostics);
            *left
        }
        Err(error) => return Err(error),
    };
    if let Some(resolved) = Resolved::read(&inputs, &outcome) {
        explanation.add(&resolved);
    }
    Ok(explanation)
}

/// What resolve-flavors came to.
#[derive(Debug)]
struct Resolved<'a> {
    inputs: &'a Inputs,
    document: Map<String, Value>,
    facts: Facts,
    platform: Map<String, Value>,
}

impl<'a> Resolved<'a> {
    /// None where it did not get as far as a resolved spec.
    fn read(inputs: &'a Inputs, outcome: &Outcome) -> Option<Self> {
        let xr = outcome
            .desired
            .composite
            .as_ref()
            .and_then(|xr| xr.resource.as_ref());
        let in_context = |key| value::map(outcome.context.as_ref()?, &[key]);
        let document = xr
            .and_then(|xr| value::map(xr, &["spec"]))
            .or_else(|| in_context(SPEC_KEY))?;
        let map = |document: Value| match document {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let platform = in_context(PLATFORM_KEY).map(struct_to_json);
        Some(Self {
            inputs,
            document: map(struct_to_json(document)),
            facts: Facts::from_context(outcome.context.as_ref()),
            platform: platform.map(map).unwrap_or_default(),
        })
    }

    /// The fields that are set.
    fn fields(&self) -> Vec<Field> {
        let shown = redacted(&self.document);
        let leaves = self.facts.origins.leaves(&self.document).into_iter();
        leaves
            .map(|(path, origin)| Field {
                plain: at(&self.document, &path).cloned().unwrap_or_default(),
                value: at(&shown, &path)
                    .cloned()
                    .unwrap_or_else(|| Value::from(HIDDEN)),
                origin: match origin {
                    merge::Origin::Layer(name) => Origin::Flavor(name),
                    merge::Origin::Top if path == FieldPath::from(["transport"]) => {
                        self.origin_of_transport()
                    }
                    merge::Origin::Top => Origin::Actor,
                },
                path,
            })
            .collect()
    }

    /// The object that exists of a composed resource.
    fn observed(&self, resource: &str) -> Option<&Object> {
        let mut observed = self.inputs.observed.iter();
        observed.find(|object| object.annotation(RESOURCE_NAME) == resource)
    }

    /// Resolve-flavors writes the effective transport into the resolved spec.
    fn origin_of_transport(&self) -> Origin {
        let own = self.inputs.composite.object().get(&["spec", "transport"]);
        if own.is_some_and(|own| !own.is_null()) {
            return Origin::Actor;
        }
        let live = self.observed(queue::RESOURCE_NAME);
        if live.is_some_and(|live| !live.label(labels::TRANSPORT).is_empty()) {
            return Origin::LiveQueue;
        }
        let chosen = self
            .platform
            .get("defaultTransport")
            .and_then(Value::as_str);
        Origin::Platform(match chosen {
            Some(name) if !name.is_empty() => "defaultTransport".to_owned(),
            _ => "the only enabled transport".to_owned(),
        })
    }
}

impl Explanation {
    fn add(&mut self, resolved: &Resolved<'_>) {
        self.fields = resolved.fields();
        match Spec::parse(Value::Object(resolved.document.clone())) {
            Ok(spec) => {
                defaults::add(self, resolved, &spec);
                derived::add(self, resolved, &spec);
            }
            Err(error) => {
                let location = resolved.facts.locate(&error.path);
                let message = format!("{} (set by {})", error.under("spec"), location.source);
                let diagnostic = Diagnostic::error(Code::InvalidValue, location, message);
                self.faults.push(diagnostic.to_string());
                self.diagnostics.push(diagnostic);
            }
        }
        self.fields.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Whether the field at `path`, or one inside it, is set.
    fn is_set(&self, path: &FieldPath) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|field| {
            field.path.segments().starts_with(path.segments()) && !field.value.is_null()
        })
    }
}

/// The value at a path.
fn at<'a>(document: &'a Map<String, Value>, path: &FieldPath) -> Option<&'a Value> {
    let (first, rest) = path.segments().split_first()?;
    let Segment::Key(first) = first else {
        return None;
    };
    rest.iter()
        .try_fold(document.get(first)?, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
}

/// The namespace of an actor: that of the claim, if it has one.
fn namespace(inputs: &Inputs) -> &str {
    let xr = inputs.composite.object();
    match xr.namespace() {
        "" => xr.label(labels::CLAIM_NAMESPACE),
        namespace => namespace,
    }
}

/// The name of the object that the user wrote: the claim, if there is one.
fn name(inputs: &Inputs) -> &str {
    let xr = inputs.composite.object();
    match xr.label(labels::CLAIM_NAME) {
        name if inputs.composite.machinery() == Machinery::Legacy && !name.is_empty() => name,
        _ => xr.name(),
    }
}
