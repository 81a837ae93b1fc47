//! Pipeline step 4: the sidecar, state proxies and runtime script of a workload.
//!
//! - **Reads** the resolved spec, the platform's settings, the queue's name and
//!   place, and the desired workload, whichever step rendered it.
//! - **Writes** the same workload with what is injected, and
//!   `runtime-script-<hash>`, a ConfigMap.
//! - **Ends fatally** when there is no workload to inject into, when the actor has no
//!   usable transport, or when what the user gives is at odds with what is injected:
//!   all errors are reported at once.
//!
//! Applied to its own output it changes nothing.
//!
//! ```
//! use function_inject_sidecar::{Config, run};
//! use function_kit::value::{as_struct, json_to_struct, list, text};
//! use function_proto::v1::{Resource, RunFunctionRequest, State};
//! use serde_json::{Value, json};
//!
//! let resource = |object: Value| Resource {
//!     resource: object.as_object().map(json_to_struct),
//!     ..Resource::default()
//! };
//! let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {
//!     "spec": {"containers": [{"name": "asya-runtime", "image": "my-org/app:1"}]},
//! }}});
//! let settings = json!({"platform": {"transports": {
//!     "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
//! }}});
//! let request = RunFunctionRequest {
//!     observed: Some(State {
//!         composite: Some(resource(json!({
//!             "metadata": {"name": "text-processor", "namespace": "default"},
//!         }))),
//!         ..State::default()
//!     }),
//!     desired: Some(State {
//!         resources: [("deployment".to_owned(), resource(deployment))].into(),
//!         ..State::default()
//!     }),
//!     input: settings.as_object().map(json_to_struct),
//!     ..RunFunctionRequest::default()
//! };
//!
//! let desired = run(request, &Config::default()).desired.unwrap();
//! let deployment = desired.resources["deployment"].resource.as_ref().unwrap();
//! let containers = list(deployment, &["spec", "template", "spec", "containers"]);
//! let sidecar = as_struct(&containers[1]).unwrap();
//! assert_eq!(text(sidecar, &["image"]), Some("asya-sidecar:latest"));
//! ```

mod config;
mod environment;
mod inject;
mod input;
mod origin;
mod probes;
mod rabbitmq;
mod resiliency;
mod resources;
mod rollout;
mod runtime_script;
mod script;
mod security;
mod sidecar;
mod sqs;
mod state_proxy;
mod target;
mod variables;
mod versions;
mod volumes;

use std::time::Duration;

use actor::platform::Platform;
use actor::spec::Spec;
use actor::status::{ConditionType, StatusReason};
use actor::transport::Transport;
use function_kit::{Call, Identity, StepError};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use serde_json::Value;

pub use config::{Config, IMAGE_VARIABLE, ReadScriptError, SCRIPT_VARIABLE};
pub use input::{Input, Targets};
pub use runtime_script::Script;

use inject::Injected;
use script::Source;

/// Runs the step.
pub fn run(request: RunFunctionRequest, config: &Config) -> RunFunctionResponse {
    function_kit::run(request, |call| step(call, config))
}

/// Inputs of the injection.
struct Actor<'a> {
    call: &'a Call,
    identity: &'a Identity,
    spec: &'a Spec,
    platform: &'a Platform,
    transport: &'a Transport,
    /// Longest run of the handler for one message.
    timeout: Duration,
    /// Image of the sidecar.
    sidecar_image: &'a str,
    /// Name of the queue at the broker; none where it is not known, in a foreign Composition.
    queue_name: Option<String>,
}

impl Actor<'_> {
    /// Returns whether the sidecar is our own, whose probes and files are known.
    fn sidecar_is_ours(&self) -> bool {
        sidecar::is_ours(self.sidecar_image)
    }
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// The error that ends the pipeline.
pub fn step(call: &mut Call, config: &Config) -> Result<(), StepError> {
    let input: Input = call.input()?;
    let mut targets = target::present(call, &input.target)?;
    if targets.is_empty() {
        return Ok(());
    }
    let spec = call.spec()?;
    let identity = call.identity()?;
    let platform = call.platform()?;
    let transport = call.transport(&spec, &platform)?;
    let fallback_image = input.sidecar_image.as_ref();
    let fallback_image = fallback_image.or(config.sidecar_image.as_ref());
    let sidecar_image = sidecar::image(&spec, &platform, fallback_image);
    let mut of_own_pods = Source::choose(call, &platform, config, sidecar::is_ours(sidecar_image))?;
    let mut of_foreign_pods = Source::config_map_of(call, &platform, config)?;
    if !spec.state_proxy.is_empty() {
        of_own_pods = of_own_pods.with_state_files();
        of_foreign_pods = of_foreign_pods.with_state_files();
    }
    let actor = Actor {
        call,
        timeout: call.runtime_timeout(&spec)?,
        queue_name: call.queue_name(&identity, &platform, &transport).ok(),
        identity: &identity,
        spec: &spec,
        platform: &platform,
        transport: &transport,
        sidecar_image,
    };

    let mut errors = Vec::new();
    let mut sources = Vec::new();
    for target in &mut targets {
        let source = if target.is_foreign {
            &of_foreign_pods
        } else {
            &of_own_pods
        };
        // The same is wrong with each target: it is reported for the first.
        let mut of_target = Vec::new();
        let injected = Injected::render(&actor, source, target.is_foreign, &mut of_target)?;
        if sources.is_empty() {
            errors.extend(of_target);
        }
        injected.apply(&actor, target, &mut errors);
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    if !errors.is_empty() {
        return Err(StepError::all(StatusReason::ConfigError, errors)
            .on(ConditionType::WorkloadReady, "ConfigError"));
    }

    let note = sqs::note_on_visibility(&actor);
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let current = sources
        .iter()
        .find_map(|source| source.config_map(&identity));
    let earlier = rollout::earlier_scripts(call, &identity, &names, current.as_deref());
    let present = sources.iter().filter_map(|source| source.render(&identity));
    let config_maps: Vec<(String, Value)> = earlier.into_iter().chain(present).collect();
    for (name, config_map) in config_maps {
        call.compose(&name, config_map);
    }
    for target in targets {
        call.compose(&target.name, target.object);
    }
    if let Some(note) = note {
        call.note(ConditionType::TransportReady, None, note);
    }
    Ok(())
}
