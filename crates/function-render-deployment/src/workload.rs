//! The Deployment or StatefulSet.

use actor::labels;
use actor::names::STATEFUL_SET_MAX;
use actor::spec::{Spec, Workload, WorkloadKind};
use serde_json::{Map, Value, json};

use crate::findings::Findings;
use crate::{Actor, replicas};

/// What the actor runs as.
pub(crate) fn kind(spec: &Spec) -> WorkloadKind {
    spec.workload
        .as_ref()
        .map(|workload| workload.kind)
        .unwrap_or_default()
}

/// The workload around its pod template.
pub(crate) fn render(actor: &Actor, template: Value, findings: &mut Findings) -> Value {
    let name = &actor.identity.actor;
    let kind = kind(actor.spec);
    let mut spec = Map::from_iter([
        (
            "selector".to_owned(),
            json!({"matchLabels": labels::selector(name)}),
        ),
        ("template".to_owned(), template),
    ]);
    if let Some(replicas) = replicas::render(actor, kind.resource_name()) {
        spec.insert("replicas".to_owned(), replicas);
    }
    let workload = actor.spec.workload.as_ref();
    match kind {
        WorkloadKind::Deployment => for_deployment(actor, workload, &mut spec, findings),
        WorkloadKind::StatefulSet => for_stateful_set(actor, workload, &mut spec, findings),
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": kind.as_str(),
        "metadata": actor.identity.metadata(name.as_str(), "actor"),
        "spec": spec,
    })
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
            findings.fault(format!(
                "spec.workload.{field} needs kind \"StatefulSet\", and spec.workload.kind is \"Deployment\""
            ));
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
        findings.fault(format!(
            "actor {name:?} has {} characters, a StatefulSet allows {STATEFUL_SET_MAX}: its pods carry the name with a revision in a label of at most 63",
            name.len()
        ));
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
