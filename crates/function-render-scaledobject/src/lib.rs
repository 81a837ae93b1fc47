//! Pipeline step 5: KEDA's `ScaledObject` and `TriggerAuthentication` of an actor.
//!
//! | | |
//! |---|---|
//! | reads | the resolved spec, the platform's settings, the desired workload, the desired or observed `queue`, the observed `health` and `binding`, the XR's annotations `autoscaling.keda.sh/paused*` |
//! | writes | the composed resources `scaled-object`, `scaled-object-target`, `trigger-authentication` and `trigger-parameters`; notes for `ScalingReady` |
//! | ends fatally | when KEDA would refuse `spec.scaling` |
//!
//! While scaling is off nothing is rendered, so that Crossplane removes them. They
//! are left out, too, where the cluster does not have KEDA: Crossplane applies
//! nothing at all while one kind is not served.
//!
//! ```
//! use function_kit::cases::form; // requests as people write them
//! use serde_json::json;
//!
//! let request = form::request(&json!({
//!     "observed": {"composite": {
//!         "metadata": {"name": "text-processor", "namespace": "prod"},
//!         "spec": {"scaling": {"maxReplicaCount": 50}},
//!     }},
//!     "input": {"platform": {"transports": {
//!         "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
//!     }}},
//! }))?;
//!
//! let response = form::response(&function_render_scaledobject::run(request));
//! let scaled_object = &response["desired"]["resources"]["scaled-object"];
//! assert_eq!(scaled_object["spec"]["minReplicaCount"], 0); // it naps without messages
//! assert_eq!(scaled_object["spec"]["maxReplicaCount"], 50);
//! assert_eq!(scaled_object["spec"]["triggers"][0]["metadata"]["queueLength"], "5");
//! # Ok::<(), String>(())
//! ```

mod blocker;
mod bound;
mod input;
mod queue_trigger;
mod rules;
mod scaled_object;
mod target;
mod trigger_authentication;

use std::time::Duration;

use actor::KEDA_API_VERSION;
use actor::binding::reason::NOT_SCALABLE;
use actor::binding::{ADAPTER_RESOURCE_NAME, Strategy};
use actor::duration::format;
use actor::queue;
use actor::spec::Spec;
use actor::status::{ConditionType, StatusReason};
use actor::transport::Transport;
use function_kit::{Call, Code, Diagnostic, Identity, StepError, value};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use serde_json::Value;

use blocker::Blocker;
use bound::{Bound, Scalable};
use queue_trigger::{Queue, QueueTrigger};
use scaled_object::Scaled;
use target::Target;

pub use input::Input;

/// Adds KEDA's objects to the desired state.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// The error that ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), StepError> {
    let spec = call.spec()?;
    if !spec.scaling.enabled() {
        return Ok(());
    }
    let Rendered {
        mut objects,
        mut blocker,
        notes,
    } = render(call, &spec)?;
    if awaits_queue(call) {
        objects.retain(|object| call.observed(object.name).is_some());
    }
    let asks_for_keda = objects.iter().any(|object| !object.is_blocked);
    let absence = asks_for_keda.then(|| Blocker::absence(call)).flatten();
    let is_absent = absence.is_some();
    blocker = absence.or(blocker);
    for Object {
        name,
        document,
        is_blocked,
    } in objects
    {
        // What is there stays: leaving it out would be an order to delete it.
        if !(is_blocked || is_absent) || call.observed(name).is_some() {
            call.compose(name, document);
            if name == trigger_authentication::PARAMETERS_RESOURCE_NAME {
                call.set_ready(name, true);
            }
        }
    }
    if let Some(blocker) = blocker {
        // The context has it from the call before the schemas were fetched.
        call.retain_notes(|kept| notes.iter().all(|(_, note)| kept.diagnostic != *note));
        let reason = Some(blocker.reason());
        let diagnostic = blocker.diagnostic(call);
        call.note(ConditionType::ScalingReady, reason, diagnostic);
    } else {
        for (reason, note) in notes {
            call.note(ConditionType::ScalingReady, reason, note);
        }
    }
    Ok(())
}

/// Returns whether new objects wait until the actor's queue is ready: before, KEDA's checks fail, and each
/// failure costs a reconcile.
///
/// Objects that were composed once are never left out again, also if the API server refused them:
/// core has references to them. An XR without a creationTimestamp was read from a file, so that everything is
/// rendered.
fn awaits_queue(call: &Call) -> bool {
    if value::text(call.xr(), &["metadata", "creationTimestamp"]).is_none()
        || call.desired(queue::RESOURCE_NAME).is_none()
        || call.has_reference(KEDA_API_VERSION, "ScaledObject")
    {
        return false;
    }
    let queue = call.observed(queue::RESOURCE_NAME);
    let ready = queue.and_then(|queue| value::condition(queue, "Ready"));
    ready.is_none_or(|ready| value::text(ready, &["status"]) != Some("True"))
}

