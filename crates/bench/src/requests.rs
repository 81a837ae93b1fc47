//! The request that each step gets in the pipeline, recorded from a run of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use function_inject_sidecar::Config;
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use pipeline::{
    Composite, Composition, Functions, Inputs, Machinery, Object, Rendered, Schemas, render,
};
use prost::Message as _;
use serde_json::{Map, Value, json};

use crate::actors::{Size, Written, written};
use crate::live;

/// The pure step behind a program.
pub type Step = fn(RunFunctionRequest) -> RunFunctionResponse;

/// The steps of the pipeline in their order, by the name of their program.
pub const STEPS: [(&str, Step); 6] = [
    ("function-resolve-flavors", function_resolve_flavors::run),
    ("function-render-queue", function_render_queue::run),
    (
        "function-render-deployment",
        function_render_deployment::run,
    ),
    ("function-inject-sidecar", |request| {
        function_inject_sidecar::run(request, &Config::default())
    }),
    (
        "function-render-scaledobject",
        function_render_scaledobject::run,
    ),
    ("function-report-status", function_report_status::run),
];

/// All steps in one program.
pub const ONE_STEP: (&str, Step) = ("function-asya", |request| {
    function_asya::run(request, &Config::default())
});

/// The Composition with six steps.
const SIX: &str = include_str!("../../../apis/asyncactors.asya.sh/composition.yaml");
/// The Composition with one step.
const ONE: &str = include_str!("../../../apis/one-step.asyncactors.asya.sh/composition.yaml");

/// Kinds whose schemas the steps require, as `group`, `version`, `kind`.
const SERVED: [(&str, &str, &str); 2] = [
    ("", "v1", "ConfigMap"),
    ("keda.sh", "v1alpha1", "ScaledObject"),
];

/// The requests of one reconciliation of an actor.
#[derive(Debug, Clone)]
pub struct Requests {
    /// The request of each step, in the order of [`STEPS`].
    pub steps: Vec<RunFunctionRequest>,
    /// The request of [`ONE_STEP`].
    pub one_step: RunFunctionRequest,
}

impl Requests {
    /// The requests for an actor of that size. Where it is live, they are those of the
    /// reconciliation after the one that created its objects.
    ///
    /// # Errors
    /// When the actor cannot be rendered, which no actor of ours should cause.
    pub fn of(size: Size) -> Result<Self, String> {
        let written = written(size);
        if size.is_live() {
            Self::of_live(written)
        } else {
            Self::record(&World::new(written)).map(|(requests, _)| requests)
        }
    }

    /// The requests for an actor whose objects exist.
    ///
    /// # Errors
    /// When the actor cannot be rendered.
    pub fn of_live(written: Written) -> Result<Self, String> {
        let world = World::new(written);
        let (_, rendered) = Self::record(&world)?;
        // KEDA's objects follow once the queue is ready.
        let world = world.applied(rendered);
        let (_, rendered) = Self::record(&world)?;
        Self::record(&world.applied(rendered)).map(|(requests, _)| requests)
    }

    /// Bytes of all requests and responses of one reconcile with six steps. Crossplane calls a step
    /// with requirements twice, the first time without what it requires.
    pub fn bytes_of_six_steps(&self) -> usize {
        let steps = self.steps.iter().zip(STEPS);
        let calls = steps.map(|(request, (name, step))| {
            let bytes = request.encoded_len() + step(request.clone()).encoded_len();
            if name == "function-resolve-flavors" {
                2 * bytes
            } else {
                bytes
            }
        });
        calls.sum()
    }

    /// The requests by the name of the program that gets them.
    pub fn by_program(&self) -> BTreeMap<&'static str, &RunFunctionRequest> {
        let names = STEPS.iter().map(|(name, _)| *name);
        let mut all: BTreeMap<_, _> = names.zip(&self.steps).collect();
        all.insert(ONE_STEP.0, &self.one_step);
        all
    }

    /// Runs both Compositions; returns their requests and what the six steps render.
    fn record(world: &World) -> Result<(Self, Rendered), String> {
        let (mut six, rendered) = last_requests(world, SIX, &STEPS)?;
        let (mut one, _) = last_requests(world, ONE, &[ONE_STEP])?;
        let mut take = |name: &str| {
            six.remove(name)
                .ok_or_else(|| format!("{name} was not called"))
        };
        let steps = STEPS
            .iter()
            .map(|(name, _)| take(name))
            .collect::<Result<_, _>>()?;
        let one_step = one
            .remove(ONE_STEP.0)
            .ok_or_else(|| format!("{} was not called", ONE_STEP.0))?;
        Ok((Self { steps, one_step }, rendered))
    }
}

