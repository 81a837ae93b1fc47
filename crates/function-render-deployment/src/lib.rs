//! Pipeline step 3: the workload, its ServiceAccount and its ActorHealth, or in mode
//! Binding the WorkloadBinding and the adapter.
//!
//! - **Reads** the resolved spec, the platform's settings, the observed workload and
//!   what the provider reports in the observed `binding`.
//! - **Writes** `deployment` or `statefulset`, `health`, and with an IAM role
//!   `service-account`. The workload is complete but for what inject-sidecar adds. In
//!   mode Binding: `binding`, with the strategy Adapter `adapter` once it is known where
//!   the target listens, and `health` once it is known which pods do the work.
//! - **Ends fatally** when the spec has none of the three forms or two of them, breaks a rule of
//!   the pod, or binds to what cannot be bound to: all broken rules are reported at once.
//!
//! Alone in a Composition it takes the platform's settings from its [`Input`]; with
//! none it uses their defaults and renders no ServiceAccount.
//!
//! ```
//! use function_kit::value::{json_to_struct, text};
//! use function_proto::v1::{Resource, RunFunctionRequest, State};
//! use serde_json::json;
//!
//! let xr = json!({
//!     "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
//!     "metadata": {"name": "text-processor", "namespace": "default"},
//!     "spec": {"image": "my-org/app:1", "handler": "app.handle"},
//! });
//! let response = function_render_deployment::run(RunFunctionRequest {
//!     observed: Some(State {
//!         composite: Some(Resource {
//!             resource: xr.as_object().map(json_to_struct),
//!             ..Resource::default()
//!         }),
//!         ..State::default()
//!     }),
//!     ..RunFunctionRequest::default()
//! });
//!
//! let desired = response.desired.unwrap_or_default();
//! let deployment = desired.resources["deployment"].resource.as_ref().unwrap();
//! assert_eq!(text(deployment, &["metadata", "name"]), Some("text-processor"));
//! ```

mod binding;
mod bound;
mod containers;
mod defaults;
mod env;
mod findings;
mod health;
mod input;
mod list;
mod place;
mod replicas;
mod resources;
mod runtime;
mod service_account;
mod template;
mod workload;

use actor::binding::{ADAPTER_RESOURCE_NAME, RESOURCE_NAME as BINDING, Strategy};
use actor::health::RESOURCE_NAME as HEALTH;
use actor::platform::Platform;
use actor::spec::{RuntimeAdapter, Spec};
use function_kit::{Call, Code, CommonInput, Diagnostic, Identity, PLATFORM_KEY, StepError, value};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use merge::{FieldPath, Origin};
use serde_json::Value;

pub use input::Input;

use bound::Bound;
use findings::Findings;
use workload::Shape;

/// Runs the step.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

/// Inputs of the rendering.
struct Actor<'a> {
    call: &'a Call,
    identity: &'a Identity,
    spec: &'a Spec,
    platform: &'a Platform,
    /// True if it is a flavor that gives `handler`.
    flavor_gives_handler: bool,
    /// IAM role of the pods, where they get one through their ServiceAccount.
    role: Option<String>,
    /// Target; none in mode Standalone.
    bound: Option<Bound<'a>>,
}

impl Actor<'_> {
    /// Returns whether its containers run in another owner's pods.
    fn is_injected(&self) -> bool {
        let mut bound = self.bound.iter();
        bound.any(|bound| bound.strategy == Strategy::Inject)
    }

    /// The handler, if one is named.
    fn handler(&self) -> Option<&str> {
        let of_adapter = self
            .bound
            .as_ref()
            .and_then(|bound| bound.adapter.handler.as_deref());
        [of_adapter, self.spec.handler.as_deref()]
            .into_iter()
            .flatten()
            .find(|handler| !handler.is_empty())
    }
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// The error that ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), StepError> {
    check_forms_of_own_spec(call)?;
    let spec = call.spec()?;
    call.form(&spec)?;
    let identity = call.identity()?;
    let platform = platform(call)?;
    let role = service_account::role(call, &spec, &platform)?;
    let mut findings = Findings::default();
    let no_adapter = RuntimeAdapter::default();
    let bound = Bound::of(call, &identity, &spec, &no_adapter, &mut findings)?;
    let origin_of_handler = call.origins().of(&FieldPath::from(["handler"]));
    let actor = Actor {
        flavor_gives_handler: origin_of_handler.and_then(Origin::layer).is_some(),
        call,
        identity: &identity,
        spec: &spec,
        platform: &platform,
        role,
        bound,
    };
    refuse_command(call, &mut findings);
    let objects = objects(&actor, &mut findings);
    for (condition, note) in findings.into_notes()? {
        call.note(condition, None, note);
    }
    for (name, object) in objects {
        call.compose(name, object);
    }
    Ok(())
}

/// Every composed object with its name.
fn objects(actor: &Actor, findings: &mut Findings) -> Vec<(&'static str, Value)> {
    let Some(bound) = &actor.bound else {
        return own_workload(actor, &Shape::of(actor), findings);
    };
    let mut objects = vec![(BINDING, binding::render(actor, bound, findings))];
    match bound.strategy {
        Strategy::Inject => {
            objects.extend(health::of_target(actor, bound).map(|health| (HEALTH, health)));
        }
        Strategy::Adapter => {
            let shape = Shape::of_adapter(actor, bound);
            let adapter = own_workload(actor, &shape, findings);
            // It needs the URL from its first start on: what becomes known later restarts it.
            if bound.url.is_some() {
                objects.extend(adapter);
            }
        }
    }
    objects
}

/// A workload of the actor's own, with what goes with it.
fn own_workload(
    actor: &Actor,
    shape: &Shape,
    findings: &mut Findings,
) -> Vec<(&'static str, Value)> {
    let (template, account) = template::render(actor, findings);
    let workload = workload::render(actor, shape, template, findings);
    let mut objects = vec![
        (shape.resource_name, workload),
        (HEALTH, health::of_own(actor, shape)),
    ];
    objects.extend(account.map(|account| (service_account::RESOURCE_NAME, account)));
    objects
}

/// The API has no field `command`. Who writes one wants to start another program, and
/// passing it over would start the runtime script after all.
fn refuse_command(call: &Call, findings: &mut Findings) {
    if call.spec_has("command") {
        let path = FieldPath::from(["command"]);
        let problem = "container \"asya-runtime\" must not have a command, because it starts the runtime script";
        let location = call.locate(&path);
        let message = format!("spec.{path}: {problem} (set by {})", location.source);
        findings.error(
            Diagnostic::error(Code::CommandSet, location, message)
                .help("use 'pythonExecutable' and 'args'"),
        );
    }
}

/// Refuses forms beside each other in what the user wrote. Only these four fields
/// can be at odds with others, and few actors set one, so that the XR's spec is
/// rarely read a second time.
fn check_forms_of_own_spec(call: &Call) -> Result<(), StepError> {
    let fields = ["workload", "workloadRef", "runtime", "binding"];
    let is_set = |field: &str| value::at(call.xr(), &["spec", field]).is_some();
    if fields.into_iter().any(is_set) {
        call.check_own_form()?;
    }
    Ok(())
}

/// The platform's settings; their defaults if none are given.
fn platform(call: &Call) -> Result<Platform, StepError> {
    let is_given =
        call.context(PLATFORM_KEY).is_some() || call.input::<CommonInput>()?.platform.is_some();
    if is_given {
        call.platform()
    } else {
        Ok(Platform::default())
    }
}
