//! Target and strategy of an actor in mode Binding.

use actor::binding::target_url;
use actor::binding::targets::{Injection, TargetKind, list};
use actor::binding::{ADAPTER_RESOURCE_NAME, AtProvider, ObjectReference, RESOURCE_NAME, Strategy};
use actor::labels;
use actor::names::RUNTIME_CONTAINER;
use actor::pod::TARGET_URL_VARIABLE;
use actor::spec::{BindingStrategy, RuntimeAdapter, Spec};
use actor::status::ConditionType;
use function_kit::{Call, Code, Diagnostic, Identity, StepError, value};
use merge::FieldPath;
use pbjson_types::Struct;
use serde_json::{Map, Value, json};

use crate::findings::Findings;

/// Target and strategy of an actor.
pub(crate) struct Bound<'a> {
    /// The target.
    pub(crate) target: ObjectReference,
    /// Placement of adapter and sidecar.
    pub(crate) strategy: Strategy,
    /// The actor's settings of the adapter.
    pub(crate) adapter: &'a RuntimeAdapter,
    /// State of the target, as the provider reports it.
    pub(crate) known: AtProvider,
    /// URL of the target's server, for the adapter.
    pub(crate) url: Option<String>,
}

impl<'a> Bound<'a> {
    /// Returns the binding of the actor; none in mode Standalone. Problems of the binding are added
    /// to `findings`.
    ///
    /// # Errors
    /// If the kind of the target is not known.
    pub(crate) fn of(
        call: &Call,
        identity: &Identity,
        spec: &'a Spec,
        none: &'a RuntimeAdapter,
        findings: &mut Findings,
    ) -> Result<Option<Self>, StepError> {
        let Some(reference) = &spec.workload_ref else {
            return Ok(None);
        };
        let target = reference.object();
        let Some(kind) = TargetKind::find(&target.api_version, &target.kind) else {
            let location = call.locate(&FieldPath::from(["workloadRef"]));
            let message = format!(
                "spec.workloadRef (set by {}): an actor cannot be bound to {:?} of {:?}, only to {}",
                location.source,
                target.kind,
                target.api_version,
                list(),
            );
            let error = Diagnostic::error(Code::TargetNotBindable, location, message);
            let help = "what has a URL can be called by an actor with 'image' and 'handler'";
            return Err(
                StepError::config(error.help(help)).on(ConditionType::WorkloadReady, "ConfigError")
            );
        };
        let adapter = spec.runtime.as_ref().unwrap_or(none);
        let strategy = strategy(call, spec, &target, kind, findings);
        let known = known(call, &target);
        let given = adapter.target_url.clone().filter(|url| !url.is_empty());
        let url = match strategy {
            Strategy::Inject => given,
            Strategy::Adapter => given
                .or_else(|| known.target_url.clone())
                .or_else(|| url_of_running(call.observed(ADAPTER_RESOURCE_NAME)?, &target)),
        };
        let bound = Self {
            target,
            strategy,
            adapter,
            known,
            url,
        };
        bound.check_url(call, spec, findings);
        bound.check(call, identity, kind, findings);
        Ok(Some(bound))
    }

    /// Checks the address that the actor gives. Where `Inject` is refused, loopback is not wrong too.
    fn check_url(&self, call: &Call, spec: &Spec, findings: &mut Findings) {
        let strategy = match spec.binding.strategy {
            BindingStrategy::Inject => Strategy::Inject,
            BindingStrategy::Auto | BindingStrategy::Adapter => self.strategy,
        };
        let given = self.adapter.target_url.as_deref();
        let given = given.filter(|url| !url.is_empty());
        if let Some(Err(error)) = given.map(|url| target_url::check(url, strategy)) {
            let location = call.locate(&["runtime", "targetURL"].into());
            let message = format!(
                "spec.runtime.targetURL cannot be called: {error} (set by {})",
                location.source
            );
            findings.error(Diagnostic::error(Code::InvalidTargetUrl, location, message));
        }
    }

