//! The pipeline: one function after the other, each called until what it asks for
//! no longer changes.

use std::collections::HashMap;

use function_kit::value::json_to_struct;
use function_proto::v1::{
    Capability, MatchLabels, RequestMeta, Requirements, ResourceSelector, Resources,
    Result as FunctionResult, RunFunctionRequest, RunFunctionResponse, Schema, SchemaSelector,
    Severity, State, Status, Target, resource_selector::Match,
};
use pbjson_types::Struct;

use super::composition::{Bootstrap, Composition, Step};
use super::conditions::Condition;
use super::event::Event;
use super::functions::Functions;
use super::schemas::Schemas;
use super::store::Store;
use super::tag::tag;

/// Calls of one function after the first. Source: `MaxRequirementsIterations` of
/// Crossplane 2.3.
const MAX_ITERATIONS: usize = 5;

/// Capabilities that Crossplane 2.3 announces.
const CAPABILITIES: [Capability; 5] = [
    Capability::Capabilities,
    Capability::RequiredResources,
    Capability::Credentials,
    Capability::Conditions,
    Capability::RequiredSchemas,
];

/// Reason for which the pipeline ended early.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// A function returned a Fatal result.
    #[error("{}", .messages.iter().map(|message| fatal(step, message)).collect::<Vec<_>>().join("; "))]
    Fatal {
        /// The step that ran it.
        step: String,
        /// The messages of its Fatal results.
        messages: Vec<String>,
        /// State, conditions and events up to and including that function.
        left: Box<Outcome>,
    },
    /// A function asks for something else on each call.
    #[error(
        "cannot run Composition pipeline step {step:?}: requirements didn't stabilize after the maximum number of iterations ({MAX_ITERATIONS})"
    )]
    Unstable {
        /// The step that ran it.
        step: String,
    },
    /// A step runs a function that is not in this program.
    #[error(
        "pipeline step {step:?} runs function {function:?}, which is not one of Asya's own: asya render and asya explain call it with --function-address {function}=HOST:PORT"
    )]
    UnknownFunction {
        /// The step.
        step: String,
        /// The function's name.
        function: String,
    },
}

/// A Fatal result in Crossplane's wording.
fn fatal(step: &str, message: &str) -> String {
    format!("pipeline step {step:?} returned a fatal result: {message}")
}

impl EngineError {
    /// One line for each thing that is wrong.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Fatal { step, messages, .. } => messages
                .iter()
                .map(|message| fatal(step, message))
                .collect(),
            Self::Unstable { .. } | Self::UnknownFunction { .. } => vec![self.to_string()],
        }
    }
}

/// Objects that functions can observe or require.
#[derive(Debug)]
pub(crate) struct World<'a> {
    /// The XR and what it composed before.
    pub(crate) observed: State,
    /// Every object that exists.
    pub(crate) store: Store<'a>,
    /// Every kind that is served.
    pub(crate) schemas: &'a Schemas,
}

/// State, context, events and conditions after a pipeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The state that the last function desires.
    pub desired: State,
    /// The context that the last function left, if it left one.
    pub context: Option<Struct>,
    /// Results, in order.
    pub(crate) events: Vec<Event>,
    /// Conditions, in order, each with whether the claim shows it too.
    pub(crate) conditions: Vec<(Condition, bool)>,
}

/// Runs the pipeline, beginning with this context.
///
/// # Errors
/// When a function ends the pipeline, requires something else on each call, or is unknown. Unknown
/// functions are found before anything runs.
pub(crate) fn run(
    composition: &Composition,
    functions: &Functions,
    world: &World<'_>,
    context: Struct,
) -> Result<Outcome, EngineError> {
    for step in &composition.steps {
        if !functions.has(&step.function_ref.name) {
            return Err(unknown_function(step));
        }
    }
    let mut desired = Some(State::default());
    let mut context = Some(context);
    let mut events = Vec::new();
    let mut conditions = Vec::new();
    for step in &composition.steps {
        let request = first_request(step, world, desired, context);
        let response = call(step, functions, world, request)?;
        let (fatal, others): (Vec<_>, Vec<_>) = response.results.into_iter().partition(is_fatal);
        events.extend(others.iter().map(|result| event(&step.name, result)));
        conditions.extend(response.conditions.into_iter().map(condition));
        if !fatal.is_empty() {
            return Err(EngineError::Fatal {
                step: step.name.clone(),
                messages: fatal.into_iter().map(|result| result.message).collect(),
                left: Box::new(Outcome {
                    desired: response.desired.unwrap_or_default(),
                    context: response.context,
                    events,
                    conditions,
                }),
            });
        }
        desired = response.desired;
        context = response.context;
    }
    Ok(Outcome {
        desired: desired.unwrap_or_default(),
        context,
        events,
        conditions,
    })
}

fn is_fatal(result: &FunctionResult) -> bool {
    result.severity == Severity::Fatal as i32
}

