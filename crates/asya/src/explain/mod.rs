//! The origin of each field of an actor.
//!
//! resolve-flavors, run in process, returns the resolved spec and the flavor that set each field.
//! Defaults and derived values come from the accessors that the later steps use. All steps run too:
//! an actor that cannot be rendered cannot be explained without an error.

mod conflicts;
mod defaults;
mod derived;
mod form;
mod leaves;
mod objects;
mod rendered;

use std::collections::BTreeMap;

use actor::diagnostic::{Code, Diagnostic, Location, Severity};
use actor::spec::{Spec, is_set_by_template};
use actor::{labels, queue};
use function_kit::value::struct_to_json;
use function_kit::{Facts, PLATFORM_KEY, SPEC_KEY, redacted, value};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

pub use conflicts::{Conflict, Side};
pub use derived::Derived;
pub(crate) use form::{conflict, origin};
pub use form::{document, table};
pub use leaves::RenderedLeaf;

use crate::diagnostics;
use crate::steps::{RESOLVE_FLAVORS, up_to_flavors};
use pipeline::{
    EngineError, Functions, Inputs, Machinery, Object, Outcome, RESOURCE_NAME, RenderError,
    Rendered, outcome, render,
};

/// Mask of a value that may be secret.
const HIDDEN: &str = "***";

/// The origins of one actor's fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// The actor.
    pub actor: String,
    /// Its namespace.
    pub namespace: String,
    /// Every field of the resolved spec, and those that have a default; by path.
    pub fields: Vec<Field>,
    /// Leaves of the rendered objects that no field shows: further defaults of the steps.
    pub rendered: Vec<RenderedLeaf>,
    /// Values that are derived from the fields.
    pub derived: Vec<Derived>,
    /// Conflicts between flavors; nothing else is known then.
    pub conflicts: Vec<Conflict>,
    /// Errors, warnings and notes of the steps.
    pub diagnostics: Vec<Diagnostic>,
}

/// One field and its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its path in `spec`.
    pub path: FieldPath,
    /// Its value; `***` where that may be secret.
    pub value: Value,
    /// Its value, also where that may be secret: to compare, never to show.
    pub(crate) plain: Value,
    /// The document that set it.
    pub origin: Origin,
    /// Whether the actor's pod template sets the same, so that this has no effect.
    pub is_replaced: bool,
}

/// The document that set a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The flavor of that name.
    Flavor(String),
    /// The actor itself.
    Actor,
    /// The platform's settings, with the setting.
    Platform(String),
    /// The actor's existing queue.
    LiveQueue,
    /// None: it is the default, with the source of that default if it has one.
    Default(Option<String>),
}

/// Explains an actor. Errors of the actor itself are among the diagnostics, beside the fields that
/// are known all the same.
///
/// # Errors
/// When the Composition cannot run at all.
pub fn explain(inputs: &Inputs, functions: &Functions) -> Result<Explanation, RenderError> {
    explain_rendered(inputs, functions, &render(inputs, functions))
}

/// Explains an actor that was rendered with these functions.
///
/// # Errors
/// As [`explain`].
pub(crate) fn explain_rendered(
    inputs: &Inputs,
    functions: &Functions,
    rendered: &Result<Rendered, RenderError>,
) -> Result<Explanation, RenderError> {
    let mut explanation = Explanation {
        namespace: namespace(inputs).to_owned(),
        actor: name(inputs).to_owned(),
        ..Explanation::default()
    };
    let Some(composition) = up_to_flavors(inputs.composition.clone()) else {
        let message = format!(
            "Composition {:?} has no step that runs {RESOLVE_FLAVORS}, which reports the origin of each field",
            inputs.composition.name()
        );
        let location = Location::actor(FieldPath::default());
        let error = Diagnostic::error(Code::NoFlavorsStep, location, message);
        explanation.diagnostics.push(error);
        return Ok(explanation);
    };
    explanation.diagnostics = match rendered {
        Ok(rendered) => {
            let facts = Facts::from_context(rendered.context.as_ref());
            let notes = facts.diagnostics.into_iter();
            notes.map(|note| note.diagnostic).collect()
        }
        Err(error) => diagnostics::of_error(error),
    };
    let inputs = Inputs {
        composition,
        ..inputs.clone()
    };
    let outcome = match outcome(&inputs, functions) {
        Ok(outcome) => outcome,
        Err(RenderError::Engine(EngineError::Fatal { left, .. })) => *left,
        Err(RenderError::Engine(_)) => return Ok(explanation),
        Err(error) => return Err(error),
    };
    explanation.conflicts = conflicts::all(&inputs, &explanation.diagnostics);
    if let Some(resolved) = Resolved::read(&inputs, &outcome) {
        let composed = rendered.as_ref().map(|rendered| &rendered.composed);
        explanation.add(&resolved, composed.ok());
    }
    Ok(explanation)
}

/// The result of resolve-flavors.
#[derive(Debug)]
struct Resolved<'a> {
    inputs: &'a Inputs,
    document: Map<String, Value>,
    facts: Facts,
    platform: Map<String, Value>,
}

impl<'a> Resolved<'a> {
    /// None where the step ended before it had a resolved spec.
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
                is_replaced: is_set_by_template(&self.document, &path),
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
    fn add(&mut self, resolved: &Resolved<'_>, composed: Option<&BTreeMap<String, Object>>) {
        self.fields = resolved.fields();
        match Spec::parse(Value::Object(resolved.document.clone())) {
            Ok(spec) => {
                defaults::add(self, resolved, &spec);
                if let Some(composed) = composed {
                    rendered::add(self, resolved, &spec, composed);
                    leaves::add(self, resolved, &spec, composed);
                    objects::add(self, composed);
                }
                derived::add(self, resolved, &spec);
            }
            Err(error) => {
                let location = resolved.facts.locate(&error.path);
                let message = format!("{} (set by {})", error.under("spec"), location.source);
                self.add_error(Diagnostic::error(Code::InvalidValue, location, message));
            }
        }
        self.fields.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// The errors, for which the actor is not rendered.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let diagnostics = self.diagnostics.iter();
        diagnostics.filter(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Adds an error that no step of the Composition has reported: with all of Asya's steps a later
    /// step reports it.
    fn add_error(&mut self, error: Diagnostic) {
        if self.errors().next().is_none() {
            self.diagnostics.push(error);
        }
    }

    /// Returns whether the field at `path`, or one inside it, is set.
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
