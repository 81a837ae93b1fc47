//! One request on its way to its response.

mod facts;
mod pipeline;
mod platform;
mod references;
mod spec;

use actor::diagnostic::{Code, Diagnostic, Location};
use actor::status::ConditionType;
use function_proto::v1::{
    Capability, Condition, Ready, ResponseMeta, Result as FunctionResult, RunFunctionRequest,
    RunFunctionResponse, Severity, State, Status, Target,
};
use merge::FieldPath;
use pbjson_types::{Duration, Struct};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::identity::is_legacy;
use crate::require::{Requests, SchemaAnswer};
use crate::value::{into_pb, into_struct, struct_to_json};
use facts::FactsBuffer;

pub use pipeline::{ASKED_KEY, Step, run_steps};
pub use platform::locate_setting;

use crate::{Identity, StepError, Subject, sanitize, value};

/// Runs one step: the request's desired state and context are carried over, the
/// step adds to them, and a [`StepError`] becomes a Fatal response with every
/// condition set.
pub fn run(
    request: RunFunctionRequest,
    step: impl FnOnce(&mut Call) -> Result<(), StepError>,
) -> RunFunctionResponse {
    let mut call = Call::new(request);
    if let Err(problem) = step(&mut call) {
        call.fail(&problem);
    }
    call.into_response()
}

/// A Fatal response without state, for a request that no step can be called with.
pub fn fatal(message: &str) -> RunFunctionResponse {
    RunFunctionResponse {
        results: vec![FunctionResult {
            severity: Severity::Fatal as i32,
            message: sanitize::message(message),
            ..FunctionResult::default()
        }],
        ..RunFunctionResponse::default()
    }
}

/// One request on its way to its response.
#[derive(Debug)]
pub struct Call {
    tag: String,
    capabilities: Vec<i32>,
    xr: Struct,
    observed: State,
    input: Option<Struct>,
    desired: Option<State>,
    context: Option<Struct>,
    facts: FactsBuffer,
    requests: Requests,
    results: Vec<FunctionResult>,
    conditions: Vec<Condition>,
    ttl_seconds: u32,
}

impl Call {
    pub(crate) fn new(request: RunFunctionRequest) -> Self {
        let meta = request.meta.unwrap_or_default();
        let mut observed = request.observed.unwrap_or_default();
        Self {
            xr: observed
                .composite
                .take()
                .and_then(|xr| xr.resource)
                .unwrap_or_default(),
            observed,
            input: request.input,
            desired: request.desired,
            facts: FactsBuffer::read(request.context.as_ref()),
            context: request.context,
            requests: Requests {
                resources: request.required_resources,
                extra_resources: request.extra_resources,
                schemas: request.required_schemas,
                announces: meta
                    .capabilities
                    .contains(&(Capability::Capabilities as i32)),
                ..Requests::default()
            },
            tag: meta.tag,
            capabilities: meta.capabilities,
            results: Vec::new(),
            conditions: Vec::new(),
            ttl_seconds: 0,
        }
    }

    /// The observed XR.
    pub fn xr(&self) -> &Struct {
        &self.xr
    }

    /// The actor that a log line is about, unchecked.
    pub fn subject(&self) -> Subject {
        Subject::read(&self.xr)
    }

    /// Returns the identity of the actor.
    pub fn identity(&self) -> Result<Identity, StepError> {
        Identity::read(&self.xr)
    }

    /// The step's input.
    ///
    /// # Errors
    /// When the Composition gives one that does not have the step's form.
    pub fn input<T: DeserializeOwned + Default>(&self) -> Result<T, StepError> {
        let Some(input) = &self.input else {
            return Ok(T::default());
        };
        serde_json::from_value(struct_to_json(input)).map_err(|error| {
            let location = Location::input(FieldPath::default());
            let message = format!("the Composition's input for this step is invalid: {error}");
            StepError::config(Diagnostic::error(Code::InvalidInput, location, message))
        })
    }

    /// The observed composed object of that name.
    pub fn observed(&self, name: &str) -> Option<&Struct> {
        self.observed.resources.get(name)?.resource.as_ref()
    }

