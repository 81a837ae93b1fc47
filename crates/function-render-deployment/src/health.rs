//! The ActorHealth, by which the provider watches the pods.

use std::collections::BTreeMap;

use actor::PROVIDER_API_VERSION;
use actor::binding::Strategy;
use actor::health::{ForProvider, HealthSpec, KIND, WorkloadReference};
use actor::labels;
use serde_json::{Value, json};

use crate::Actor;
use crate::bound::Bound;
use crate::workload::Shape;

/// The ActorHealth of an actor with a workload of its own.
pub(crate) fn of_own(actor: &Actor, shape: &Shape) -> Value {
    let workload = WorkloadReference {
        kind: shape.kind.as_str().to_owned(),
        name: shape.name.clone(),
    };
    render(actor, workload, labels::selector(&actor.identity.actor))
}

/// The ActorHealth of an actor in somebody else's pods; none before these are known.
pub(crate) fn of_target(actor: &Actor, bound: &Bound) -> Option<Value> {
    let target = bound.known.resolved_target.as_ref()?;
    let selector = &bound.known.pod_selector;
    let is_known = bound.strategy == Strategy::Inject && !selector.is_empty();
    is_known.then(|| {
        let workload = WorkloadReference {
            kind: target.kind.clone(),
            name: target.name.clone(),
        };
        render(actor, workload, selector.clone())
    })
}

fn render(
    actor: &Actor,
    workload: WorkloadReference,
    pod_selector: BTreeMap<String, String>,
) -> Value {
    let name = &actor.identity.actor;
    let spec = HealthSpec {
        for_provider: ForProvider {
            actor: name.to_string(),
            workload,
            pod_selector,
            environment_configs: actor.call.environment().to_vec(),
        },
    };
    json!({
        "apiVersion": PROVIDER_API_VERSION,
        "kind": KIND,
        "metadata": actor.identity.metadata(name.as_str(), "health"),
        "spec": spec,
    })
}
