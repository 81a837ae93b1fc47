//! Intents of server-side apply: label and annotation of the workload, and the injected pod template.
//!
//! An apply to a missing object would create it. So every intent contains the uid of the observed
//! workload: where that is missing or was replaced, the API server refuses and creates nothing.
//! Source: Kubernetes, `apiserver/pkg/endpoints/handlers/patch.go`.

use actor::binding::ObjectReference;
use actor::labels::{BOUND_TO, MANAGED_BY};
use serde_json::{Map, Value, json};

/// Additions to workloads for one actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addition<'a> {
    /// Namespace of actor and workload.
    pub namespace: &'a str,
    /// Name of the actor.
    pub actor: &'a str,
    /// Injected fields of the pod template.
    pub template: &'a Map<String, Value>,
}

impl Addition<'_> {
    /// The intent that injects it into the workload with this uid.
    pub fn intent(&self, workload: &ObjectReference, uid: &str) -> Value {
        let mut intent = empty(workload, uid);
        intent["metadata"]["labels"] = json!({BOUND_TO: self.actor});
        intent["metadata"]["annotations"] =
            json!({MANAGED_BY: managed_by(self.namespace, self.actor)});
        intent["spec"] = json!({"template": self.template});
        intent
    }
}

/// The empty intent: it removes everything that its field manager owns, and nothing else.
pub fn empty(workload: &ObjectReference, uid: &str) -> Value {
    json!({
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "metadata": {"name": workload.name, "uid": uid},
    })
}

/// The merge patch that removes label and annotation and keeps the rest, which belongs to the owner of
/// the workload from then on. It restarts no pods.
pub fn remove_labels(uid: &str) -> Value {
    json!({"metadata": {"uid": uid, "labels": {BOUND_TO: null}, "annotations": {MANAGED_BY: null}}})
}

/// Value of the annotation [`MANAGED_BY`].
pub fn managed_by(namespace: &str, actor: &str) -> String {
    format!("{namespace}/{actor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_names_one_object_by_its_uid() {
        let workload = ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "llm".to_owned(),
        };
        let template = json!({"spec": {"containers": [{"name": "asya-sidecar"}]}});
        let addition = Addition {
            namespace: "shop",
            actor: "embedder",
            template: template.as_object().unwrap(),
        };
        let added = addition.intent(&workload, "u-1");
        assert_eq!(
            added,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {
                    "name": "llm", "uid": "u-1",
                    "labels": {"asya.sh/bound-to": "embedder"},
                    "annotations": {"asya.sh/managed-by": "shop/embedder"}},
                "spec": {"template": {"spec": {"containers": [{"name": "asya-sidecar"}]}}},
            })
        );
        assert_eq!(
            empty(&workload, "u-1"),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm", "uid": "u-1"}})
        );
    }
}