    /// Every observed composed object, by name.
    pub fn observed_all(&self) -> std::collections::BTreeMap<&str, &Struct> {
        let resources = self.observed.resources.iter();
        resources
            .filter_map(|(name, r)| Some((name.as_str(), r.resource.as_ref()?)))
            .collect()
    }

    /// The composed object that this or an earlier step desires.
    pub fn desired(&self, name: &str) -> Option<&Struct> {
        self.desired
            .as_ref()?
            .resources
            .get(name)?
            .resource
            .as_ref()
    }

    /// Names of the composed objects that this or an earlier step desires, sorted.
    pub fn desired_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .desired
            .iter()
            .flat_map(|desired| desired.resources.keys().cloned())
            .collect();
        names.sort_unstable();
        names
    }

    /// Desires the composed object, in place of what was desired under that name.
    pub fn compose(&mut self, name: &str, object: Value) {
        let object = match object {
            Value::Object(object) => into_struct(object),
            _ => Struct::default(),
        };
        let resources = &mut self.desired.get_or_insert_default().resources;
        resources.entry(name.to_owned()).or_default().resource = Some(object);
    }

    /// Says whether the composed object of that name is ready.
    pub fn set_ready(&mut self, name: &str, ready: bool) {
        let resources = &mut self.desired.get_or_insert_default().resources;
        if let Some(resource) = resources.get_mut(name) {
            resource.ready = if ready { Ready::True } else { Ready::False } as i32;
        }
    }

    /// Says that the actor is not ready, whatever else is composed. Crossplane then writes `Ready` without
    /// the list of unready objects, which would be another change of the actor for each of them.
    pub fn set_xr_unready(&mut self) {
        let composite = self
            .desired
            .get_or_insert_default()
            .composite
            .get_or_insert_default();
        composite.ready = Ready::False as i32;
    }

    /// Writes a top-level field of the desired XR: `spec` for the steps that
    /// follow, `status` for Crossplane.
    pub fn set_desired_xr(&mut self, field: &str, document: Map<String, Value>) {
        let composite = self
            .desired
            .get_or_insert_default()
            .composite
            .get_or_insert_default();
        let fields = &mut composite.resource.get_or_insert_default().fields;
        fields.insert(field.to_owned(), into_pb(Value::Object(document)));
    }

    /// A top-level field of the desired XR, as far as earlier steps have written it.
    pub fn desired_xr(&self, field: &str) -> Option<&Struct> {
        let composite = self.desired.as_ref()?.composite.as_ref()?;
        value::map(composite.resource.as_ref()?, &[field])
    }

    /// Removes a top-level field of the desired XR.
    pub fn remove_desired_xr(&mut self, field: &str) {
        let composite = self
            .desired
            .as_mut()
            .and_then(|desired| desired.composite.as_mut());
        if let Some(xr) = composite.and_then(|composite| composite.resource.as_mut()) {
            xr.fields.remove(field);
        }
    }

    /// A value of the context.
    pub fn context(&self, key: &str) -> Option<&pbjson_types::Value> {
        self.context.as_ref()?.fields.get(key)
    }

    /// Hands a value to the steps that follow.
    pub fn set_context(&mut self, key: &str, value: Value) {
        self.context
            .get_or_insert_default()
            .fields
            .insert(key.to_owned(), into_pb(value));
    }

    /// Asks for an object by name: none when it is not fetched yet, an empty
    /// list when it does not exist. Must be asked on every call of a reconcile.
    pub fn require(
        &mut self,
        key: &str,
        kind: (&str, &str),
        name: &str,
        namespace: Option<&str>,
    ) -> Option<Vec<&Struct>> {
        self.requests.resource(key, kind, name, namespace)
    }

    /// Objects under `key` that the Composition required.
    pub fn bootstrap_requirement(&self, key: &str) -> Option<Vec<&Struct>> {
        self.requests.fetched(key)
    }

    /// Asks for the schema of a kind. Must be asked on every call of a reconcile.
    pub fn require_schema(&mut self, key: &str, api_version: &str, kind: &str) -> SchemaAnswer {
        self.requests.schema(key, api_version, kind)
    }

    /// Returns whether Crossplane announces this capability.
    pub fn has_capability(&self, capability: Capability) -> bool {
        self.capabilities.contains(&(capability as i32))
    }

    /// Asks Crossplane to come back after so many seconds; 0 is never.
    pub fn set_ttl_seconds(&mut self, seconds: u32) {
        self.ttl_seconds = seconds;
    }

    /// Returns a condition of the actor. `status` is none where it is unknown.
    pub fn condition(
        &mut self,
        r#type: ConditionType,
        status: Option<bool>,
        reason: &str,
        message: Option<String>,
    ) {
        let status = match status {
            Some(true) => Status::ConditionTrue,
            Some(false) => Status::ConditionFalse,
            None => Status::ConditionUnknown,
        };
        // Only a legacy XR has a claim to show conditions on.
        let target = if is_legacy(&self.xr) {
            Target::CompositeAndClaim
        } else {
            Target::Composite
        };
        self.conditions.push(Condition {
            r#type: r#type.to_string(),
            status: status as i32,
            reason: sanitize::reason(reason).to_owned(),
            message: message
                .filter(|message| !message.is_empty())
                .map(|message| sanitize::message(&message)),
            target: Some(target as i32),
        });
    }

    /// Ends the pipeline: one Fatal result for each diagnostic, all of them in the facts, and every
    /// condition that no step of this reconcile has returned yet.
    fn fail(&mut self, error: &StepError) {
        for message in error.results() {
            self.results.push(FunctionResult {
                severity: Severity::Fatal as i32,
                message: sanitize::message(&message),
                reason: Some(error.reason.to_string()),
                target: Some(Target::Composite as i32),
            });
        }
        for note in error.notes() {
            self.facts.add(note);
        }
        let text = error.to_string();
        for r#type in ConditionType::ALL {
            let failed = error.condition.as_ref();
            let failed = failed.filter(|(failed, _)| *failed == r#type);
            if self.is_returned(r#type) {
                continue;
            }
            match (r#type, failed) {
                (ConditionType::ActorReady, _) => {
                    let reason = error.reason.as_str();
                    self.condition(r#type, Some(false), reason, Some(text.clone()));
                }
                (_, Some((_, reason))) => {
                    self.condition(r#type, Some(false), reason, Some(text.clone()));
                }
                // These two are shown only where they mean something.
                (ConditionType::ScalingReady | ConditionType::TargetResolved, None)
                    if value::condition(&self.xr, r#type.as_str()).is_none() => {}
                (_, None) => {
                    let message = "not checked: the pipeline ended before, see ActorReady";
                    self.condition(r#type, None, "NotChecked", Some(message.to_owned()));
                }
            }
        }
    }

    /// Returns whether this reconcile has that condition already.
    fn is_returned(&self, r#type: ConditionType) -> bool {
        let name = r#type.as_str();
        // The other conditions are the last step's. Where the context names one, it
        // is about that step's own previous call: Crossplane hands a step the
        // context of its last answer when it has fetched what the step asked for.
        let by_earlier_step = r#type == ConditionType::FlavorsResolved
            && self.facts.returned.iter().any(|returned| returned == name);
        by_earlier_step
            || self
                .conditions
                .iter()
                .any(|condition| condition.r#type == name)
    }

    fn into_response(mut self) -> RunFunctionResponse {
        for condition in &self.conditions {
            self.facts.add_returned(&condition.r#type);
        }
        if let Some(context) = self.context.as_mut() {
            self.facts.write(context);
        } else {
            let mut context = Struct::default();
            self.facts.write(&mut context);
            self.context = Some(context).filter(|context| !context.fields.is_empty());
        }
        RunFunctionResponse {
            meta: Some(ResponseMeta {
                tag: self.tag,
                ttl: Some(Duration {
                    seconds: self.ttl_seconds.into(),
                    nanos: 0,
                }),
            }),
            desired: self.desired,
            context: self.context,
            results: self.results,
            conditions: self.conditions,
            requirements: self.requests.into_requirements(),
            ..RunFunctionResponse::default()
        }
    }
}
