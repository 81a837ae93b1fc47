//! The controllers of WorkloadBinding and ActorHealth in the test's own process, with the
//! rights that `install/` grants and no more, and workloads of other people.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actor::managed::{READY, SYNCED};
use futures::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Resource};
use provider_asya::cluster::{self, ApiTimeouts};
use provider_asya::conditions;
use provider_asya::controller::{Context, binding, health};
use provider_asya::kinds::WorkloadBinding;
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Shared;
use super::cluster::Cluster;

/// The provider's user, as `install/` names it.
const PROVIDER: &str = "system:serviceaccount:crossplane-system:provider-asya";
/// The field manager of the owners of workloads.
pub const OWNER: &str = "owner";

/// Waits short enough for a test.
pub fn timings() -> Timings {
    let milliseconds = Duration::from_millis;
    Timings {
        poll: milliseconds(1000),
        shortest_poll: milliseconds(100),
        first_backoff: milliseconds(50),
        longest_backoff: milliseconds(500),
        target_poll_interval: milliseconds(300),
        rollout_poll_interval: milliseconds(300),
        conflict_backoff: milliseconds(50),
        garbage_collect_interval: milliseconds(500),
        cache_sync_retry: milliseconds(100),
        missing_kind_retry: milliseconds(300),
        ..Timings::default()
    }
}

/// Bindings with the usual waits.
pub static BINDINGS: Shared<BindingFixture> = Shared::new("WorkloadBinding objects", || {
    Box::pin(BindingFixture::start_granted(timings()))
});

/// An API server, and the provider that may run on it.
pub struct BindingFixture {
    /// With every right.
    pub client: Client,
    timings: Timings,
    provider: Option<JoinHandle<()>>,
    /// Metrics of the provider that was started last.
    pub metrics: Arc<Metrics>,
    /// Cluster of the fixture.
    pub cluster: Cluster,
}

impl Drop for BindingFixture {
    fn drop(&mut self) {
        self.stop();
    }
}