/// A condition that a function returned, and whether it targets the claim too.
fn condition(condition: function_proto::v1::Condition) -> (Condition, bool) {
    let for_claim = condition.target == Some(Target::CompositeAndClaim as i32);
    let status = match condition.status() {
        Status::ConditionTrue => "True",
        Status::ConditionFalse => "False",
        Status::ConditionUnknown | Status::ConditionUnspecified => "Unknown",
    };
    let mut converted = Condition::new(&condition.r#type, status, &condition.reason);
    converted.message = condition.message.unwrap_or_default();
    (converted, for_claim)
}

fn first_request(
    step: &Step,
    world: &World<'_>,
    desired: Option<State>,
    context: Option<Struct>,
) -> RunFunctionRequest {
    let (required_resources, required_schemas) = bootstrap(step.requirements.as_ref(), world);
    let mut request = RunFunctionRequest {
        observed: Some(world.observed.clone()),
        desired,
        context,
        input: step.input.as_ref().map(json_to_struct),
        required_resources,
        required_schemas,
        ..RunFunctionRequest::default()
    };
    request.meta = Some(RequestMeta {
        tag: tag(&request),
        capabilities: CAPABILITIES.map(|capability| capability as i32).into(),
    });
    request
}

/// The bootstrap requirements of a step, which it gets on every call.
fn bootstrap(
    wanted: Option<&Bootstrap>,
    world: &World<'_>,
) -> (HashMap<String, Resources>, HashMap<String, Schema>) {
    let Some(wanted) = wanted else {
        return Default::default();
    };
    let resources = wanted.required_resources.iter().map(|required| {
        let by_name = required.name.clone().map(Match::MatchName);
        let by_labels = || {
            required
                .match_labels
                .clone()
                .map(|labels| Match::MatchLabels(MatchLabels { labels }))
        };
        let selector = ResourceSelector {
            api_version: required.api_version.clone(),
            kind: required.kind.clone(),
            namespace: required.namespace.clone(),
            r#match: by_name.or_else(by_labels),
        };
        (
            required.requirement_name.clone(),
            world.store.select(&selector),
        )
    });
    let schemas = wanted.required_schemas.iter().map(|required| {
        let selector = SchemaSelector {
            api_version: required.api_version.clone(),
            kind: required.kind.clone(),
        };
        (
            required.requirement_name.clone(),
            world.schemas.select(&selector),
        )
    });
    (resources.collect(), schemas.collect())
}

/// Calls a function until it ends the pipeline or its requirements are stable.
fn call(
    step: &Step,
    functions: &Functions,
    world: &World<'_>,
    mut request: RunFunctionRequest,
) -> Result<RunFunctionResponse, EngineError> {
    let kept = (
        request.required_resources.clone(),
        request.required_schemas.clone(),
    );
    let mut required_before = None;
    for _ in 0..=MAX_ITERATIONS {
        let response = functions
            .run(&step.function_ref.name, request.clone())
            .ok_or_else(|| unknown_function(step))?;
        if response.results.iter().any(is_fatal) || response.requirements == required_before {
            return Ok(response);
        }
        let required = response.requirements.clone().unwrap_or_default();
        answer(&mut request, &required, kept.clone(), world);
        required_before = response.requirements;
        request.context = response.context;
    }
    Err(EngineError::Unstable {
        step: step.name.clone(),
    })
}

/// Replaces the required resources and schemas of the request by those of the last response.
fn answer(
    request: &mut RunFunctionRequest,
    required: &Requirements,
    kept: (HashMap<String, Resources>, HashMap<String, Schema>),
    world: &World<'_>,
) {
    let resources = |required: &HashMap<String, ResourceSelector>| -> Vec<_> {
        let selectors = required.iter();
        selectors
            .map(|(key, selector)| (key.clone(), world.store.select(selector)))
            .collect()
    };
    let schemas = required.schemas.iter();
    request.extra_resources = resources(&required.extra_resources).into_iter().collect();
    (request.required_resources, request.required_schemas) = kept;
    request
        .required_resources
        .extend(resources(&required.resources));
    request
        .required_schemas
        .extend(schemas.map(|(key, selector)| (key.clone(), world.schemas.select(selector))));
}

/// The event that Crossplane emits for a result that is not Fatal.
fn event(step: &str, result: &FunctionResult) -> Event {
    let reason = result.reason.as_deref().filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or(Event::COMPOSE);
    let message = &result.message;
    match result.severity() {
        Severity::Normal => Event::normal(reason, format!("Pipeline step {step:?}: {message}")),
        Severity::Unspecified => Event::warning(
            reason,
            format!(
                "Pipeline step {step:?} returned a result of unknown severity (assuming warning): {message}"
            ),
        ),
        Severity::Warning | Severity::Fatal => {
            Event::warning(reason, format!("Pipeline step {step:?}: {message}"))
        }
    }
}

fn unknown_function(step: &Step) -> EngineError {
    EngineError::UnknownFunction {
        step: step.name.clone(),
        function: step.function_ref.name.clone(),
    }
}
