//! One request on its way to its response.

mod several;
mod told;

use actor::platform::Platform;
use actor::spec::{ALIASES, Spec, normalise_aliases, without_machinery};
use actor::status::{ConditionType, StatusReason};
use function_proto::v1::{
    Capability, Condition, Ready, ResponseMeta, Result as FunctionResult, RunFunctionRequest,
    RunFunctionResponse, Severity, State, Status, Target,
};
use pbjson_types::{Duration, Struct, value::Kind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::identity::is_legacy;
use crate::input::overlay;
use crate::require::{Requests, SchemaAnswer};
use crate::value::{into_pb, into_struct, struct_to_json, to_map};
use told::Told;

pub use several::{ASKED_KEY, Step, run_steps};

use crate::{CommonInput, Fault, Identity, PLATFORM_KEY, SPEC_KEY, Subject, value, words};

/// Runs one step: the request's desired state and context are carried over, the
/// step adds to them, and a [`Fault`] becomes a Fatal response with every
/// condition told.
pub fn run(
    request: RunFunctionRequest,
    step: impl FnOnce(&mut Call) -> Result<(), Fault>,
) -> RunFunctionResponse {
    let mut call = Call::new(request);
    if let Err(fault) = step(&mut call) {
        call.fail(&fault);
    }
    call.into_response()
}

/// A Fatal response that says nothing else, for a request that no step can be called with.
pub fn fatal(message: &str) -> RunFunctionResponse {
    RunFunctionResponse {
        results: vec![FunctionResult {
            severity: Severity::Fatal as i32,
            message: words::message(message),
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
    told: Told,
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
            told: Told::read(request.context.as_ref()),
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

    /// Who a log line is about, unchecked.
    pub fn subject(&self) -> Subject {
        Subject::read(&self.xr)
    }

    /// Which actor this is about.
    pub fn identity(&self) -> Result<Identity, Fault> {
        Identity::read(&self.xr)
    }

    /// The actor's own spec, as its user wrote it: without Crossplane's fields,
    /// aliases normalised.
    pub fn own_spec(&self) -> Result<Map<String, Value>, Fault> {
        let spec = value::map(&self.xr, &["spec"])
            .map(to_map)
            .unwrap_or_default();
        let mut spec = without_machinery(spec, is_legacy(&self.xr));
        normalise_aliases(&mut spec).map_err(|error| Fault::config(format!("spec.{error}")))?;
        Ok(spec)
    }

    /// The resolved spec, as a document: that of the desired XR, else that of
    /// the context, else the actor's own.
    pub fn resolved_document(&self) -> Result<Map<String, Value>, Fault> {
        match self.handed_on_spec() {
            Some(spec) => {
                let mut spec = to_map(spec);
                normalise_aliases(&mut spec)
                    .map_err(|error| Fault::config(format!("spec.{error}")))?;
                Ok(spec)
            }
            None => self.own_spec(),
        }
    }

    /// Whether the resolved spec has that top-level field, which [`Spec`] may not know.
    pub fn spec_has(&self, field: &str) -> bool {
        let own = || value::map(&self.xr, &["spec"]);
        let value = self
            .handed_on_spec()
            .or_else(own)
            .and_then(|spec| spec.fields.get(field));
        value.is_some_and(|value| !matches!(value.kind, None | Some(Kind::NullValue(_))))
    }

    /// The resolved spec, as resolve-flavors handed it on.
    fn handed_on_spec(&self) -> Option<&Struct> {
        let in_context = || value::map(self.context.as_ref()?, &[SPEC_KEY]);
        self.desired_xr("spec").or_else(in_context)
    }

    /// The resolved spec.
    ///
    /// # Errors
    /// The first field that does not have its type, with who set it.
    pub fn spec(&self) -> Result<Spec, Fault> {
        let handed_on = self.handed_on_spec().filter(|spec| !has_aliases(spec));
        if let Some(spec) = handed_on.and_then(|spec| value::read(spec).ok()) {
            return Ok(spec);
        }
        let document = Value::Object(self.resolved_document()?);
        Spec::parse(document).map_err(|error| {
            let origin = self.origin(&error.path);
            Fault::config(format!("{} (set by {origin})", error.under("spec")))
                .on(ConditionType::WorkloadReady, "ConfigError")
        })
    }

    /// The step's input.
    ///
    /// # Errors
    /// When the Composition gives one that does not have the step's form.
    pub fn input<T: DeserializeOwned + Default>(&self) -> Result<T, Fault> {
        let Some(input) = &self.input else {
            return Ok(T::default());
        };
        serde_json::from_value(struct_to_json(input)).map_err(|error| {
            Fault::config(format!(
                "the Composition's input for this step is invalid: {error}"
            ))
        })
    }

    /// The platform's settings as a document: those that resolve-flavors handed
    /// on, with this step's input laid over. None where neither says anything.
    pub fn platform_document(&self) -> Result<Option<Map<String, Value>>, Fault> {
        let handed_on = self
            .context
            .as_ref()
            .and_then(|context| value::map(context, &[PLATFORM_KEY]));
        let over = self.input::<CommonInput>()?.platform;
        Ok(match (handed_on.map(to_map), over) {
            (Some(mut base), Some(over)) => {
                overlay(&mut base, over);
                Some(base)
            }
            (base, over) => base.or(over),
        })
    }

    /// The platform's settings.
    ///
    /// # Errors
    /// When there are none, or one does not have its type.
    pub fn platform(&self) -> Result<Platform, Fault> {
        let Some(document) = self.platform_document()? else {
            return Err(Fault::new(
                StatusReason::TransportError,
                "no platform settings: run resolve-flavors before this step, or write them into the step's input under 'platform'",
            )
            .on(ConditionType::TransportReady, "PlatformMissing"));
        };
        parse_platform(document)
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
    /// list when it does not exist. Must be asked on every call of a pass.
    pub fn require(
        &mut self,
        key: &str,
        kind: (&str, &str),
        name: &str,
        namespace: Option<&str>,
    ) -> Option<Vec<&Struct>> {
        self.requests.resource(key, kind, name, namespace)
    }

    /// What was fetched under `key` because the Composition asked for it.
    pub fn handed_over(&self, key: &str) -> Option<Vec<&Struct>> {
        self.requests.fetched(key)
    }

    /// Asks for the schema of a kind. Must be asked on every call of a pass.
    pub fn require_schema(&mut self, key: &str, api_version: &str, kind: &str) -> SchemaAnswer {
        self.requests.schema(key, api_version, kind)
    }

    /// Whether Crossplane says that it can do that.
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
            reason: words::reason(reason).to_owned(),
            message: message
                .filter(|message| !message.is_empty())
                .map(|message| words::message(&message)),
            target: Some(target as i32),
        });
    }

    /// Ends the pipeline: one Fatal result for each message, and every condition
    /// that no step of this pass has returned yet.
    fn fail(&mut self, fault: &Fault) {
        for message in fault.told() {
            self.results.push(FunctionResult {
                severity: Severity::Fatal as i32,
                message: words::message(&message),
                reason: Some(fault.word.to_string()),
                target: Some(Target::Composite as i32),
            });
        }
        for r#type in ConditionType::ALL {
            let faulty = fault
                .condition
                .as_ref()
                .filter(|(faulty, _)| *faulty == r#type);
            if self.is_returned(r#type) {
                continue;
            }
            match (r#type, faulty) {
                (ConditionType::ActorReady, _) => {
                    self.condition(r#type, Some(false), fault.word.as_str(), Some(fault.text()));
                }
                (_, Some((_, reason))) => {
                    self.condition(r#type, Some(false), reason, Some(fault.text()));
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

    /// Whether this pass has that condition already.
    fn is_returned(&self, r#type: ConditionType) -> bool {
        let name = r#type.as_str();
        // The other conditions are the last step's. Where the context names one, it
        // speaks of that step's own previous call: Crossplane hands a step the
        // context of its last answer when it has fetched what the step asked for.
        let by_earlier_step = r#type == ConditionType::FlavorsResolved
            && self.told.returned.iter().any(|returned| returned == name);
        by_earlier_step
            || self
                .conditions
                .iter()
                .any(|condition| condition.r#type == name)
    }

    fn into_response(mut self) -> RunFunctionResponse {
        for condition in &self.conditions {
            self.told.add_returned(&condition.r#type);
        }
        if let Some(context) = self.context.as_mut() {
            self.told.write(context);
        } else {
            let mut context = Struct::default();
            self.told.write(&mut context);
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

/// Whether fields of the spec are there under other names.
fn has_aliases(spec: &Struct) -> bool {
    let scaling = value::map(spec, &["scaling"]);
    scaling.is_some_and(|scaling| {
        let mut aliases = ALIASES.iter();
        aliases.any(|(alias, _)| scaling.fields.contains_key(*alias))
    })
}

/// Reads platform settings.
///
/// # Errors
/// The first setting that does not have its type.
pub(crate) fn parse_platform(document: Map<String, Value>) -> Result<Platform, Fault> {
    Platform::parse(Value::Object(document)).map_err(|error| {
        Fault::config(format!("the platform's settings are invalid: {error}"))
            .on(ConditionType::TransportReady, "PlatformInvalid")
    })
}