impl BindingFixture {
    /// Starts the API server; the provider may observe, and may not bind.
    pub async fn start(timings: Timings) -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        let fixture = Self {
            client: cluster.client().await,
            timings,
            provider: None,
            metrics: Arc::new(Metrics::new()),
            cluster,
        };
        fixture.make_namespace("crossplane-system").await;
        for file in ["rbac.yaml", "rbac-without-manager.yaml"] {
            fixture.grant(file).await;
        }
        fixture
    }

    /// Starts the API server and a provider with all rights that `install/` grants.
    pub async fn start_granted(timings: Timings) -> Self {
        let mut fixture = Self::start(timings).await;
        fixture.grant("rbac-binding.yaml").await;
        fixture.provide().await;
        fixture
    }

    /// Grants the provider the rights in a file of `install/`.
    pub async fn grant(&self, file: &str) {
        let path = test_cluster::components::repository()
            .join("install/provider-asya")
            .join(file);
        let text = std::fs::read_to_string(path).expect("a file of install/");
        for object in actor::yaml::documents(&text).expect("YAML") {
            let applied = test_cluster::objects::apply(&self.client, &object).await;
            applied.unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    }

    /// Lets the provider work, as itself.
    pub async fn provide(&mut self) {
        let config = Kubeconfig::read_from(self.cluster.kubeconfig()).expect("a kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options);
        let mut config = config.await.expect("a usable kubeconfig");
        config.auth_info.impersonate = Some(PROVIDER.to_owned());
        let metrics = Arc::new(Metrics::new());
        let client = cluster::connect(config, ApiTimeouts::default(), metrics.clone());
        let client = client.expect("a client");
        let (own, timings) = ("crossplane-system", self.timings.clone());
        let context = Arc::new(Context::new(client, own, timings, metrics.clone()));
        self.metrics = metrics;
        let never = || futures::future::pending::<()>().shared();
        let (_store, binding) = binding::run(context.clone(), 8, never());
        let watching = health::run(context, 8, never());
        self.provider = Some(tokio::spawn(async move {
            tokio::join!(binding, watching);
        }));
    }

    /// Ends the provider, as a crash does.
    pub fn stop(&mut self) {
        if let Some(provider) = self.provider.take() {
            provider.abort();
        }
    }

    /// Makes a namespace.
    pub async fn make_namespace(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = json!({"metadata": {"name": name}});
        let namespace = serde_json::from_value(namespace).expect("a namespace");
        let made = namespaces.create(&PostParams::default(), &namespace).await;
        made.expect("the API server takes a namespace");
    }

    /// A namespace of its own, with everything in it.
    pub async fn site(&self, name: &str) -> Site {
        self.make_namespace(name).await;
        Site {
            client: self.client.clone(),
            namespace: name.to_owned(),
        }
    }
}

/// A namespace.
#[derive(Clone)]
pub struct Site {
    pub client: Client,
    pub namespace: String,
}

impl Site {
    /// The objects of the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Makes a workload as its owner does.
    pub async fn make(&self, kind: &str, name: &str) -> Value {
        self.make_with(kind, name, &json!([{"name": "llm", "image": "llm:1"}]))
            .await
    }

    /// Makes a workload with these containers as its owner does.
    pub async fn make_with(&self, kind: &str, name: &str, containers: &Value) -> Value {
        let object = workload(kind, name, containers);
        let parameters = PostParams {
            field_manager: Some(OWNER.to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(object).expect("a workload");
        let made = self.workloads(kind).create(&parameters, &object).await;
        json!(made.unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// The workloads of a kind.
    pub fn workloads(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// A workload as it is.
    pub async fn get(&self, kind: &str, name: &str) -> Value {
        let found = self.workloads(kind).get(name).await;
        json!(found.unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// Merges `patch` into an object as its owner.
    pub async fn change<K>(&self, name: &str, patch: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let parameters = PatchParams {
            field_manager: Some(OWNER.to_owned()),
            ..PatchParams::default()
        };
        let changed = self
            .api::<K>()
            .patch(name, &parameters, &Patch::Merge(patch))
            .await;
        changed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Asks for the deletion of an object.
    pub async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let deleted = self.api::<K>().delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Waits until an object is deleted.
    pub async fn until_deleted<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        super::until(&format!("{name} is deleted"), || async {
            let found = self.api::<K>().get_opt(name).await;
            found
                .expect("the API server answers")
                .is_none()
                .then_some(())
        })
        .await;
    }

    /// Binds an actor to a workload.
    pub async fn bind(&self, actor: &str, kind: &str, name: &str, template: Option<Value>) {
        let mut target = json!({"actor": actor, "strategy": "Adapter",
            "targetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name}});
        if let Some(template) = template {
            target["strategy"] = json!("Inject");
            target["template"] = template;
        }
        self.make_binding(actor, target).await;
    }

    /// Makes a WorkloadBinding.
    pub async fn make_binding(&self, name: &str, for_provider: Value) {
        let binding = json!({"apiVersion": "provider.asya.sh/v1alpha1", "kind": "WorkloadBinding",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": {"forProvider": for_provider}});
        let made = test_cluster::objects::apply(&self.client, &binding).await;
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Waits until a WorkloadBinding is as `is_so` wants it; prints what it was instead.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&WorkloadBinding) -> bool,
    ) -> WorkloadBinding {
        let last = Mutex::new(String::new());
        super::until(&format!("{name} {what}"), || async {
            let found = self.api::<WorkloadBinding>().get(name).await;
            let found = found.expect("the binding is there");
            let now = json!(found.status).to_string();
            let mut last = last.lock().expect("nobody panicked");
            if *last != now {
                println!("{}/{name}: {now}", self.namespace);
                *last = now;
            }
            is_so(&found).then_some(found)
        })
        .await
    }

    /// Waits until a binding of this generation is done.
    pub async fn until_ready(&self, name: &str) -> WorkloadBinding {
        self.until(name, "is ready", |binding| {
            let conditions = &binding.status.conditions;
            let is_of_this = |type_| {
                conditions.iter().any(|condition| {
                    condition.type_ == type_
                        && condition.observed_generation == binding.metadata.generation
                })
            };
            [READY, SYNCED]
                .into_iter()
                .all(|type_| conditions::is_true(conditions, type_) && is_of_this(type_))
        })
        .await
    }

    /// Waits until `Ready` has this reason and a message with `text` in it.
    pub async fn until_condition(&self, name: &str, reason: &str, text: &str) -> WorkloadBinding {
        self.until(name, &format!("has {reason} {text:?}"), |binding| {
            has_condition(binding, READY, reason, text)
        })
        .await
    }

    /// The messages of warning events about an object.
    pub async fn warnings(&self, name: &str) -> Vec<String> {
        self.events(&format!("involvedObject.name={name},type=Warning"))
            .await
    }

    /// The messages of warning events about an object with this reason.
    pub async fn warnings_of(&self, name: &str, reason: &str) -> Vec<String> {
        let about = format!("involvedObject.name={name},type=Warning,reason={reason}");
        self.events(&about).await
    }

    async fn events(&self, about: &str) -> Vec<String> {
        let fields = ListParams::default().fields(about);
        let events = self.api::<Event>().list(&fields).await;
        let events = events.expect("events can be listed").items;
        events
            .into_iter()
            .filter_map(|event| event.message)
            .collect()
    }

    /// Waits until a reconciliation that begins after this has ended.
    pub async fn until_reconciled(&self, name: &str, token: &str) -> WorkloadBinding {
        let key = "crossplane.io/reconcile-requested-at";
        self.change::<WorkloadBinding>(name, json!({"metadata": {"annotations": {key: token}}}))
            .await;
        self.until(name, "is reconciled", |binding| {
            binding.status.last_handled_reconcile_at.as_deref() == Some(token)
        })
        .await
    }
}

/// Returns whether a condition has this reason and a message with `text` in it.
pub fn has_condition(binding: &WorkloadBinding, type_: &str, reason: &str, text: &str) -> bool {
    binding.status.conditions.iter().any(|condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        condition.type_ == type_ && condition.reason == reason && message.contains(text)
    })
}

/// A workload of another owner's.
pub fn workload(kind: &str, name: &str, containers: &Value) -> Value {
    let labels = json!({"app": name});
    let pod = json!({"containers": containers,
        "volumes": [{"name": "models", "emptyDir": {}}]});
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": name, "labels": labels, "annotations": {"team": "models"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod}}});
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = json!(name);
    }
    object
}

/// Additions of a rendered actor to pods.
pub fn template(actor: &str, image: &str) -> Value {
    let mounts = json!([{"name": "socket-dir", "mountPath": "/var/run/asya"}]);
    json!({
        "metadata": {"labels": {"asya.sh/actor": actor}},
        "spec": {
            "containers": [
                {"name": "asya-runtime", "image": image, "volumeMounts": mounts,
                    "env": [{"name": "ASYA_TARGET_URL", "value": "http://localhost:8000"},
                        {"name": "ASYA_TARGET_TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}],
                    "resources": {"requests": {"cpu": "0.5", "memory": "64Mi"}}},
                {"name": "asya-sidecar", "image": "sidecar:1", "volumeMounts": mounts,
                    "args": ["--verbose"], "env": [{"name": "ASYA_ACTOR_NAME", "value": actor}]}],
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [{"name": "socket-dir", "emptyDir": {}}]}})
}

/// Names of the containers of a workload.
pub fn containers(workload: &Value) -> Vec<&str> {
    let containers = workload["spec"]["template"]["spec"]["containers"].as_array();
    let names = containers.into_iter().flatten();
    names
        .filter_map(|container| container["name"].as_str())
        .collect()
}

/// A workload without what every write changes.
pub fn settled(mut workload: Value) -> Value {
    workload["status"].take();
    let metadata = workload["metadata"].as_object_mut().expect("metadata");
    for key in ["managedFields", "resourceVersion", "generation"] {
        metadata.remove(key);
    }
    workload
}

/// The uid of an object.
pub fn uid(object: &Value) -> Option<&str> {
    object["metadata"]["uid"].as_str()
}

/// The generation of an object.
pub fn generation(object: &Value) -> Option<i64> {
    object["metadata"]["generation"].as_i64()
}
