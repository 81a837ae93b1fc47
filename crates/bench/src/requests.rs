//! The request that each step gets in the pipeline.

use std::collections::{BTreeMap, HashMap};

use function_inject_sidecar::Config;
use function_kit::value::{json_to_struct, struct_to_json};
use function_proto::v1::{
    Capability, Condition, RequestMeta, Requirements, Resource, Resources, RunFunctionRequest,
    RunFunctionResponse, Schema, State, Status, resource_selector::Match,
};
use serde_json::{Value, json};

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

/// The requests of one actor's pass.
#[derive(Debug, Clone)]
pub struct Pass {
    /// That of each step, in the order of [`STEPS`].
    pub steps: Vec<RunFunctionRequest>,
    /// That of [`ONE_STEP`].
    pub one_step: RunFunctionRequest,
}

impl Pass {
    /// The pass of an actor of that size. Where it is live, it is the pass after the one that made
    /// its objects.
    ///
    /// # Errors
    /// When a step ends fatally, which no actor of ours should.
    pub fn of(size: Size) -> Result<Self, String> {
        let written = written(size);
        if size.is_live() {
            Self::of_live(written)
        } else {
            Ok(World::new(written).play()?.0)
        }
    }

    /// The pass of an actor after the one that made its objects.
    ///
    /// # Errors
    /// When a step ends fatally.
    pub fn of_live(written: Written) -> Result<Self, String> {
        let mut world = World::new(written);
        let (_, last) = world.play()?;
        world.come_alive(last);
        Ok(world.play()?.0)
    }

    /// The requests by the name of the program that gets them.
    pub fn by_program(&self) -> BTreeMap<&'static str, &RunFunctionRequest> {
        let names = STEPS.iter().map(|(name, _)| *name);
        let mut all: BTreeMap<_, _> = names.zip(&self.steps).collect();
        all.insert(ONE_STEP.0, &self.one_step);
        all
    }
}

/// What Crossplane would know.
struct World {
    xr: Value,
    environment_configs: Vec<Value>,
    observed: BTreeMap<String, Value>,
}

impl World {
    fn new(written: Written) -> Self {
        Self {
            xr: written.xr,
            environment_configs: written.environment_configs,
            observed: BTreeMap::new(),
        }
    }

    /// Runs the pipeline; returns its requests and the last answer.
    fn play(&self) -> Result<(Pass, RunFunctionResponse), String> {
        let mut steps = Vec::new();
        let mut last = RunFunctionResponse::default();
        let mut conditions = Vec::new();
        for (name, step) in STEPS {
            let (request, response) = self.call(name, step, &last)?;
            steps.push(request);
            conditions.extend(response.conditions.iter().cloned());
            last = response;
        }
        last.conditions = conditions;
        let (one_step, _) = self.call(ONE_STEP.0, ONE_STEP.1, &RunFunctionResponse::default())?;
        Ok((Pass { steps, one_step }, last))
    }

    /// Calls the step until what it asks for stands still, as Crossplane does.
    fn call(
        &self,
        name: &str,
        step: Step,
        before: &RunFunctionResponse,
    ) -> Result<(RunFunctionRequest, RunFunctionResponse), String> {
        let mut request = self.request(before);
        let mut asked = None;
        loop {
            let response = step(request.clone());
            if let Some(fatal) = response.results.first() {
                return Err(format!("{name} ends fatally: {}", fatal.message));
            }
            if response.requirements == asked {
                return Ok((request, response));
            }
            asked.clone_from(&response.requirements);
            let requirements = response.requirements.unwrap_or_default();
            request.required_resources = self.resources(&requirements);
            request.required_schemas = schemas(&requirements);
            request.context = response.context;
        }
    }

    fn request(&self, before: &RunFunctionResponse) -> RunFunctionRequest {
        let observed = self.observed.iter();
        RunFunctionRequest {
            meta: Some(RequestMeta {
                tag: "0c2d0f3a5b1e4c6d8f9a7b6c5d4e3f2a".to_owned(),
                capabilities: [
                    Capability::Capabilities,
                    Capability::RequiredResources,
                    Capability::Credentials,
                    Capability::Conditions,
                    Capability::RequiredSchemas,
                ]
                .map(|capability| capability as i32)
                .into(),
            }),
            observed: Some(State {
                composite: Some(resource(&self.xr)),
                resources: observed
                    .map(|(name, object)| (name.clone(), resource(object)))
                    .collect(),
            }),
            desired: before.desired.clone(),
            context: before.context.clone(),
            ..RunFunctionRequest::default()
        }
    }

    fn resources(&self, asked: &Requirements) -> HashMap<String, Resources> {
        let asked = asked.resources.iter();
        asked
            .map(|(key, selector)| {
                let found = self.environment_configs.iter().filter(|object| {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    matches!(&selector.r#match, Some(Match::MatchName(asked)) if asked == name)
                });
                let items = found.map(resource).collect();
                (key.clone(), Resources { items })
            })
            .collect()
    }

    /// Everything that is desired is there, and a while has passed.
    fn come_alive(&mut self, last: RunFunctionResponse) {
        let desired = last.desired.unwrap_or_default();
        let objects = desired.resources.into_iter().map(|(name, composed)| {
            let object = composed.resource.as_ref().map(struct_to_json);
            (name, live::observed(object.unwrap_or_default()))
        });
        self.observed.extend(objects);
        let references: Vec<Value> = self.observed.values().map(reference).collect();
        self.xr["spec"]["crossplane"]["resourceRefs"] = references.into();
        let composite = desired.composite.and_then(|composite| composite.resource);
        let status = composite.as_ref().map(struct_to_json).unwrap_or_default();
        let conditions: Vec<Value> = last.conditions.iter().map(condition).collect();
        self.xr["status"] = live::status_of_xr(&conditions, status["status"].clone());
    }
}

fn schemas(asked: &Requirements) -> HashMap<String, Schema> {
    let schema = json!({"type": "object"});
    let served = Schema {
        openapi_v3: schema.as_object().map(json_to_struct),
    };
    let keys = asked.schemas.keys();
    keys.map(|key| (key.clone(), served.clone())).collect()
}

fn resource(object: &Value) -> Resource {
    Resource {
        resource: object.as_object().map(json_to_struct),
        ..Resource::default()
    }
}

fn reference(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "name": object["metadata"]["name"],
    })
}

fn condition(condition: &Condition) -> Value {
    let status = match condition.status() {
        Status::ConditionTrue => "True",
        Status::ConditionFalse => "False",
        Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
    };
    json!({
        "type": condition.r#type, "status": status, "reason": condition.reason,
        "message": condition.message, "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_actor_passes_and_the_one_step_desires_what_the_six_do() {
        for size in Size::ALL {
            let pass = Pass::of(size).unwrap();
            let last = pass.steps.last().unwrap().clone();
            let six = STEPS[5].1(last);
            let one = ONE_STEP.1(pass.one_step.clone());
            assert_eq!(one.desired, six.desired, "{}", size.name());
        }
    }

    #[test]
    fn a_live_actor_is_ready_state() {
        for size in [Size::Realistic, Size::Large] {
            let pass = Pass::of(size).unwrap();
            let desired = ONE_STEP.1(pass.one_step).desired.unwrap();
            let status = struct_to_json(&desired.composite.unwrap().resource.unwrap());
            assert_eq!(status["status"]["status"], "Running", "{}", size.name());
        }
    }
}
