//! The whole pipeline on mutated requests: six steps and one step come to the same end.

use std::sync::LazyLock;

use function_asya::Config;
use function_proto::v1::{Resource, RunFunctionRequest};
use pipeline::{
    Composite, Composition, EngineError, Functions, Inputs, Machinery, Object, Outcome,
    RESOURCE_NAME, RenderError, Schemas, outcome,
};
use serde_json::{Map, Value, json};

use crate::steps::STEPS;

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let steps = STEPS.into_iter();
    let six = steps.fold(Functions::none(), |functions, (name, run)| {
        functions.with(name, run)
    });
    six.with("function-asya", |request| {
        function_asya::run(request, &Config::default())
    })
});

/// True if a request has an actor that the pipeline can begin with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Both pipelines ran, and ended the same way.
    Ran,
    /// No actor: the API server would refuse it before Crossplane reads it.
    NoActor,
}

/// Runs both pipelines on the objects of a request.
pub(crate) fn judge(request: &RunFunctionRequest) -> Result<Judged, String> {
    let six: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    let Some(six) = end(request, &six)? else {
        return Ok(Judged::NoActor);
    };
    let one = end(request, &["function-asya"])?;
    if Some(&six) == one.as_ref() {
        Ok(Judged::Ran)
    } else {
        Err(format!("six steps end with {six:?}, one step with {one:?}"))
    }
}

/// The end of a pipeline: its outcome, and the messages of its Fatal results.
fn end(
    request: &RunFunctionRequest,
    functions: &[&str],
) -> Result<Option<(Outcome, Vec<String>)>, String> {
    let Some(inputs) = inputs(request, functions) else {
        return Ok(None);
    };
    match outcome(&inputs, &FUNCTIONS) {
        Ok(outcome) => Ok(Some((outcome, Vec::new()))),
        Err(RenderError::Engine(EngineError::Fatal { messages, left, .. })) => {
            Ok(Some((*left, messages)))
        }
        Err(RenderError::Observed(_) | RenderError::Composition(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn inputs(request: &RunFunctionRequest, functions: &[&str]) -> Option<Inputs> {
    let observed = request.observed.as_ref()?;
    let composite = Composite::new(actor(request)?, Machinery::Modern).ok()?;
    let steps: Value = functions
        .iter()
        .map(|name| json!({"step": name, "functionRef": {"name": name}}))
        .collect();
    let composition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": "actors"},
        "spec": {
            "compositeTypeRef": {
                "apiVersion": composite.object().api_version(),
                "kind": composite.object().kind(),
            },
            "mode": "Pipeline",
            "pipeline": steps,
        },
    });
    let required = request.required_resources.values();
    Some(Inputs {
        composite,
        composition: Composition::read(&composition.as_object()?.clone().into()).ok()?,
        observed: observed.resources.iter().filter_map(composed).collect(),
        required: required
            .flat_map(|resources| &resources.items)
            .filter_map(object)
            .map(Into::into)
            .collect(),
        schemas: Schemas::default(),
        context: Map::new(),
    })
}

/// The actor, with the spec that earlier steps left: most cases have theirs there.
fn actor(request: &RunFunctionRequest) -> Option<Object> {
    let mut actor = object(request.observed.as_ref()?.composite.as_ref()?)?;
    let desired = request
        .desired
        .as_ref()
        .and_then(|desired| desired.composite.as_ref());
    let resolved = desired.and_then(object);
    if let Some(Value::Object(spec)) = resolved.as_ref().and_then(|xr| xr.get(&["spec"])) {
        actor.map_mut(&["spec"]).extend(spec.clone());
    }
    Some(actor)
}

/// A composed object with the annotation by which Crossplane knows it.
fn composed((name, resource): (&String, &Resource)) -> Option<Object> {
    let mut object = object(resource)?;
    let annotations = object.map_mut(&["metadata", "annotations"]);
    annotations.insert(RESOURCE_NAME.to_owned(), name.as_str().into());
    Some(object)
}

fn object(resource: &Resource) -> Option<Object> {
    resource.resource.as_ref().map(Object::from_struct)
}
