//! The provider's controllers in the test's own process, and objects for them on a real API server.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Resource};
use provider_asya::controller::{Context, config, health, queue};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::api_faults::ApiFaults;
use super::cluster::Cluster;

/// The provider's own namespace, which holds the Secrets of cluster-wide configs.
pub const PROVIDER_NAMESPACE: &str = "crossplane-system";

/// The Secret that every ProviderConfig of a test names.
pub const LOGIN: &str = "login";

/// Waits short enough for a test. The limits of calls stay as they are.
pub fn timings() -> Timings {
    let milliseconds = Duration::from_millis;
    Timings {
        poll: milliseconds(500),
        shortest_poll: milliseconds(100),
        first_backoff: milliseconds(100),
        longest_backoff: milliseconds(500),
        creation_grace: milliseconds(300),
        resync_interval: milliseconds(500),
        settling: milliseconds(500),
        empty_for: milliseconds(1000),
        ..Timings::default()
    }
}

/// An API server with the provider's kinds, and the provider running on it until this value is dropped.
pub struct ProviderFixture {
    /// With every right.
    pub client: Client,
    /// The provider's metrics.
    pub metrics: Arc<Metrics>,
    /// The API server.
    pub cluster: Cluster,
    /// Faults of the provider's connection to it.
    pub api_faults: ApiFaults,
    controllers: JoinHandle<()>,
}

impl ProviderFixture {
    /// Starts all of it.
    pub async fn start(timings: Timings) -> Self {
        Self::start_as(timings, false).await
    }

    /// Starts all of it, with the controller that watches pods.
    pub async fn start_with_health(timings: Timings) -> Self {
        Self::start_as(timings, true).await
    }

    async fn start_as(timings: Timings, watches_pods: bool) -> Self {
        let cluster = Cluster::start().await;
        cluster.install_kinds().await;
        let client = cluster.client().await;
        let metrics = Arc::new(Metrics::new());
        let api_faults = ApiFaults::default();
        let of_provider = client_behind(&api_faults, &cluster).await;
        let own_metrics = metrics.clone();
        let controllers = tokio::spawn(async move {
            if watches_pods {
                Box::pin(control_with_health(of_provider, timings, own_metrics)).await;
            } else {
                control(of_provider, timings, own_metrics).await;
            }
        });
        Self {
            client,
            metrics,
            cluster,
            api_faults,
            controllers,
        }
    }

    /// Makes a namespace with the Secret [`LOGIN`].
    pub async fn make_namespace(&self, name: &str) {
        make_namespace(&self.client, name).await;
    }

    /// The Queues of a namespace.
    pub fn queues(&self, namespace: &str) -> Queues {
        Queues(self.namespaced(namespace))
    }

    /// The objects of a namespace.
    pub fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// The messages of warning events about an object, oldest first.
    pub async fn warnings(&self, namespace: &str, name: &str) -> Vec<String> {
        let events: Api<Event> = self.namespaced(namespace);
        let about = format!("involvedObject.name={name},type=Warning");
        let listed = events.list(&ListParams::default().fields(&about)).await;
        let mut events = listed.expect("events can be listed").items;
        events.sort_by_key(|event| event.first_timestamp.as_ref().map(|time| time.0));
        events
            .into_iter()
            .filter_map(|event| event.message)
            .collect()
    }
}

impl Drop for ProviderFixture {
    fn drop(&mut self) {
        self.controllers.abort();
    }
}

/// A client with every right, whose requests meet the faults.
async fn client_behind(faults: &ApiFaults, cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let builder = ClientBuilder::try_from(config.expect("a usable kubeconfig"));
    builder.expect("a client").with_layer(faults).build()
}

/// The controllers of Queues and configs.
pub async fn control(client: Client, timings: Timings, metrics: Arc<Metrics>) {
    let context = Context::new(client, PROVIDER_NAMESPACE, timings, metrics);
    control_in(Arc::new(context)).await;
}

async fn control_with_health(client: Client, timings: Timings, metrics: Arc<Metrics>) {
    let context = Arc::new(Context::new(client, PROVIDER_NAMESPACE, timings, metrics));
    let never = futures::future::pending::<()>().shared();
    tokio::join!(control_in(context.clone()), health::run(context, 4, never));
}

async fn control_in(context: Arc<Context>) {
    let never = || futures::future::pending::<()>();
    let (_store, queues) = queue::run(context.clone(), 16, never());
    tokio::join!(
        queues,
        config::run::<ProviderConfig>(context.clone(), never()),
        config::run::<ClusterProviderConfig>(context, never()),
    );
}

/// Makes a namespace, and in it the Secret [`LOGIN`] with the credentials of every server of the rig.
pub async fn make_namespace(client: &Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    apply(&namespaces, json!({"metadata": {"name": name}})).await;
    make_login(client, name).await;
}

