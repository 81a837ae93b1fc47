//! The result of rendering one actor: its objects and the origin of each field, or the reasons why
//! it is refused.

use std::collections::BTreeMap;

use actor::diagnostic::Diagnostic;
use function_kit::{Facts, Note, SPEC_KEY, value};
use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::diagnostics;
use crate::explain::{Conflict, Field, Origin, explain_rendered};
use pipeline::{Functions, Inputs, Object, Outcome, render};

/// The result of rendering an actor.
#[derive(Debug, Clone)]
pub(crate) enum RenderResult {
    /// Its objects, with the origin of each field.
    Rendered(Box<RenderedActor>),
    /// No objects: Crossplane would change and delete nothing either.
    Refused(Refusal),
}

/// An actor and its objects.
#[derive(Debug, Clone)]
pub(crate) struct RenderedActor {
    /// The actor, as Crossplane writes it.
    pub(crate) composite: Object,
    /// The composed objects, by the name of the composed resource.
    pub(crate) objects: BTreeMap<String, Object>,
    /// Diagnostics in the actor's conditions, each with its condition.
    pub(crate) notes: Vec<Note>,
    /// Fields of the resolved spec and defaults, with their origins.
    pub(crate) fields: Vec<Field>,
}

/// Refusal of an actor that is not rendered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The errors; at least one.
    pub(crate) errors: Vec<Diagnostic>,
    /// Conflicts between flavors.
    pub(crate) conflicts: Vec<Conflict>,
}

/// Runs the steps on an actor.
pub(crate) fn render_actor(inputs: &Inputs, functions: &Functions) -> RenderResult {
    let rendered = render(inputs, functions);
    let explanation = explain_rendered(inputs, functions, &rendered).unwrap_or_default();
    match rendered {
        Err(error) => RenderResult::Refused(Refusal {
            errors: diagnostics::of_error(&error),
            conflicts: explanation.conflicts,
        }),
        Ok(rendered) => RenderResult::Rendered(Box::new(RenderedActor {
            notes: Facts::from_context(rendered.context.as_ref()).diagnostics,
            composite: rendered.composite,
            objects: rendered.composed,
            fields: explanation.fields,
        })),
    }
}

/// The resolved spec, as resolve-flavors returns it; none if it did not run.
pub(crate) fn resolved_spec(outcome: &Outcome) -> Option<Value> {
    let composite = outcome.desired.composite.as_ref();
    let desired = composite
        .and_then(|it| it.resource.as_ref())
        .and_then(|xr| value::map(xr, &["spec"]));
    let spec = desired.or_else(|| value::map(outcome.context.as_ref()?, &[SPEC_KEY]));
    spec.map(value::struct_to_json)
}

/// The composed objects alone; empty if the actor is refused.
pub(crate) fn objects(inputs: &Inputs, functions: &Functions) -> BTreeMap<String, Object> {
    render(inputs, functions)
        .map(|rendered| rendered.composed)
        .unwrap_or_default()
}

/// The resolved spec, rebuilt from its fields: with defaults, which no document contains.
pub(crate) fn spec(fields: &[Field]) -> Map<String, Value> {
    let mut spec = Map::new();
    for field in fields {
        if let Some((Segment::Key(first), rest)) = field.path.segments().split_first() {
            put(
                spec.entry(first.as_str()).or_insert(Value::Null),
                rest,
                &field.plain,
            );
        }
    }
    spec
}

/// Sets the value at a path; creates maps and lists on the way.
fn put(place: &mut Value, path: &[Segment], value: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *place = value.clone();
        return;
    };
    match first {
        Segment::Key(key) => {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            if let Value::Object(map) = place {
                put(map.entry(key.as_str()).or_insert(Value::Null), rest, value);
            }
        }
        Segment::Index(index) => {
            if !place.is_array() {
                *place = Value::Array(Vec::new());
            }
            if let Value::Array(list) = place {
                list.resize((*index + 1).max(list.len()), Value::Null);
                put(&mut list[*index], rest, value);
            }
        }
    }
}

/// Every origin of the value at a path or of a value inside it.
pub(crate) fn origins(fields: &[Field], path: &FieldPath) -> Vec<Origin> {
    let mut origins = Vec::new();
    for field in fields {
        let (own, wanted) = (field.path.segments(), path.segments());
        let is_inside = own.starts_with(wanted) || wanted.starts_with(own);
        if is_inside && !origins.contains(&field.origin) {
            origins.push(field.origin.clone());
        }
    }
    origins
}