/// KEDA's objects, with notes and problems.
#[derive(Default)]
struct Rendered {
    objects: Vec<Object>,
    /// Blocker of any of them.
    blocker: Option<Blocker>,
    /// Diagnostics for the user, with a reason if something does not scale.
    notes: Vec<(Option<&'static str>, Diagnostic)>,
}

/// One of KEDA's objects.
struct Object {
    /// Name of the composed resource.
    name: &'static str,
    document: Value,
    /// True if a new one has to wait until something is out of the way.
    is_blocked: bool,
}

fn render(call: &Call, spec: &Spec) -> Result<Rendered, StepError> {
    let named = call
        .input::<Input>()?
        .target
        .filter(|name| !name.is_empty());
    let identity = call.identity()?;
    let platform = call.platform()?;
    let transport = call.transport(spec, &platform)?;
    let queue_name = call.queue_name(&identity, &platform, &transport)?;
    let bound = Bound::of(call, spec).filter(|_| named.is_none());
    let mut rendered = Rendered::default();
    let mut scaled = Vec::new();
    match &bound {
        None => {
            let target = Target::find(call, &identity, spec, named.as_deref())?;
            scaled.push((Scaled::own(&identity, target), Blocker::on_own_pods(call)));
        }
        Some(bound) => {
            if call.desired(ADAPTER_RESOURCE_NAME).is_some() {
                let target = Target::find(call, &identity, spec, None)?;
                scaled.push((Scaled::own(&identity, target), Blocker::on_own_pods(call)));
            }
            if bound.scales_target() {
                scaled.extend(of_target(call, &identity, bound, &mut rendered.notes));
            }
        }
    }
    let Some((first, _)) = scaled.first() else {
        return Ok(rendered);
    };
    let errors = rules::check(call, &identity, &spec.scaling, &first.target, &platform);
    if !errors.is_empty() {
        let error = StepError::all(StatusReason::ConfigError, errors);
        return Err(error.on(ConditionType::ScalingReady, "ConfigError"));
    }

    let queue = Queue {
        name: &queue_name,
        url: call
            .observed(queue::RESOURCE_NAME)
            .and_then(|queue| value::text(queue, &["status", "atProvider", "url"])),
        length: spec.scaling.queue_length(),
    };
    let has_sidecar = scaled.iter().all(|(scaled, _)| !scaled.is_foreign);
    let trigger = QueueTrigger::of(&transport, &queue, has_sidecar);
    let timeout = call.runtime_timeout(spec)?;
    let note = long_work(call, spec, &transport, &trigger, timeout);
    rendered.notes.extend(note.map(|note| (None, note)));
    let access_is_blocked = scaled.iter().all(|(_, blocker)| blocker.is_some());
    for (scaled, blocker) in scaled {
        rendered.objects.push(Object {
            name: scaled.resource_name,
            document: scaled_object::object(&identity, &spec.scaling, &scaled, &trigger),
            is_blocked: blocker.is_some(),
        });
        rendered.blocker = rendered.blocker.or(blocker);
    }
    if trigger.platform_authentication.is_some() {
        return Ok(rendered);
    }
    let access = trigger_authentication::object(&identity, &trigger.access);
    let parameters = trigger_authentication::parameters(&identity, &trigger.access);
    let access = [
        (trigger_authentication::RESOURCE_NAME, Some(access)),
        (trigger_authentication::PARAMETERS_RESOURCE_NAME, parameters),
    ];
    for (name, document) in access {
        rendered.objects.extend(document.map(|document| Object {
            name,
            document,
            is_blocked: access_is_blocked,
        }));
    }
    Ok(rendered)
}

/// The target's own scaling, where something can scale it, and what stands in its way.
fn of_target<'a>(
    call: &Call,
    identity: &Identity,
    bound: &'a Bound,
    notes: &mut Vec<(Option<&'static str>, Diagnostic)>,
) -> Option<(Scaled<'a>, Option<Blocker>)> {
    let is_injected = bound.strategy == Strategy::Inject;
    match bound.scalable() {
        Scalable::Unknown => None,
        Scalable::No(reason) => {
            // Beside an adapter of its own the actor scales all the same.
            let condition = is_injected.then_some(NOT_SCALABLE);
            notes.push((condition, bound.not_scalable(call, reason)));
            None
        }
        Scalable::Yes(object) => {
            let blocker = bound.foreign_scaler().map(Blocker::ForeignScaler);
            let target = Target::foreign(object);
            Some(if is_injected {
                let on_own_pods = || Blocker::on_own_pods(call);
                let blocker = blocker.or_else(on_own_pods);
                (Scaled::injected(identity, target), blocker)
            } else {
                (Scaled::beside(identity, target), blocker)
            })
        }
    }
}

/// Returns a warning if an actor can appear idle to KEDA while it works.
fn long_work(
    call: &Call,
    spec: &Spec,
    transport: &Transport,
    trigger: &QueueTrigger,
    timeout: Duration,
) -> Option<Diagnostic> {
    let cooldown = Duration::from_secs(spec.scaling.cooldown_period().into());
    (trigger.leaves_out_work && timeout > cooldown).then(|| {
        let message = format!(
            "KEDA counts over AMQP and so leaves out messages in work: with a runtime timeout of {} and a cooldownPeriod of {} pods may be scaled in while they work, and then have their grace period to finish",
            format(timeout),
            format(cooldown),
        );
        let name = transport.name.as_str();
        let host = call.locate_setting(&["transports", name, "config", "managementHost"].into());
        let location = call.locate(&["scaling", "cooldownPeriod"].into());
        Diagnostic::warning(Code::LongWorkOverAmqp, location, message)
            .related([host])
            .help(format!(
                "set managementHost of transport {name:?}, or a longer cooldownPeriod"
            ))
    })
}
