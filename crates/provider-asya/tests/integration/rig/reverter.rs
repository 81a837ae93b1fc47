//! Controllers of other people's, as small as they can be, that treat a Deployment as the
//! real ones do.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::binding_fixture::{OWNER, Site, workload};

/// Actions of a controller at each reconcile, which follows each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// It writes its whole pod template where the live one differs, as KServe does.
    Reverts,
    /// It writes its whole object where the live one differs, labels and all.
    Replaces,
    /// It writes its own labels, and nothing else.
    Unlabels,
    /// It writes its own init containers and volumes, and leaves the containers alone, as
    /// KAITO does.
    RewritesVolumes,
    /// It compares with what it wrote last, finds that nothing of its own has changed, and
    /// writes nothing, as Seldon and the vLLM operator do.
    NeverTouches,
}

/// A controller of one Deployment, which runs until this value is dropped.
pub struct Reverter {
    writes: Arc<AtomicU32>,
    refusals: Arc<AtomicU32>,
    controller: JoinHandle<()>,
}

impl Drop for Reverter {
    fn drop(&mut self) {
        self.controller.abort();
    }
}

impl Reverter {
    /// Starts it.
    pub fn start(site: &Site, name: &str, habit: Habit) -> Self {
        let (writes, refusals) = (Arc::default(), Arc::default());
        let counts = (Arc::clone(&writes), Arc::clone(&refusals));
        let (api, name) = (site.api::<Deployment>(), name.to_owned());
        let controller = tokio::spawn(async move {
            let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let mut changes = pin!(
                watcher(api.clone(), only)
                    .default_backoff()
                    .applied_objects()
            );
            while let Some(change) = changes.next().await {
                if change.is_ok() {
                    reconcile(&api, &name, habit, &counts).await;
                }
            }
        });
        Self {
            writes,
            refusals,
            controller,
        }
    }

    /// Returns the number of its writes.
    pub fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Returns the number of its writes that the API server has refused.
    pub fn refusals(&self) -> u32 {
        self.refusals.load(Ordering::Relaxed)
    }
}

async fn reconcile(
    api: &Api<Deployment>,
    name: &str,
    habit: Habit,
    (writes, refusals): &(Arc<AtomicU32>, Arc<AtomicU32>),
) {
    let Ok(Some(live)) = api.get_opt(name).await else {
        return;
    };
    let live = json!(live);
    let Some(wanted) = wanted(&live, name, habit) else {
        return;
    };
    let wanted: Deployment = serde_json::from_value(wanted).expect("a Deployment");
    let parameters = PostParams {
        field_manager: Some(OWNER.to_owned()),
        ..PostParams::default()
    };
    match api.replace(name, &parameters, &wanted).await {
        Ok(_) => writes.fetch_add(1, Ordering::Relaxed),
        // It was changed meanwhile: that triggers another reconciliation.
        Err(kube::Error::Api(status)) if status.is_conflict() => 0,
        Err(_) => refusals.fetch_add(1, Ordering::Relaxed),
    };
}

/// Change that it writes; none if nothing needs a change.
fn wanted(live: &Value, name: &str, habit: Habit) -> Option<Value> {
    let own = workload(
        "Deployment",
        name,
        &json!([{"name": "llm", "image": "llm:1"}]),
    );
    let mut wanted = live.clone();
    let names = |object: &Value, list: &str| -> Vec<String> {
        let items = object["spec"]["template"]["spec"][list].as_array();
        let items = items.into_iter().flatten();
        items.map(|item| item["name"].to_string()).collect()
    };
    let differs = |list| names(live, list) != names(&own, list);
    match habit {
        Habit::Reverts if differs("containers") || differs("volumes") => {
            wanted["spec"]["template"] = own["spec"]["template"].clone();
        }
        Habit::Replaces if live["metadata"]["labels"] != own["metadata"]["labels"] => {
            let version = live["metadata"]["resourceVersion"].clone();
            wanted = own;
            wanted["metadata"]["resourceVersion"] = version;
        }
        Habit::Unlabels if live["metadata"]["labels"] != own["metadata"]["labels"] => {
            wanted["metadata"]["labels"] = own["metadata"]["labels"].clone();
        }
        Habit::RewritesVolumes if differs("volumes") || differs("initContainers") => {
            let pod = &mut wanted["spec"]["template"]["spec"];
            pod["volumes"] = own["spec"]["template"]["spec"]["volumes"].clone();
            pod["initContainers"] = json!([]);
        }
        _ => return None,
    }
    Some(wanted)
}
