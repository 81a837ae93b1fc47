//! Statuses of pods that are not ready.

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use test_cluster::objects;
use tests::examples::documents;
use tests::program::repository;

/// Writes statuses of pods in place of the node, which by itself reports every pod once as running.
pub(crate) struct Kubelet {
    pods: Api<DynamicObject>,
    statuses: Value,
}

impl Kubelet {
    /// For the pods of namespace `default`.
    pub(crate) async fn of(client: &Client) -> Self {
        let any = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        let (pods, _) = objects::api_of(client, &any).await;
        let statuses = documents(&repository().join("tests/story/pods.yaml")).remove(0);
        Self { pods, statuses }
    }

    /// Says something else of every pod of an actor: a status of `tests/story/pods.yaml`.
    pub(crate) async fn report(&self, actor: &str, what: &str) {
        let of_actor = ListParams::default().labels(&format!("asya.sh/actor={actor}"));
        let pods = self.pods.list(&of_actor).await.expect("a list").items;
        assert!(!pods.is_empty(), "{actor} has pods");
        for pod in pods {
            let name = pod.metadata.name.unwrap_or_default();
            let written = write_status(&self.pods, &name, &self.statuses[what]).await;
            written.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// Returns the number of an actor's pods.
    pub(crate) async fn count(&self, actor: &str) -> usize {
        let of_actor = ListParams::default().labels(&format!("asya.sh/actor={actor}"));
        self.pods.list(&of_actor).await.expect("a list").items.len()
    }
}

async fn write_status(
    pods: &Api<DynamicObject>,
    name: &str,
    status: &Value,
) -> kube::Result<DynamicObject> {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
    }
    let body = Patch::Merge(json!({ "status": status }));
    pods.patch_status(name, &PatchParams::default(), &body)
        .await
}
