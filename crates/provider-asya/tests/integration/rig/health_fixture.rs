//! The controller of ActorHealth objects in the test's own process, and the objects that it observes.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actor::health::{AtProvider, HealthTimeouts};
use futures::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use provider_asya::controller::{Context, health};
use provider_asya::kinds::ActorHealth;
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::cluster::Cluster;

/// The namespace of everything that is made.
pub const NAMESPACE: &str = "shop";
/// Shortest time between two writes; long enough for a test to observe it.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// An API server with the controller running on it until this value is dropped.
pub struct HealthFixture {
    /// With every right.
    pub client: Client,
    metrics: Arc<Metrics>,
    controller: JoinHandle<()>,
    _cluster: Cluster,
}

impl Drop for HealthFixture {
    fn drop(&mut self) {
        self.controller.abort();
    }
}

impl HealthFixture {
    /// Starts all of it.
    pub async fn start() -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        let client = cluster.client().await;
        let metrics = Arc::new(Metrics::new());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}));
        let namespace = namespace.expect("a namespace");
        let made = namespaces.create(&PostParams::default(), &namespace).await;
        made.expect("the API server takes a namespace");
        Self {
            controller: start_controller(client.clone(), metrics.clone()),
            client,
            metrics,
            _cluster: cluster,
        }
    }

    /// The objects of the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Makes an object, whose kind is that of the API.
    pub async fn make<K>(&self, name: &str, labels: &Value, mut object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let metadata = object["metadata"].as_object().cloned().unwrap_or_default();
        object["metadata"] = json!(metadata);
        object["metadata"]["name"] = json!(name);
        object["metadata"]["labels"] = labels.clone();
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        let manager = PatchParams::apply("tests");
        let patch = Patch::Apply(object);
        // A namespace that is new has no ServiceAccount yet, and takes no pods.
        super::until(&format!("{name} is made"), || async {
            match self.api::<K>().patch(name, &manager, &patch).await {
                Err(kube::Error::Api(status)) if status.is_forbidden() => None,
                made => Some(made.unwrap_or_else(|error| panic!("{name}: {error}"))),
            }
        })
        .await
    }

    /// Merges `patch` into an object.
    pub async fn change<K>(&self, name: &str, patch: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let patch = Patch::Merge(patch);
        let changed = self
            .api::<K>()
            .patch(name, &PatchParams::default(), &patch)
            .await;
        changed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Deletes an object at once.
    pub async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let now = DeleteParams::default().grace_period(0);
        let deleted = self.api::<K>().delete(name, &now).await;
        deleted.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// An ActorHealth as it is rendered.
    pub async fn make_health(&self, actor: &str, kind: &str, workload: &str) {
        let spec = json!({"spec": {"forProvider": {"actor": actor,
            "workload": {"kind": kind, "name": workload}, "podSelector": {"asya.sh/actor": actor}}}});
        self.make::<ActorHealth>(actor, &json!({"asya.sh/actor": actor}), spec)
            .await;
    }

    /// A Deployment as it is rendered.
    pub async fn make_deployment(&self, actor: &str, replicas: u32) {
        let labels = json!({"app.kubernetes.io/name": actor, "asya.sh/actor": actor});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": containers()}});
        let spec = json!({"spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}});
        self.make::<Deployment>(actor, &labels, spec).await;
    }

    /// A `ReplicaSet` as the Deployment's controller makes it.
    pub async fn make_revision(&self, actor: &str, number: u32, hash: &str) {
        let owner = self
            .api::<Deployment>()
            .get(actor)
            .await
            .expect("the API server answers");
        let labels = json!({"asya.sh/actor": actor, "pod-template-hash": hash});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": containers()}});
        let object = json!({
            "metadata": {
                "annotations": {"deployment.kubernetes.io/revision": number.to_string()},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": actor,
                    "uid": owner.uid(), "controller": true}]},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}});
        self.make::<ReplicaSet>(&format!("{actor}-{hash}"), &labels, object)
            .await;
    }

    /// A pod as its workload makes it.
    pub async fn make_pod(&self, actor: &str, name: &str, hash: &str, volumes: Value) {
        let labels = json!({"asya.sh/actor": actor, "pod-template-hash": hash});
        let spec = json!({"spec": {"containers": containers(), "volumes": volumes,
            "automountServiceAccountToken": false}});
        self.make::<Pod>(name, &labels, spec).await;
    }

    /// Writes the whole status of a pod, as its kubelet does.
    pub async fn write_status(&self, pod: &str, status: Value) {
        let mut object = json!(
            self.api::<Pod>()
                .get(pod)
                .await
                .expect("the API server answers")
        );
        object["status"] = status;
        let object: Pod = serde_json::from_value(object).expect("the API server answers");
        let api = self.api::<Pod>();
        let written = api
            .replace_status(pod, &PostParams::default(), &object)
            .await;
        written.unwrap_or_else(|error| panic!("{pod}: {error}"));
    }

    /// Counts one more restart of the first container that a pod's status names.
    pub async fn restart(&self, pod: &str, restarts: i32) {
        let found = self
            .api::<Pod>()
            .get(pod)
            .await
            .expect("the API server answers");
        let mut status = json!(found.status);
        status["containerStatuses"][0]["restartCount"] = json!(restarts);
        self.write_status(pod, status).await;
    }

    /// An ActorHealth as it is.
    pub async fn get(&self, name: &str) -> ActorHealth {
        self.api::<ActorHealth>()
            .get(name)
            .await
            .expect("the API server answers")
    }

    /// Waits until an ActorHealth fulfils `is_so`; prints its status whenever it changes.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&ActorHealth) -> bool,
    ) -> ActorHealth {
        let last = Mutex::new(String::new());
        let what = format!("{name} {what}");
        super::until(&what, || async {
            let health = self.get(name).await;
            let now = json!(health.status).to_string();
            let mut last = last.lock().expect("the API server answers");
            if *last != now {
                println!("{name}: {now}");
                *last = now;
            }
            is_so(&health).then_some(health)
        })
        .await
    }

    /// Waits until the observed state fulfils `is_so`.
    pub async fn until_observed(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&AtProvider) -> bool,
    ) -> ActorHealth {
        self.until(name, what, |health| is_so(&health.status.at_provider))
            .await
    }

    /// Successful reconciliations so far.
    pub fn reconciliations(&self) -> u64 {
        let text = self.metrics.text();
        let line =
            "controller_runtime_reconcile_total{controller=\"actorhealth\",result=\"success\"} ";
        let mut lines = text.lines();
        let count = lines.find_map(|found| found.strip_prefix(line)?.parse().ok());
        count.unwrap_or_default()
    }
}

