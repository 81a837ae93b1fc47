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

use actor::spec::{INFRASTRUCTURE, LEGACY_MACHINERY, MACHINERY, Yielded, yield_to_actor};
use actor::status::{ConditionType, StatusReason};
use function_kit::{Call, Code, Diagnostic, Location, PLATFORM_KEY, SPEC_KEY, StepError};
use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use merge::{Conflict, ConflictKind, FieldPath, Layer, Merged};
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
/// The error that ends the pipeline.
pub fn step(call: &mut Call) -> Result<(), StepError> {
    let actor = call.subject();
    resolve(call).inspect_err(|error| log::refused(&actor, error))
}

fn resolve(call: &mut Call) -> Result<(), StepError> {
    // This is the first step of a reconcile. Crossplane hands it the context of its own
    // previous call, which holds its facts already.
    call.forget_facts();
    let input: Input = call.input()?;
    let actor = call.subject();
    let own = call.own_spec()?;

    let platform_name = fetch::bootstrap_name(call);
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

    call.set_environment(fetched.used());
    // An error of the platform's settings is reported after those of the flavors.
    let settings = Settings::of(fetched.platform, input.platform);
    let label_required = matches!(&settings, Ok(Some(settings)) if settings.require_flavor_label());
    let present = flavors::present(&names, fetched.flavors, label_required, &actor)?;
    let mut flavors = flavors::read(present)?;
    let mut removed = Vec::new();
    let mut yielded = Vec::new();
    for Flavor { name, document } in &mut flavors {
        let Yielded {
            removed: items,
            lost,
        } = yield_to_actor(document, &own);
        removed.extend(
            items
                .iter()
                .map(|item| Location::flavor(name.as_str(), in_data(item))),
        );
        yielded.extend(notices::yielded(name.as_str(), &lost));
    }
    let ignored_keys = ignored_keys(actor.legacy);
    let Merged {
        document: mut resolved,
        provenance,
    } = merged(&flavors, &own, &ignored_keys)?;
    call.set_origins(provenance);
    call.set_removed(removed);
    let reason = if flavors.is_empty() {
        "NoFlavors"
    } else {
        "Resolved"
    };
    let mut notices = notices::all(&flavors, &own, &ignored_keys);
    notices.extend(yielded);
    notices.extend(notices::replicas_while_scaling(&resolved, |path| {
        call.locate(path)
    }));
    let message = notices.iter().map(ToString::to_string);
    let message = message.collect::<Vec<_>>().join("; ");
    call.condition(
        ConditionType::FlavorsResolved,
        Some(true),
        reason,
        Some(message),
    );
    for notice in notices {
        call.note(ConditionType::FlavorsResolved, None, notice);
    }

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

/// Fields that a flavor cannot set: they are ignored before the merge.
fn ignored_keys(legacy: bool) -> Vec<&'static str> {
    let machinery = if legacy { &LEGACY_MACHINERY[..] } else { &[] };
    let mut fields = INFRASTRUCTURE.to_vec();
    fields.push(MACHINERY);
    fields.extend(machinery);
    fields
}

fn merged(
    flavors: &[Flavor<'_>],
    own: &Map<String, Value>,
    ignored_keys: &[&str],
) -> Result<Merged, StepError> {
    let layers: Vec<Layer<'_>> = flavors
        .iter()
        .map(|flavor| Layer {
            name: flavor.name.as_str(),
            document: &flavor.document,
        })
        .collect();
    merge::documents(&layers, Some(own), ignored_keys).map_err(|conflicts| {
        let errors = conflicts.iter().map(conflict).collect();
        StepError::all(StatusReason::ConfigError, errors)
            .on(ConditionType::FlavorsResolved, "FlavorConflict")
    })
}

/// A path in the spec as one in a flavor's EnvironmentConfig.
fn in_data(path: &FieldPath) -> FieldPath {
    let path = path.segments().iter().cloned();
    std::iter::once("data".into()).chain(path).collect()
}

/// A conflict is located in the flavor that sets the field again; the other one is related.
fn conflict(conflict: &Conflict) -> Diagnostic {
    let code = match conflict.kind {
        ConflictKind::SetTwice => Code::FlavorConflict,
        ConflictKind::TypeMismatch { .. } => Code::FlavorTypeMismatch,
    };
    let path = in_data(&conflict.path);
    let at = |flavor: &str| Location::flavor(flavor, path.clone());
    Diagnostic::error(code, at(&conflict.second), conflict.to_string())
        .related([at(&conflict.first)])
}

/// Hands the settings on, and finds the effective transport in them.
fn transport_of(
    call: &mut Call,
    resolved: &Map<String, Value>,
    settings: Settings,
) -> Result<String, StepError> {
    let platform = settings.parse()?;
    call.set_platform_input(settings.platform_input());
    call.set_context(PLATFORM_KEY, Value::Object(settings.document));
    transport::effective(call, resolved, &platform)
}

/// The type of a value, as messages name it.
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
