//! Pipeline step 1: the flavors an actor names, merged into one resolved spec.
//!
//! - **Reads** the observed XR's spec, the EnvironmentConfig of each flavor and
//!   of the platform (all required from Crossplane, by name), the label of the
//!   live queue, and its [`Input`].
//! - **Writes** the resolved spec into the desired XR's `spec`, the platform's
//!   settings into the context key `asya.sh/platform`, who set which field into
//!   `asya.sh/facts`, and condition `FlavorsResolved`.
//! - **Ends fatally** when the list of flavors or a flavor is invalid, a flavor is
//!   missing, flavors conflict, or the actor has no usable transport.
//!
//! ```
//! use function_kit::cases::form;
//! use serde_json::{Value, json};
//!
//! let mut document = json!({
//!     "observed": {"composite": {
//!         "metadata": {"name": "embedding", "namespace": "ml"},
//!         "spec": {"flavors": ["gpu"], "image": "my-org/embedding:1"},
//!     }},
//!     "input": {"platform": {"transports": {
//!         "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
//!     }}},
//! });
//! let answer = |document: &Value| form::request(document).map(function_resolve_flavors::run);
//!
//! // The first call asks for what the actor names …
//! let asked = form::response(&answer(&document)?);
//! assert_eq!(asked["requirements"]["resources"]["flavor-gpu"]["name"], "gpu");
//!
//! // … and the second, with all of it fetched, resolves.
//! document["required"] = json!({
//!     "flavor-gpu": [{"metadata": {"name": "gpu"}, "data": {"image": "base:1", "scaling": {"maxReplicaCount": 4}}}],
//!     "asya-platform": [],
//! });
//! let resolved = form::response(&answer(&document)?);
//! assert_eq!(resolved["desired"]["composite"]["spec"], json!({
//!     "flavors": ["gpu"],
//!     "image": "my-org/embedding:1",      // the actor wins over its flavors
//!     "scaling": {"maxReplicaCount": 4},
//!     "transport": "sqs",                 // the only enabled one
//! }));
//! # Ok::<(), String>(())
//! ```
//!
//! How documents are merged is stated once, in [`merge::rules`].

mod fetch;
mod flavors;
mod input;
mod list;
mod log;
mod notices;
mod platform;
mod transport;

use actor::spec::{INFRASTRUCTURE, LEGACY_MACHINERY, MACHINERY, yield_to_actor};
use actor::status::{ConditionType, StatusReason};
use function_kit::{Call, Fault, PLATFORM_KEY, SPEC_KEY};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use merge::{Layer, Merged};
use serde_json::{Map, Value};

use crate::flavors::Flavor;
use crate::platform::Settings;

pub use input::{Input, Output};

/// Resolves the flavors of one actor.
pub fn run(request: RunFunctionRequest) -> RunFunctionResponse {
    function_kit::run(request, step)
}

/// The step itself, for a program that runs several of them in one call.
///
/// # Errors
/// What ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), Fault> {
    // This step begins the pass. Crossplane hands it the context of its own
    // previous call, in which it has told everything already.
    call.forget_facts();
    let input: Input = call.input()?;
    let actor = call.subject();
    let own = call.own_spec()?;

    let platform_name = fetch::handed_over_name(call);
    let platform_name = platform_name.unwrap_or_else(|| input.platform_name().to_owned());
    let names = list::read(&own, &platform_name)?;
    let Some(fetched) = fetch::all(call, &names, &platform_name) else {
        let message = "Crossplane has not fetched all EnvironmentConfigs yet".to_owned();
        call.condition(
            ConditionType::FlavorsResolved,
            None,
            "FetchingFlavors",
            Some(message),
        );
        return Ok(());
    };

    // A fault of the platform's is told after those of the flavors.
    let settings = Settings::of(fetched.platform, input.platform);
    let label_required = matches!(&settings, Ok(Some(settings)) if settings.require_flavor_label());
    let present = flavors::present(&names, fetched.flavors, label_required, &actor)?;
    let mut flavors = flavors::read(present)?;
    for flavor in &mut flavors {
        yield_to_actor(&mut flavor.document, &own);
    }
    let left_out = left_out(actor.legacy);
    let Merged {
        document: mut resolved,
        provenance,
    } = merged(&flavors, &own, &left_out)?;
    call.set_origins(provenance);
    let reason = if flavors.is_empty() {
        "NoFlavors"
    } else {
        "Resolved"
    };
    let message = notices::of(&flavors, &own, &left_out);
    call.condition(ConditionType::FlavorsResolved, Some(true), reason, message);

    let transport = settings
        .and_then(|settings| settings.ok_or_else(|| platform::missing(&platform_name)))
        .and_then(|settings| transport_of(call, &resolved, settings));
    if let Ok(transport) = &transport {
        resolved.insert("transport".to_owned(), Value::from(transport.as_str()));
        log::applied(&actor, &names, &resolved);
    }
    // Written without a transport too: tools that render offline show what the
    // flavors gave, and Crossplane applies nothing after a fatal result.
    match input.output {
        Output::Xr => call.set_desired_xr("spec", resolved),
        Output::Context => call.set_context(SPEC_KEY, Value::Object(resolved)),
    }
    transport.map(drop)
}

/// What a flavor cannot set: it is left out before anything is compared.
fn left_out(legacy: bool) -> Vec<&'static str> {
    let machinery = if legacy { &LEGACY_MACHINERY[..] } else { &[] };
    let mut fields = INFRASTRUCTURE.to_vec();
    fields.push(MACHINERY);
    fields.extend(machinery);
    fields
}

fn merged(
    flavors: &[Flavor<'_>],
    own: &Map<String, Value>,
    left_out: &[&str],
) -> Result<Merged, Fault> {
    let layers: Vec<Layer<'_>> = flavors
        .iter()
        .map(|flavor| Layer {
            name: flavor.name.as_str(),
            document: &flavor.document,
        })
        .collect();
    merge::documents(&layers, Some(own), left_out).map_err(|conflicts| {
        let messages = conflicts.iter().map(ToString::to_string).collect();
        Fault::all(StatusReason::ConfigError, messages)
            .on(ConditionType::FlavorsResolved, "FlavorConflict")
    })
}

/// Hands the settings on, and finds the effective transport in them.
fn transport_of(
    call: &mut Call,
    resolved: &Map<String, Value>,
    settings: Settings,
) -> Result<String, Fault> {
    let platform = settings.parse()?;
    call.set_context(PLATFORM_KEY, Value::Object(settings.document));
    transport::effective(call, resolved, &platform)
}

/// What a value is, in the words of a message.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