/// Renders the actor; returns the last request of each function, which has everything that
/// the function requires.
fn last_requests(
    world: &World,
    composition: &str,
    steps: &[(&'static str, Step)],
) -> Result<(BTreeMap<&'static str, RunFunctionRequest>, Rendered), String> {
    let recorded = Arc::new(Mutex::new(BTreeMap::new()));
    let functions = steps
        .iter()
        .fold(Functions::none(), |functions, (name, step)| {
            let (recorded, name, step) = (Arc::clone(&recorded), *name, *step);
            functions.with(name, move |request| {
                let mut recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
                recorded.insert(name, request.clone());
                step(request)
            })
        });
    let rendered =
        render(&world.inputs(composition)?, &functions).map_err(|error| error.to_string())?;
    let recorded = std::mem::take(&mut *recorded.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((recorded, rendered))
}

/// The objects that Crossplane would read.
struct World {
    xr: Value,
    environment_configs: Vec<Value>,
    observed: Vec<Value>,
}

impl World {
    /// As the API server has it: KEDA's objects of an actor without a creation time, which is a
    /// document, would not wait for its queue.
    fn new(written: Written) -> Self {
        let mut xr = written.xr;
        xr["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        Self {
            xr,
            environment_configs: written.environment_configs,
            observed: Vec::new(),
        }
    }

    fn inputs(&self, composition: &str) -> Result<Inputs, String> {
        let composition = actor::yaml::document(composition).map_err(|error| error.to_string())?;
        let composite = Composite::new(object(self.xr.clone()), Machinery::Modern);
        let mut schemas = Schemas::default();
        for (group, version, kind) in SERVED {
            schemas.add(json!({"components": {"schemas": {kind: {
                "type": "object",
                "x-kubernetes-group-version-kind": [{"group": group, "version": version, "kind": kind}],
            }}}}));
        }
        Ok(Inputs {
            composite: composite.map_err(|error| error.to_string())?,
            composition: Composition::read(&object(composition))
                .map_err(|error| error.to_string())?,
            observed: self.observed.iter().cloned().map(object).collect(),
            required: self
                .environment_configs
                .iter()
                .cloned()
                .map(|config| object(config).into())
                .collect(),
            schemas,
            context: Map::new(),
        })
    }

    /// The world after everything rendered was applied and has become ready.
    fn applied(mut self, rendered: Rendered) -> Self {
        let composed = rendered.composed.into_values();
        self.observed = composed
            .map(|object| live::observed(object.into_value()))
            .collect();
        let composite = rendered.composite.into_value();
        self.xr["spec"]["crossplane"]["resourceRefs"] =
            composite["spec"]["crossplane"]["resourceRefs"].clone();
        self.xr["status"] = composite["status"].clone();
        self
    }
}

fn object(document: Value) -> Object {
    match document {
        Value::Object(map) => map.into(),
        _ => Object::default(),
    }
}

#[cfg(test)]
mod tests {
    use function_kit::value::struct_to_json;

    use super::*;

    #[test]
    fn one_step_and_six_steps_desire_the_same_objects() {
        for size in Size::ALL {
            let requests = Requests::of(size).unwrap();
            let last = requests.steps.last().unwrap().clone();
            let six = STEPS[5].1(last);
            let one = ONE_STEP.1(requests.one_step);
            assert_eq!(one.desired, six.desired, "{}", size.name());
        }
    }

    #[test]
    fn a_live_actor_is_running() {
        for size in [Size::Realistic, Size::Large] {
            let requests = Requests::of(size).unwrap();
            let desired = ONE_STEP.1(requests.one_step).desired.unwrap();
            let status = struct_to_json(&desired.composite.unwrap().resource.unwrap());
            assert_eq!(status["status"]["status"], "Running", "{}", size.name());
        }
    }

    #[test]
    fn required_resources_and_schemas_are_in_the_requests() {
        let requests = Requests::of(Size::Realistic).unwrap();
        assert_eq!(requests.steps[0].required_resources.len(), 4);
        let schemas = |request: &RunFunctionRequest| {
            let schemas = request.required_schemas.values();
            schemas.filter(|schema| schema.openapi_v3.is_some()).count()
        };
        // The ScaledObject of a new actor follows once its queue is ready, and only then its kind must
        // be served.
        let new = Requests::of(Size::Small).unwrap();
        let six: usize = new.steps.iter().map(schemas).sum();
        assert_eq!((six, schemas(&new.one_step)), (0, 0));
    }

    #[test]
    fn a_reconcile_with_six_steps_takes_about_half_of_what_it_took_with_the_script() {
        for (size, max) in [(Size::Realistic, 300_000), (Size::Small, 70_000)] {
            let bytes = Requests::of(size).unwrap().bytes_of_six_steps();
            assert!(bytes <= max, "{}: {bytes} bytes", size.name());
        }
    }
}
