//! Pipeline step 5: KEDA's `ScaledObject` and `TriggerAuthentication` of an actor.
//!
//! | | |
//! |---|---|
//! | reads | the resolved spec, the platform's settings, the desired workload, the desired or observed `queue`, the observed `health` and `binding`, the XR's annotations `autoscaling.keda.sh/paused*` |
//! | writes | the composed resources `scaled-object` and `trigger-authentication`; notes for `ScalingReady` |
//! | ends fatally | when KEDA would refuse what `spec.scaling` says |
//!
//! While scaling is off nothing is rendered, so that Crossplane removes both. They
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

mod input;
mod obstacle;
mod queue_trigger;
mod rules;
mod scaled_object;
mod target;
mod trigger_authentication;

use std::time::Duration;

use actor::duration::format;
use actor::queue;
use actor::spec::Spec;
use actor::status::{ConditionType, Word};
use actor::timeout::runtime_timeout;
use actor::transport::Transport;
use function_kit::{Call, Fault, value};
use function_sdk_rust::proto::v1::{RunFunctionRequest, RunFunctionResponse};
use serde_json::Value;

use obstacle::Obstacle;
use queue_trigger::{Queue, QueueTrigger};
use target::Target;

pub use input::Input;

/// Adds KEDA's objects to the desired state.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

fn step(call: &mut Call) -> Result<(), Fault> {
    let spec = call.spec()?;
    if !spec.scaling.enabled() {
        return Ok(());
    }
    let Rendered { objects, note } = render(call, &spec)?;
    let obstacle = Obstacle::find(call);
    for (name, object) in objects {
        // What is there stays: leaving it out would be an order to delete it.
        if obstacle.is_none() || call.observed(name).is_some() {
            call.compose(name, &object);
            if name == trigger_authentication::PARAMETERS_RESOURCE_NAME {
                call.set_ready(name, true);
            }
        }
    }
    if let Some(obstacle) = obstacle {
        // The context has it from the call before the schemas were fetched.
        call.facts()
            .notes
            .retain(|told| Some(&told.message) != note.as_ref());
        let reason = Some(obstacle.reason());
        call.note(ConditionType::ScalingReady, reason, obstacle.message());
    } else if let Some(note) = note {
        call.note(ConditionType::ScalingReady, None, note);
    }
    Ok(())
}

/// KEDA's objects, by composition-resource name.
struct Rendered {
    objects: Vec<(&'static str, Value)>,
    /// What the user should know of them.
    note: Option<String>,
}

fn render(call: &Call, spec: &Spec) -> Result<Rendered, Fault> {
    let named = call
        .input::<Input>()?
        .target
        .filter(|name| !name.is_empty());
    let identity = call.identity()?;
    let platform = call.platform()?;
    let transport = call.transport(spec, &platform)?;
    let queue_name = call.queue_name(&identity, &platform, &transport)?;
    let target = Target::find(call, &identity, spec, named.as_deref())?;
    let faults = rules::faults(call, &identity, &spec.scaling, &target);
    if !faults.is_empty() {
        let fault = Fault::all(Word::ConfigError, faults);
        return Err(fault.on(ConditionType::ScalingReady, "ConfigError"));
    }

    let queue = Queue {
        name: &queue_name,
        url: call
            .observed(queue::RESOURCE_NAME)
            .and_then(|queue| value::text(queue, &["status", "atProvider", "url"])),
        length: spec.scaling.queue_length(),
    };
    let trigger = QueueTrigger::of(&transport, &queue);
    let note = long_work(spec, &transport, &trigger, runtime_timeout(spec)?);
    let mut objects = vec![
        (
            scaled_object::RESOURCE_NAME,
            scaled_object::object(&identity, &spec.scaling, &target, &trigger),
        ),
        (
            trigger_authentication::RESOURCE_NAME,
            trigger_authentication::object(&identity, &trigger.access),
        ),
    ];
    let parameters = trigger_authentication::parameters(&identity, &trigger.access);
    objects.extend(
        parameters.map(|object| (trigger_authentication::PARAMETERS_RESOURCE_NAME, object)),
    );
    Ok(Rendered { objects, note })
}

/// A warning where an actor can look idle to KEDA while it works.
fn long_work(
    spec: &Spec,
    transport: &Transport,
    trigger: &QueueTrigger,
    timeout: Duration,
) -> Option<String> {
    let cooldown = Duration::from_secs(spec.scaling.cooldown_period().into());
    (trigger.leaves_out_work && timeout > cooldown).then(|| {
        format!(
            "KEDA counts over AMQP and so leaves out messages in work: with a runtime timeout of {} and a cooldownPeriod of {} pods may be scaled in while they work, and then have their grace period to finish; set managementHost of transport {:?}, or a longer cooldownPeriod",
            format(timeout),
            format(cooldown),
            transport.name
        )
    })
}