/// Makes the Secret [`LOGIN`] in a namespace.
pub async fn make_login(client: &Client, namespace: &str) {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let data = json!({"user": "guest", "password": "guest",
        "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"});
    let login = json!({"metadata": {"name": LOGIN}, "stringData": data});
    apply(&secrets, login).await;
}

/// `spec.rabbitmq` of a config; the Secret is in `namespace`, if it must be given.
pub fn rabbitmq_connection(endpoint: &str, namespace: Option<&str>) -> Value {
    let key = |key: &str| {
        let mut reference = json!({"name": LOGIN, "key": key});
        if let Some(namespace) = namespace {
            reference["namespace"] = json!(namespace);
        }
        reference
    };
    json!({"endpoint": endpoint, "credentials": {
        "usernameSecretRef": key("user"), "passwordSecretRef": key("password")}})
}

/// `spec.sqs` of a config; the Secret is in `namespace`, if it must be given.
pub fn sqs_connection(endpoint: &str, namespace: Option<&str>) -> Value {
    let mut reference = json!({"name": LOGIN});
    if let Some(namespace) = namespace {
        reference["namespace"] = json!(namespace);
    }
    json!({"endpoint": endpoint, "credentials": {"source": "Secret", "secretRef": reference}})
}

/// Applies an object, whose kind is that of the API.
pub async fn apply<K>(api: &Api<K>, mut object: Value)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    object["apiVersion"] = json!(K::api_version(&()));
    object["kind"] = json!(K::kind(&()));
    let name = object["metadata"]["name"].as_str().expect("a name");
    let manager = PatchParams::apply("tests");
    api.patch(name, &manager, &Patch::Apply(&object))
        .await
        .unwrap_or_else(|error| panic!("{} {name}: {error}", K::kind(&())));
}

/// The Queues of one namespace.
#[derive(Clone)]
pub struct Queues(pub Api<Queue>);

impl Queues {
    /// Makes an object for a classic queue of this name, by the config `broker`.
    pub async fn make_classic(&self, name: &str, exchange: &str, queue: &str) {
        let dead_letter = json!({"enabled": false, "maxReceiveCount": 20});
        let object = json!({
            "metadata": {"name": name, "annotations": {"crossplane.io/external-name": queue}},
            "spec": {
                "forProvider": {"rabbitmq": {"host": "rabbitmq", "exchange": exchange,
                    "routingKeys": [queue], "deadLetter": dead_letter, "queueType": "classic"}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "broker"},
            },
        });
        apply(&self.0, object).await;
    }

    /// Merges `patch` into an object.
    pub async fn change(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let answer = self.0.patch(name, &PatchParams::default(), &patch).await;
        answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Asks for the deletion of an object.
    pub async fn delete(&self, name: &str) {
        let answer = self.0.delete(name, &DeleteParams::default()).await;
        answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Waits until an object fulfils `is_so`.
    pub async fn until(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&Queue) -> bool + Copy,
    ) -> Queue {
        super::until(&format!("{name} {what}"), || async move {
            let queue = self.0.get_opt(name).await.expect("the API server answers");
            queue.filter(is_so)
        })
        .await
    }

    /// Waits until a condition has this status and a reason or message with `text` in it.
    pub async fn until_condition(
        &self,
        name: &str,
        type_: &str,
        status: &str,
        text: &str,
    ) -> Queue {
        let what = format!("has {type_}={status} {text:?}");
        self.until(name, &what, |queue| {
            queue.status.conditions.iter().any(|condition| {
                let message = condition.message.as_deref().unwrap_or_default();
                condition.type_ == type_
                    && condition.status == status
                    && (condition.reason.contains(text) || message.contains(text))
            })
        })
        .await
    }

    /// Waits until an object is synced and ready.
    pub async fn until_ready(&self, name: &str) -> Queue {
        self.until(name, "is ready", |queue| {
            use actor::managed::{READY, SYNCED};
            let is_true =
                |type_| provider_asya::conditions::is_true(&queue.status.conditions, type_);
            is_true(SYNCED) && is_true(READY)
        })
        .await
    }

    /// Waits until the object does not exist.
    pub async fn until_deleted(&self, name: &str) {
        super::until(&format!("{name} is deleted"), || async {
            let queue = self.0.get_opt(name).await.expect("the API server answers");
            queue.is_none().then_some(())
        })
        .await;
    }

    /// Requests a reconciliation of an object and waits until one that began after that has ended.
    pub async fn until_reconciled(&self, name: &str, token: &str) -> Queue {
        let annotations = json!({"crossplane.io/reconcile-requested-at": token});
        self.change(name, json!({"metadata": {"annotations": annotations}}))
            .await;
        self.until(name, "is reconciled on request", |queue| {
            queue.status.last_handled_reconcile_at.as_deref() == Some(token)
        })
        .await
    }
}
