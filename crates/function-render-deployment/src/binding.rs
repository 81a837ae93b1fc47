//! The WorkloadBinding, and what it adds to the pods of its target.

use actor::binding::{BindingSpec, ForProvider, KIND, Strategy};
use actor::duration::seconds_up;
use actor::status::ConditionType;
use actor::timeout::runtime_timeout;
use actor::{PROVIDER_API_VERSION, labels, quantity};
use function_kit::{Code, Diagnostic, Location};
use merge::FieldPath;
use serde_json::{Map, Value, json};

use crate::bound::Bound;
use crate::findings::Findings;
use crate::{Actor, containers, service_account, template};

/// Default requests of the adapter: what a small Python program
/// needs that forwards. In somebody else's pod it must have some, or it would break
/// autoscalers of theirs.
const LEAST: [(&str, &str); 2] = [("cpu", "10m"), ("memory", "64Mi")];

/// Fields of flavors that are about a pod, and so have no effect in the target's.
const OF_OWN_PODS: [&str; 14] = [
    "affinity",
    "initContainers",
    "nodeSelector",
    "podAnnotations",
    "podLabels",
    "priorityClassName",
    "replicas",
    "runtimeClassName",
    "securityContext",
    "serviceAccountName",
    "strategy",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
];

/// The WorkloadBinding of an actor that is bound so.
pub(crate) fn render(actor: &Actor, bound: &Bound, findings: &mut Findings) -> Value {
    let name = &actor.identity.actor;
    let template = match bound.strategy {
        Strategy::Inject => fragment(actor, bound, findings),
        Strategy::Adapter => Map::new(),
    };
    let spec = BindingSpec {
        for_provider: ForProvider {
            actor: name.to_string(),
            target_ref: bound.target.clone(),
            strategy: bound.strategy,
            template,
            minimum_grace_period_seconds: (bound.strategy == Strategy::Inject)
                .then(|| runtime_timeout(actor.spec).ok())
                .flatten()
                .map(seconds_up),
        },
        management_policies: Vec::new(),
    };
    json!({
        "apiVersion": PROVIDER_API_VERSION,
        "kind": KIND,
        "metadata": actor.identity.metadata(name.as_str(), "binding"),
        "spec": spec,
    })
}

/// Returns the additions to the target's pods: the adapter, its volumes, the pull secrets of
/// its image, and the label by which the actor's pods are watched.
fn fragment(actor: &Actor, bound: &Bound, findings: &mut Findings) -> Map<String, Value> {
    let path = FieldPath::from(["runtime"]);
    let mut pod = Map::from_iter([("containers".to_owned(), json!([bound.container()]))]);
    containers::render(actor, &mut pod, &path, findings);
    template::lay_named_lists(actor, &mut pod, &path, findings);
    template::check_state_proxies(actor, findings);
    let adapter = pod.get_mut("containers").and_then(|list| list.get_mut(0));
    if let Some(Value::Object(adapter)) = adapter {
        let resources = adapter.entry("resources").or_insert_with(|| json!({}));
        if let Value::Object(resources) = resources {
            quantity::complete_requests(resources, None, LEAST);
        }
    }
    note_what_is_the_targets(actor, bound, findings);
    let labels = json!({labels::ACTOR: actor.identity.actor.as_str()});
    Map::from_iter([
        ("metadata".to_owned(), json!({"labels": labels})),
        ("spec".to_owned(), Value::Object(pod)),
    ])
}

fn note_what_is_the_targets(actor: &Actor, bound: &Bound, findings: &mut Findings) {
    let target = &bound.target;
    let fields = OF_OWN_PODS
        .into_iter()
        .filter(|field| actor.call.spec_has(field));
    let mut locations: Vec<(&str, Location)> = fields
        .map(|field| (field, actor.call.locate(&FieldPath::from([field]))))
        .collect();
    let set: Vec<String> = locations
        .iter()
        .map(|(field, location)| format!("{field} (set by {})", location.source))
        .collect();
    if !set.is_empty() {
        let (_, first) = locations.remove(0);
        let message = format!(
            "not applied: {}, because the pods are those of {target}",
            set.join(", ")
        );
        let others = locations.into_iter().map(|(_, location)| location);
        let note = Diagnostic::warning(Code::PodFieldNotApplied, first, message)
            .related(others)
            .help("set it there");
        findings.note(ConditionType::WorkloadReady, note);
    }
    if let Some(role) = &actor.role {
        let annotation = service_account::ROLE_ANNOTATION;
        let location = actor.call.locate(&["workloadRef"].into());
        let message = format!("pods run under the ServiceAccount of {target}");
        let note = Diagnostic::warning(Code::ServiceAccountRole, location, message).help(format!(
            "it must carry the role {role:?} in annotation {annotation}, or the transport needs a credentialsSecretRef"
        ));
        findings.note(ConditionType::TransportReady, note);
    }
}
