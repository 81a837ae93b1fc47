//! The statuses that a real kubelet, scheduler or container runtime causes.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Story;
use crate::cluster::process::Processes;

const STATUSES: &str = include_str!("statuses.yaml");

/// Namespace of the actors.
const NAMESPACE: &str = "statuses";

/// One status, and what causes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    reason: String,
    name: String,
    /// Fields that differ from those of an actor that runs.
    spec: Value,
    status: String,
    /// Part of the message of the condition `ActorReady`.
    #[serde(default)]
    message: String,
}

/// Every status of the table; all actors start at the same time.
pub(super) fn play(story: &Story<'_>, processes: &mut Processes<'_>) -> Result<()> {
    story.create_namespace(NAMESPACE, &json!({}))?;
    let cases = cases()?;
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "code", "namespace": NAMESPACE},
        "data": {"handlers.py": "def handle(payload):\n    return payload\n\n\n\
            def __getattr__(name):\n    return bytearray(2**28)\n"}})];
    objects.extend(cases.iter().map(Case::actor));
    story.apply(&objects)?;
    for case in &cases {
        story
            .wait_for_status(NAMESPACE, &case.name, &case.status, &case.message)
            .with_context(|| case.reason.clone())?;
        processes.print(&format!("{}: {}", case.reason, case.status))?;
    }
    story.delete_namespace(NAMESPACE)
}

fn cases() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for document in actor::yaml::documents(STATUSES)? {
        let some: Vec<Case> = serde_json::from_value(document)?;
        cases.extend(some);
    }
    Ok(cases)
}

impl Case {
    /// The actor: one that runs, with the fields of the case.
    fn actor(&self) -> Value {
        let mut spec = json!({
            "image": "python:3-slim", "handler": "handlers.handle",
            "env": [{"name": "PYTHONPATH", "value": "/code"}],
            "volumes": [{"name": "code", "configMap": {"name": "code"}}],
            "volumeMounts": [{"name": "code", "mountPath": "/code"}],
            "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
            "scaling": {"minReplicaCount": 1, "maxReplicaCount": 1},
        });
        if let (Some(spec), Some(differences)) = (spec.as_object_mut(), self.spec.as_object()) {
            spec.extend(differences.clone());
        }
        json!({
            "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
            "metadata": {"name": self.name, "namespace": NAMESPACE}, "spec": spec})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_changes_only_the_fields_that_it_names() {
        let cases = cases().unwrap();
        let of = |name: &str| {
            let case = cases.iter().find(|case| case.name == name);
            case.unwrap().actor()["spec"].clone()
        };
        let (running, no_image) = (of("running"), of("no-image"));
        assert_ne!(running["image"], no_image["image"]);
        assert_eq!(running["handler"], no_image["handler"]);
    }
}
