//! The Deployment or StatefulSet.

use actor::labels;
use actor::names::STATEFUL_SET_MAX;
use actor::spec::{Workload, WorkloadKind};
use function_kit::{Code, Diagnostic, Identity};
use serde_json::{Map, Value, json};

use crate::bound::Bound;
use crate::findings::Findings;
use crate::{ADAPTER_RESOURCE_NAME, Actor, replicas};

/// Kind and name of the actor's own workload.
pub(crate) struct Shape {
    pub(crate) kind: WorkloadKind,
    /// Name of the composed resource.
    pub(crate) resource_name: &'static str,
    /// Name of the object.
    pub(crate) name: String,
    component: &'static str,
    annotations: Map<String, Value>,
}

impl Shape {
    /// Workload of the actor.
    pub(crate) fn of(actor: &Actor) -> Self {
        let workload = actor.spec.workload.as_ref();
        let kind = workload.map(|workload| workload.kind).unwrap_or_default();
        Self {
            kind,
            resource_name: kind.resource_name(),
            name: actor.identity.actor.to_string(),
            component: "actor",
            annotations: Map::new(),
        }
    }

    /// Workload of its adapter.
    pub(crate) fn of_adapter(actor: &Actor, bound: &Bound) -> Self {
        Self {
            kind: WorkloadKind::Deployment,
            resource_name: ADAPTER_RESOURCE_NAME,
            name: actor.identity.actor.asya_prefixed(),
            component: "adapter",
            annotations: bound.annotations(),
        }
    }
}

/// The workload around its pod template.
pub(crate) fn render(
    actor: &Actor,
    shape: &Shape,
    template: Value,
    findings: &mut Findings,
) -> Value {
    let name = &actor.identity.actor;
    let kind = shape.kind;
    let mut spec = Map::from_iter([
        (
            "selector".to_owned(),
            json!({"matchLabels": labels::selector(name)}),
        ),
        ("template".to_owned(), template),
    ]);
    if let Some(replicas) = replicas::render(actor, shape.resource_name) {
        spec.insert("replicas".to_owned(), replicas);
    }
    let workload = actor.spec.workload.as_ref();
    match kind {
        WorkloadKind::Deployment => for_deployment(actor, workload, &mut spec, findings),
        WorkloadKind::StatefulSet => for_stateful_set(actor, workload, &mut spec, findings),
    }
    let mut metadata = actor.identity.metadata(&shape.name, shape.component);
    if !shape.annotations.is_empty() {
        metadata["annotations"] = json!(shape.annotations);
    }
    let mut object = json!({"apiVersion": "apps/v1", "kind": kind.as_str(), "metadata": metadata});
    // Moved: json! would copy all of it.
    object["spec"] = Value::Object(spec);
    object
}

fn for_deployment(
    actor: &Actor,
    workload: Option<&Workload>,
    spec: &mut Map<String, Value>,
    findings: &mut Findings,
) {
    let own = workload.and_then(|workload| workload.strategy.as_ref());
    if let Some(strategy) = own.or(actor.spec.strategy.as_ref()) {
        spec.insert("strategy".to_owned(), json!(strategy));
    }
    let Some(workload) = workload else {
        return;
    };
    let of_stateful_sets = [
        (
            "volumeClaimTemplates",
            !workload.volume_claim_templates.is_empty(),
        ),
        ("serviceName", workload.service_name.is_some()),
    ];
    for (field, is_set) in of_stateful_sets {
        if is_set {
            let location = actor.call.locate(&["workload", field].into());
            let kind = actor.call.locate(&["workload", "kind"].into());
            let message = format!(
                "spec.workload.{field} needs kind \"StatefulSet\", and spec.workload.kind is \"Deployment\""
            );
            findings.error(
                Diagnostic::error(Code::FieldNeedsStatefulSet, location, message).related([kind]),
            );
        }
    }
}

/// A `strategy` beside the template is a Deployment's, and has other fields.
fn for_stateful_set(
    actor: &Actor,
    workload: Option<&Workload>,
    spec: &mut Map<String, Value>,
    findings: &mut Findings,
) {
    let name = actor.identity.actor.as_str();
    if name.len() > STATEFUL_SET_MAX {
        let location = Identity::location_of_name(actor.call.xr());
        let message = format!(
            "actor {name:?} has {} characters, a StatefulSet allows {STATEFUL_SET_MAX}",
            name.len()
        );
        let error = Diagnostic::error(Code::StatefulSetNameTooLong, location, message);
        let help = "its pods carry the name with a revision in a label of at most 63";
        findings.error(error.help(help));
    }
    let service = workload.and_then(|workload| workload.service_name.as_deref());
    spec.insert("serviceName".to_owned(), json!(service.unwrap_or(name)));
    let Some(workload) = workload else {
        return;
    };
    if let Some(strategy) = &workload.strategy {
        spec.insert("updateStrategy".to_owned(), json!(strategy));
    }
    if !workload.volume_claim_templates.is_empty() {
        let claims = json!(workload.volume_claim_templates);
        spec.insert("volumeClaimTemplates".to_owned(), claims);
    }
}
