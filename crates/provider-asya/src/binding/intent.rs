//! What is applied to a workload: the marks of the actor on the workload itself, and the
//! template in its pod template.
//!
//! An apply to an object that is not there would make it, so every intent has the uid of
//! the workload that was seen: where that is gone, or is another one of the same name,
//! the API server refuses and makes nothing.
//! Source: Kubernetes, `apiserver/pkg/endpoints/handlers/patch.go`.

use actor::binding::ObjectReference;
use actor::labels::{BOUND_TO, MANAGED_BY};
use serde_json::{Map, Value, json};

/// What is added to workloads on behalf of one actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addition<'a> {
    /// Namespace of actor and workload.
    pub namespace: &'a str,
    /// The actor.
    pub actor: &'a str,
    /// What its pods get.
    pub template: &'a Map<String, Value>,
}

impl Addition<'_> {
    /// The intent that adds it to a workload with this uid.
    pub fn to(&self, workload: &ObjectReference, uid: &str) -> Value {
        let mut intent = nothing(workload, uid);
        intent["metadata"]["labels"] = json!({BOUND_TO: self.actor});
        intent["metadata"]["annotations"] =
            json!({MANAGED_BY: managed_by(self.namespace, self.actor)});
        intent["spec"] = json!({"template": self.template});
        intent
    }
}

/// The intent with nothing in it: it takes away what its field manager has added, and
/// nothing else.
pub fn nothing(workload: &ObjectReference, uid: &str) -> Value {
    json!({
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "metadata": {"name": workload.name, "uid": uid},
    })
}

/// The merge patch that removes the marks and leaves the rest: what was added is the
/// workload owner's from then on. It restarts nothing.
pub fn without_marks(uid: &str) -> Value {
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
    fn an_intent_names_one_object_and_owns_nothing_of_it() {
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
        let added = addition.to(&workload, "u-1");
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
            nothing(&workload, "u-1"),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm", "uid": "u-1"}})
        );
    }
}