fn start_controller(client: Client, metrics: Arc<Metrics>) -> JoinHandle<()> {
    let timings = Timings {
        health_interval: INTERVAL,
        timeouts: HealthTimeouts {
            inspection: Duration::from_secs(1),
            mount: Duration::from_secs(3),
            settle: Duration::from_secs(3),
        },
        cache_sync_retry: Duration::from_millis(100),
        target_poll_interval: Duration::from_millis(300),
        missing_kind_retry: Duration::from_millis(300),
        ..Timings::default()
    };
    let context = Arc::new(Context::new(client, "crossplane-system", timings, metrics));
    let never = futures::future::pending::<()>().shared();
    tokio::spawn(health::run(context, 4, never))
}

/// The containers of every pod.
pub fn containers() -> Value {
    json!([{"name": "asya-runtime", "image": "my-org/echo:1"},
        {"name": "asya-sidecar", "image": "asya/sidecar:1"},
        {"name": "fluentbit", "image": "fluent/fluent-bit:3"}])
}

/// The status of a container, as its kubelet writes it.
pub fn state(container: &str, state: &Value, last_end: Option<Value>) -> Value {
    let last = last_end.map_or_else(|| json!({}), |end| json!({"terminated": end}));
    json!({"name": container, "image": "", "imageID": "", "ready": false, "restartCount": 3,
        "state": state, "lastState": last})
}

/// The status of a pod with such containers.
pub fn status(containers: &Value) -> Value {
    json!({"phase": "Pending", "containerStatuses": containers, "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "PodReadyToStartContainers", "status": "True"},
        {"type": "Ready", "status": "False"}]})
}

/// The status of a ready pod.
pub fn running() -> Value {
    let started = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let mut status = status(&json!([state("asya-runtime", &started, None)]));
    status["phase"] = json!("Running");
    status["conditions"][2]["status"] = json!("True");
    status
}

/// Returns whether a condition is True.
pub fn is_true(health: &ActorHealth, type_: &str) -> bool {
    provider_asya::conditions::is_true(&health.status.conditions, type_)
}

/// Returns whether a condition is False with a message that contains `text`.
pub fn is_false_with(health: &ActorHealth, type_: &str, text: &str) -> bool {
    health.status.conditions.iter().any(|condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        condition.type_ == type_ && condition.status == "False" && message.contains(text)
    })
}
