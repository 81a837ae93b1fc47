//! A stand-in for the kubelets.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use real::objects;
use serde_json::{Value, json};
use tests::examples::documents;
use tests::program::repository;
use tokio::task::JoinHandle;

/// Says of every new pod of namespace `default` that it runs, until this value goes.
pub(crate) struct Kubelet {
    pods: Api<DynamicObject>,
    words: Value,
    task: JoinHandle<()>,
}

impl Kubelet {
    /// Starts it.
    pub(crate) async fn start(client: &Client) -> Self {
        let any = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
        let (pods, _) = objects::api_of(client, &any).await;
        let words = documents(&repository().join("tests/story/pods.yaml")).remove(0);
        let (seen, running) = (pods.clone(), words["running"].clone());
        let task = tokio::spawn(async move {
            loop {
                tell_of_new_pods(&seen, &running).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        Self { pods, words, task }
    }

    /// Says something else of every pod of an actor: a status of `tests/story/pods.yaml`.
    pub(crate) async fn say(&self, actor: &str, what: &str) {
        let of_actor = ListParams::default().labels(&format!("asya.sh/actor={actor}"));
        let pods = self.pods.list(&of_actor).await.expect("a list").items;
        assert!(!pods.is_empty(), "{actor} has pods");
        for pod in pods {
            let name = pod.metadata.name.unwrap_or_default();
            let said = write_status(&self.pods, &name, &self.words[what]).await;
            said.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// How many pods an actor has.
    pub(crate) async fn count(&self, actor: &str) -> usize {
        let of_actor = ListParams::default().labels(&format!("asya.sh/actor={actor}"));
        self.pods.list(&of_actor).await.expect("a list").items.len()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tell_of_new_pods(pods: &Api<DynamicObject>, running: &Value) {
    // A pod may go while it is told of, and the API server while the test ends.
    let Ok(list) = pods.list(&ListParams::default()).await else {
        return;
    };
    for pod in list {
        if pod.data["status"]["phase"] == "Pending" {
            let name = pod.metadata.name.unwrap_or_default();
            drop(write_status(pods, &name, running).await);
        }
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
