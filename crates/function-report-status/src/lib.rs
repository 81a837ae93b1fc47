//! Pipeline step 6: status, conditions and readiness of an actor.
//!
//! Maps what Crossplane observes to the actor's status, its conditions and the
//! readiness of every composed object, and removes the resolved spec from the
//! desired XR, in which one unknown key would fail Crossplane's status write.
//!
//! ```
//! use function_kit::cases::form;
//! use function_report_status::run;
//! use serde_json::json;
//!
//! let queue = json!({"apiVersion": "provider.asya.sh/v1alpha1", "kind": "Queue",
//!     "metadata": {"name": "echo", "namespace": "team-a"}});
//! let request = form::request(&json!({
//!     "observed": {"composite": {"metadata": {"name": "echo", "namespace": "team-a"}}},
//!     "desired": {"composite": {"spec": {"image": "my-org/echo:1"}}, "resources": {"queue": queue}},
//! }))?;
//! let response = form::response(&run(request));
//!
//! let status = &response["desired"]["composite"]["status"];
//! assert_eq!(status["status"], "Creating");
//! assert_eq!(status["message"], "the queue is being created");
//! assert_eq!(response["desired"]["ready"]["queue"], false);
//! # Ok::<(), String>(())
//! ```
//!
//! # Reads
//! The resolved spec (modes, bounds, flavors); the desired and observed objects of
//! the other steps; the observed XR's references and `Synced`; notes of earlier
//! steps in the context key `asya.sh/facts`. While an object that Crossplane has a
//! reference to is not observed, it is required by name (`owner-<composition-resource
//! name>`), to identify its owner.
//!
//! # Writes
//! `status` of the desired XR, beside what other functions have put there; the
//! readiness of our objects; the conditions `TransportReady`, `WorkloadReady`,
//! `ScalingReady` (not for an actor that never scaled), `TargetResolved` (mode
//! Binding) and `ActorReady`, whose reason is the status; the time to the next reconcile.
//!
//! # Ends fatally
//! When the actor has no name or namespace, or its spec or the step's input is not
//! of its form. Nothing that is observed ends the pipeline.
//!
//! # Caveats
//! Crossplane stores nothing of a reconcile in which it could not apply an object for
//! another reason than an *Invalid* answer: the conditions then have the reason `FatalError`,
//! Crossplane's own condition, and `Synced` holds the reason.

mod composed;
mod conditions;
mod input;
mod observe;
mod problem;
mod ready;
mod status;
mod status_reason;

use actor::status::{ConditionType, StatusDocument};
use function_kit::{Call, StepError, value};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use serde_json::{Map, Value};

pub use input::Input;

use input::EnvironmentWatched;
use observe::Observation;

/// Runs the step.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// The error that ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), StepError> {
    let input: Input = call.input()?;
    let identity = call.identity()?;
    let spec = call.spec()?;
    let seen = Observation::of(call, &identity, &spec);
    let (reason, message) = status_reason::of(&seen);
    let conditions = conditions::all(&seen, (reason, &message));

    let transport_is_ready = conditions.iter().any(|(condition, verdict)| {
        *condition == ConditionType::TransportReady && verdict.is_true()
    });
    let generation = value::integer(call.xr(), &["metadata", "generation"]);
    // Otherwise the next reconcile would have nothing to write but the generation that this one makes.
    let generation = generation.map(|generation| generation + i64::from(call.changes_references()));
    let document = status::document(
        &seen,
        spec,
        (reason, message),
        transport_is_ready,
        generation,
    );

    ready::tell(call, &seen);
    for (condition, verdict) in conditions {
        call.condition(
            condition,
            verdict.status,
            &verdict.reason,
            Some(verdict.message),
        );
    }
    write_status(call, &document);
    call.remove_desired_xr("spec");
    call.set_ttl_seconds(input.ttl_seconds(reason, EnvironmentWatched::of(call)));
    Ok(())
}

/// Lays our fields over what other functions have put into the desired status.
fn write_status(call: &mut Call, ours: &StatusDocument) {
    let mut document = match call.desired_xr("status").map(value::struct_to_json) {
        Some(Value::Object(others)) => others,
        _ => Map::new(),
    };
    if let Ok(Value::Object(ours)) = serde_json::to_value(ours) {
        document.extend(ours);
    }
    call.set_desired_xr("status", document);
}