    fn check(&self, call: &Call, identity: &Identity, kind: &TargetKind, findings: &mut Findings) {
        let target = &self.target;
        let url_field = || call.locate(&["runtime", "targetURL"].into());
        if target.name.is_empty() {
            let location = call.locate(&["workloadRef", "name"].into());
            let message = "spec.workloadRef.name is empty";
            findings.error(Diagnostic::error(Code::TargetUnnamed, location, message));
        }
        match (self.strategy, kind.injection) {
            (Strategy::Inject, Injection::Fragile(reason)) => {
                let location = call.locate(&["binding", "strategy"].into());
                let message = format!("the sidecar may not stay in {target}: {reason}");
                let note = Diagnostic::warning(Code::FragileInjection, location, message);
                findings.note(ConditionType::WorkloadReady, note);
            }
            (Strategy::Inject, _) => {}
            (Strategy::Adapter, _) => {
                let name = identity.actor.asya_prefixed();
                let resolved = self.known.resolved_target.as_ref();
                let mut taken = [Some(target), resolved].into_iter().flatten();
                if taken.any(|taken| taken.name == name) {
                    let location = Identity::location_of_name(call.xr());
                    let message = format!(
                        "the adapter's Deployment would be called {name:?}, as the target is"
                    );
                    findings.error(
                        Diagnostic::error(Code::AdapterNameTaken, location, message)
                            .help("create this actor under another name"),
                    );
                }
                if self.url.is_none() && !kind.tells_url {
                    let message = format!(
                        "spec.runtime.targetURL is not set, and a {} does not tell where it listens",
                        target.kind
                    );
                    findings.error(
                        Diagnostic::error(Code::TargetUrlMissing, url_field(), message)
                            .help("give it, for example \"http://<service>:<port>\""),
                    );
                }
            }
        }
        if self.strategy == Strategy::Inject && self.url.is_none() {
            let message = "spec.runtime.targetURL is not set";
            let note =
                Diagnostic::warning(Code::TargetUrlMissing, url_field(), message).help(format!(
                    "the adapter's handler must know by itself where {target} listens in its pod"
                ));
            findings.note(ConditionType::WorkloadReady, note);
        }
    }

    /// The adapter's container, as far as the actor's `runtime` sets it.
    pub(crate) fn container(&self) -> Value {
        let mut container = json!({"name": RUNTIME_CONTAINER});
        if let Some(image) = self
            .adapter
            .image
            .as_ref()
            .filter(|image| !image.is_empty())
        {
            container["image"] = json!(image);
        }
        if !self.adapter.env.is_empty() {
            container["env"] = json!(self.adapter.env);
        }
        if let Some(resources) = &self.adapter.resources {
            container["resources"] = Value::Object(resources.clone());
        }
        if let Some(context) = &self.adapter.security_context {
            container["securityContext"] = Value::Object(context.clone());
        }
        container
    }

    /// The annotations of the adapter's Deployment.
    pub(crate) fn annotations(&self) -> Map<String, Value> {
        Map::from_iter([(labels::FORWARDS_TO.to_owned(), json!(key(&self.target)))])
    }
}

/// Returns the placement of adapter and sidecar. What is refused counts as the default, so that more
/// problems can be found.
fn strategy(
    call: &Call,
    spec: &Spec,
    target: &ObjectReference,
    kind: &TargetKind,
    findings: &mut Findings,
) -> Strategy {
    let asked: BindingStrategy = spec.binding.strategy;
    kind.strategy(asked).unwrap_or_else(|reason| {
        let path = FieldPath::from(["binding", "strategy"]);
        let problem = format!(
            "\"Inject\" is not possible with {target}: {reason}; leave it out, or set \"Adapter\""
        );
        findings.error_with_origin(call, Code::InjectionNotPossible, &path, &problem);
        kind.default_strategy
    })
}

/// State of that target, as the provider reports it.
fn known(call: &Call, target: &ObjectReference) -> AtProvider {
    let at_provider = || {
        let binding = call.observed(RESOURCE_NAME)?;
        let reported = value::map(binding, &["status", "atProvider"])?;
        serde_json::from_value::<AtProvider>(value::struct_to_json(reported)).ok()
    };
    at_provider().unwrap_or_default().about(target)
}

/// The URL with which the adapter of that target runs: an adapter that runs is not taken down because the
/// target does not report its URL for a while.
fn url_of_running(adapter: &Struct, target: &ObjectReference) -> Option<String> {
    let forwards_to = ["metadata", "annotations", labels::FORWARDS_TO];
    if value::text(adapter, &forwards_to) != Some(&key(target)) {
        return None;
    }
    let containers = value::list(adapter, &["spec", "template", "spec", "containers"]);
    let container = named(containers, RUNTIME_CONTAINER)?;
    let variable = named(value::list(container, &["env"]), TARGET_URL_VARIABLE)?;
    value::text(variable, &["value"]).map(str::to_owned)
}

fn named<'a>(items: &'a [pbjson_types::Value], name: &str) -> Option<&'a Struct> {
    let mut items = items.iter().filter_map(value::as_struct);
    items.find(|item| value::text(item, &["name"]) == Some(name))
}

fn key(target: &ObjectReference) -> String {
    let group = actor::binding::targets::group_of(&target.api_version);
    format!("{}.{group}/{}", target.kind, target.name)
}
