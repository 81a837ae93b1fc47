//! Crossplane's loop over a Composition, without Crossplane: given an XR, its Composition, the
//! objects that exist and the functions, it returns what Crossplane would apply.
//!
//! [`render`] returns the composed objects, [`outcome`] the state after the last function. Both are
//! pure: they read no file, no clock and no environment. Order, names and texts are those of
//! Crossplane 2.3: `crossplane composition render` returns the same documents for the same input
//! and functions.
//!
//! Like `crossplane composition render`, it does not simulate RBAC, admission, the schemas of
//! composed objects, or server-side apply onto live state.

mod compose;
mod composite;
mod composition;
mod conditions;
mod engine;
mod event;
mod functions;
mod names;
mod object;
mod schemas;
mod store;
mod tag;
mod xrd;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use function_kit::value::{json_to_struct, struct_to_json};
use function_proto::v1::{Resource, State};
use serde_json::{Map, Value, json};

pub use compose::{ComposeError, Rendered};
pub use composite::{
    COMPOSITE, Composite, CompositeError, Machinery, ObservedError, RESOURCE_NAME,
};
pub use composition::{COMPOSITION, Composition, CompositionError};
pub use conditions::FIXED_TIME;
pub use engine::{EngineError, Outcome};
pub use event::Event;
pub use functions::Functions;
pub use object::Object;
pub use schemas::Schemas;
pub use xrd::{Xrd, XrdError};

use composite::Observed;
use engine::World;
use store::Store;

/// Inputs of the rendering of one XR.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// The XR.
    pub composite: Composite,
    /// Its Composition.
    pub composition: Composition,
    /// Composed objects that exist already.
    pub observed: Vec<Object>,
    /// Objects that functions may ask for. Of two with the same kind, namespace
    /// and name the later one counts. Shared, because all actors of a folder may ask for the same.
    pub required: Vec<Arc<Object>>,
    /// Kinds that functions may ask for.
    pub schemas: Schemas,
    /// The context that the first function gets.
    pub context: Map<String, Value>,
}

/// Reason for which an XR cannot be rendered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RenderError {
    /// The Composition is not one for this XR.
    #[error(transparent)]
    Composition(#[from] CompositionError),
    /// An observed object cannot be the XR's.
    #[error(transparent)]
    Observed(#[from] ObservedError),
    /// The pipeline ended before its end.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A desired object could not be applied.
    #[error(transparent)]
    Compose(#[from] ComposeError),
}

impl RenderError {
    /// One line for each thing that is wrong.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Engine(error) => error.lines(),
            error => vec![error.to_string()],
        }
    }
}

/// Renders an XR.
///
/// # Errors
/// Whatever would keep Crossplane from applying anything.
pub fn render(inputs: &Inputs, functions: &Functions) -> Result<Rendered, RenderError> {
    let (observed, outcome) = run(inputs, functions)?;
    let Inputs {
        composite,
        composition,
        ..
    } = inputs;
    Ok(compose::compose(
        composite,
        composition,
        &observed,
        outcome,
    )?)
}

/// Runs the pipeline; returns the state after its last function.
///
/// # Errors
/// When a function ends the pipeline, or requires something else on each call.
pub fn outcome(inputs: &Inputs, functions: &Functions) -> Result<Outcome, RenderError> {
    run(inputs, functions).map(|(_, outcome)| outcome)
}

fn run(inputs: &Inputs, functions: &Functions) -> Result<(Vec<Observed>, Outcome), RenderError> {
    let xr = &inputs.composite;
    inputs.composition.check(xr)?;
    let observed: Vec<Observed> = inputs
        .observed
        .iter()
        .map(|object| xr.own(object))
        .collect::<Result<_, _>>()?;
    let observed_xr = xr.observed(inputs.composition.name(), &observed);
    let existing = std::iter::once(&observed_xr)
        .chain(&inputs.observed)
        .chain(inputs.required.iter().map(AsRef::as_ref));
    let world = World {
        observed: state(&observed_xr, &observed),
        store: Store::of(existing),
        schemas: &inputs.schemas,
    };
    let context = json_to_struct(&inputs.context);
    let outcome = engine::run(&inputs.composition, functions, &world, context)?;
    Ok((observed, outcome))
}

/// The observed state, as functions get it.
fn state(xr: &Object, composed: &[Observed]) -> State {
    let resource = |object: &Object| Resource {
        resource: Some(object.to_struct()),
        ..Resource::default()
    };
    State {
        composite: Some(resource(xr)),
        resources: composed
            .iter()
            .map(|observed| (observed.resource_name.clone(), resource(&observed.object)))
            .collect(),
    }
}

/// Documents to show besides the XR and its composed objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Include {
    /// The XR's spec and metadata as its user wrote them.
    pub full_composite: bool,
    /// Events that Crossplane would emit.
    pub events: bool,
    /// The context that the last function left.
    pub context: bool,
}

impl Rendered {
    /// The documents that `crossplane composition render` would write, in order.
    pub fn documents(self, composite: &Composite, include: Include) -> Vec<Value> {
        let mut xr = self.composite.into_value();
        if include.full_composite {
            let mut full = composite.object().clone().into_value();
            lay_over(&mut full, xr);
            xr = full;
        }
        let mut documents = vec![xr];
        documents.extend(self.composed.into_values().map(Object::into_value));
        if include.events {
            documents.extend(self.events.iter().map(Event::document));
        }
        if let Some(context) = self.context.filter(|_| include.context) {
            documents.push(json!({
                "apiVersion": "render.crossplane.io/v1beta1",
                "kind": "Context",
                "fields": struct_to_json(&context),
            }));
        }
        documents
    }
}

/// Lays `over` on `base`, key by key at any depth.
fn lay_over(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
