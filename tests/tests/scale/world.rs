//! All that the actors live on.

use futures::stream::{self, StreamExt as _};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::Crossplane;
use test_cluster::moto::Moto;
use test_cluster::objects;
use tests::stack::{Pipeline, Stack, api_version};
use tokio::task::JoinHandle;

use crate::{CORE, keda};

/// A variable of every actor, which its flavor gives.
pub(crate) const RELEASE: &str = "RELEASE";

/// The flavor that all actors name.
const FLAVOR: &str = "everyones";

/// Number of actors that are applied at the same time.
const AT_ONCE: usize = 8;

/// A cluster with everything, and a broker.
pub(crate) struct World {
    keda: JoinHandle<()>,
    // What needs the API server ends before it does.
    pub(crate) stack: Stack,
    _moto: Moto,
    /// Number of actors that the test creates.
    pub(crate) actors: usize,
}

impl World {
    /// Starts all of it, and applies what a platform team does.
    pub(crate) async fn start(pipeline: Pipeline, actors: usize) -> Self {
        let cluster = Cluster::start_with_a_node().await;
        cluster.install_kinds().await;
        cluster.install_keda().await;
        let core = Crossplane::start_with_flags(&cluster, &CORE);
        let (core, moto) = tokio::join!(core, Moto::start());
        let mut stack = Stack::start_with(cluster, core, pipeline).await;
        stack.start_provider();
        for object in platform(&moto.endpoint) {
            stack.apply(&object).await;
        }
        let scaled_objects = stack.api(actor::KEDA_API_VERSION, "ScaledObject").await;
        Self {
            keda: tokio::spawn(keda::speak(scaled_objects)),
            stack,
            _moto: moto,
            actors,
        }
    }

    /// Applies the flavor of all actors, with that release in it.
    pub(crate) async fn set_release(&self, release: u32) {
        let data = json!({
            "env": [{"name": RELEASE, "value": release.to_string()}, {"name": "LOG_FORMAT", "value": "json"}],
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
            "scaling": {"maxReplicaCount": 20},
        });
        self.stack.apply(&environment(FLAVOR, &data)).await;
    }

    /// Applies the actors.
    pub(crate) async fn apply_actors(&self) {
        let actors = self.actors().await;
        let applied = stream::iter(0..self.actors).for_each_concurrent(AT_ONCE, |number| {
            let name = format!("actor-{number}");
            // No `env` of its own, which would stand in place of its flavor's.
            let spec = json!({
                "image": "my-org/handlers:1", "handler": "handlers.handle", "flavors": [FLAVOR]});
            let (actors, actor) = (actors.clone(), self.stack.actor(&name, &spec));
            async move {
                let user = PatchParams::apply("user");
                let applied = actors.patch(&name, &user, &Patch::Apply(&actor)).await;
                applied.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        });
        applied.await;
    }

    /// The API for actors.
    pub(crate) async fn actors(&self) -> Api<DynamicObject> {
        let any = json!({"apiVersion": api_version(), "kind": actor::KIND, "metadata": {}});
        objects::api_of(&self.stack.client, &any).await.0
    }

    /// The API for Deployments, of which only actors have some.
    pub(crate) async fn deployments(&self) -> Api<DynamicObject> {
        self.stack.api("apps/v1", "Deployment").await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.keda.abort();
    }
}

/// The objects of a platform whose queues are at that URL.
fn platform(endpoint: &str) -> [Value; 4] {
    let keys = json!({"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"});
    let secret = |namespace: &str, name: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "stringData": keys,
            "metadata": {"name": name, "namespace": namespace}})
    };
    let namespace = test_cluster::crossplane::NAMESPACE;
    let login = json!({"namespace": namespace, "name": "login"});
    let config = json!({
        "apiVersion": actor::PROVIDER_API_VERSION, "kind": "ClusterProviderConfig", "metadata": {"name": "sqs"},
        "spec": {"sqs": {"endpoint": endpoint, "credentials": {"source": "Secret", "secretRef": login}}}});
    let settings = json!({
        "defaultTransport": "sqs",
        "transports": {"sqs": {"enabled": true, "type": "sqs", "config": {
            "region": "us-east-1", "endpoint": endpoint, "credentialsSecretRef": {"name": "sqs-secret"}}}},
    });
    [
        secret(namespace, "login"),
        secret("default", "sqs-secret"),
        config,
        environment("asya-platform", &settings),
    ]
}

fn environment(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": {"name": name}, "data": data})
}
