//! The ActorHealth, by which the provider watches the pods.

use actor::PROVIDER_API_VERSION;
use actor::health::{ForProvider, HealthSpec, KIND, WorkloadReference};
use actor::labels;
use actor::spec::WorkloadKind;
use serde_json::{Value, json};

use crate::Actor;

/// The ActorHealth of an actor that runs as `kind`.
pub(crate) fn render(actor: &Actor, kind: WorkloadKind) -> Value {
    let name = &actor.identity.actor;
    let spec = HealthSpec {
        for_provider: ForProvider {
            actor: name.to_string(),
            workload: WorkloadReference {
                kind: kind.as_str().to_owned(),
                name: name.to_string(),
            },
            pod_selector: labels::selector(name),
        },
    };
    json!({
        "apiVersion": PROVIDER_API_VERSION,
        "kind": KIND,
        "metadata": actor.identity.metadata(name.as_str(), "health"),
        "spec": spec,
    })
}
