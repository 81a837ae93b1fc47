//! Pipeline step 2: the `Queue` object of an actor.
//!
//! The provider makes the queue from it. It is rendered whether KEDA scales the
//! actor or not.
//!
//! | | |
//! |---|---|
//! | reads | the resolved spec, the platform's settings, the observed `queue` |
//! | writes | the composed resource `queue`; notes for `TransportReady` |
//! | ends fatally | without a usable transport; when a new queue could not have its name; when the spec asks a live queue to move |
//!
//! A live queue keeps its transport, its place and its name, whatever the settings
//! say now: it may hold messages.
//!
//! ```
//! use function_kit::cases::form; // requests as people write them
//! use serde_json::json;
//!
//! let request = form::request(&json!({
//!     "observed": {"composite": {"metadata": {"name": "text-processor", "namespace": "prod"}}},
//!     "input": {"platform": {"transports": {
//!         "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
//!     }}},
//! }))?;
//!
//! let response = form::response(&function_render_queue::run(request));
//! let queue = &response["desired"]["resources"]["queue"];
//! assert_eq!(queue["metadata"]["annotations"]["crossplane.io/external-name"], "asya-text-processor");
//! // Twice the handler's timeout, which is 5 minutes by default.
//! assert_eq!(queue["spec"]["forProvider"]["sqs"]["visibilityTimeoutSeconds"], 600);
//! # Ok::<(), String>(())
//! ```

mod input;
mod live;
mod queue;
mod settings;

use std::time::Duration;

use actor::platform::Platform;
use actor::queue::RESOURCE_NAME;
use actor::spec::Spec;
use actor::status::ConditionType;
use actor::transport::Transport;
use function_kit::{Call, Identity, StepError};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};

pub use input::Input;

/// Adds the Queue to the desired state.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// The error that ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), StepError> {
    let identity = call.identity()?;
    let spec = call.spec()?;
    let platform = call.platform()?;
    live::refuse_another_transport(call, &spec)?;
    let transport = call.transport(&spec, &platform)?;
    live::refuse_another_type(call, &transport)?;

    let mut notes = Vec::new();
    let object = {
        let wanted = Wanted {
            name: call.queue_name(&identity, &platform, &transport)?,
            timeout: call.runtime_timeout(&spec)?,
            call,
            identity: &identity,
            platform: &platform,
            spec: &spec,
            transport: &transport,
        };
        notes.extend(live::kept_settings(&wanted)?);
        queue::object(&wanted, &mut notes)?
    };
    call.compose(RESOURCE_NAME, object);
    for note in notes {
        call.note(ConditionType::TransportReady, None, note);
    }
    Ok(())
}

/// All that a queue follows from.
struct Wanted<'a> {
    call: &'a Call,
    identity: &'a Identity,
    platform: &'a Platform,
    spec: &'a Spec,
    transport: &'a Transport,
    /// The queue's name at the broker.
    name: String,
    /// The runtime timeout.
    timeout: Duration,
}
