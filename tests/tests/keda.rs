//! Scaling by the real KEDA operator on a real broker, with the objects that the functions render.
//!
//! The operator is an optional component: without it these tests are skipped. No controller of workloads
//! runs here, so that the desired replicas are observed, and no pods.

use std::path::Path;
use std::time::Instant;

use actor::KEDA_API_VERSION;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject};
use serde_json::{Value, json};
use test_cluster::cluster::Cluster;
use test_cluster::keda::{self, Keda};
use test_cluster::rabbitmq::RabbitMq;
use test_cluster::shared::Shared;
use test_cluster::{objects, until};
use tests::examples::documents;
use tests::program::repository;

static FIXTURE: Shared<Fixture> =
    Shared::new("scaling by KEDA's operator", || Box::pin(Fixture::start()));

/// KEDA reads the broker by AMQP, and the user's name from the sidecar's environment.
#[test]
fn a_message_scales_an_actor_from_zero() {
    scaling(async |fixture| {
        let file = repository().join("examples/order-router/expected.yaml");
        let rendered = documents(&file);
        fixture.prepare("shop", "asya-order-router").await;
        for kind in ["Deployment", "TriggerAuthentication", "ScaledObject"] {
            fixture.apply_with_own_broker(only(&rendered, kind)).await;
        }
        let name = "order-router";
        fixture
            .until_replicas("shop", name, 0, "nothing is to be done")
            .await;
        fixture.publish("asya-order-router").await;
        fixture
            .until_replicas("shop", name, 1, "a message came")
            .await;
    });
}

/// KEDA reads the broker by its management API, and the user's name from a `ConfigMap`.
#[test]
fn a_bound_workload_at_zero_gets_its_replicas_back_when_it_is_released() {
    scaling(async |fixture| {
        let case = "a-bound-Deployment-is-scaled-and-gets-its-replicas-back";
        let cases = repository().join("crates/function-render-scaledobject/tests/cases");
        let rendered = desired(&cases.join(case).join("response.yaml"));
        fixture.prepare("prod", "asya-llama-async").await;
        fixture.apply(&foreign_deployment("vllm", 3)).await;
        for kind in ["ConfigMap", "TriggerAuthentication", "ScaledObject"] {
            fixture.apply_with_own_broker(only(&rendered, kind)).await;
        }
        fixture
            .until_replicas("prod", "vllm", 0, "nothing is to be done")
            .await;
        // Crossplane deletes them in any order. The ScaledObject last is the worst one.
        for kind in ["ConfigMap", "TriggerAuthentication", "ScaledObject"] {
            fixture.delete(only(&rendered, kind)).await;
        }
        fixture
            .until_replicas("prod", "vllm", 3, "nobody is bound to it")
            .await;
    });
}

/// Runs a test with the fixture, unless the operator was not built.
fn scaling(test: impl AsyncFnOnce(&Fixture)) {
    if !keda::is_skipped("scaling by KEDA's operator") {
        FIXTURE.run(test);
    }
}

/// A cluster with the operator running, and a broker.
struct Fixture {
    client: Client,
    _cluster: Cluster,
    keda: Keda,
    broker: RabbitMq,
}

impl Fixture {
    async fn start() -> Self {
        let start = async {
            let cluster = Cluster::start().await;
            cluster.install_keda().await;
            let keda = Keda::start(&cluster).await;
            (cluster, keda)
        };
        let ((cluster, keda), broker) = tokio::join!(start, RabbitMq::start());
        Self {
            client: cluster.client().await,
            _cluster: cluster,
            keda,
            broker,
        }
    }

    /// Makes a namespace with the broker's Secret, and a queue.
    async fn prepare(&self, namespace: &str, queue: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .await;
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "rabbitmq-secret", "namespace": namespace},
            "stringData": {"password": "guest"}}))
            .await;
        let path = format!("queues/%2F/{queue}");
        let durable = json!({"durable": true});
        let (status, _) = self.broker.ask("PUT", &path, Some(&durable)).await;
        assert_eq!(status, 201, "{queue}");
    }

    async fn publish(&self, queue: &str) {
        let message = json!({"properties": {"delivery_mode": 2}, "routing_key": queue,
            "payload": "{}", "payload_encoding": "string"});
        let path = "exchanges/%2F/amq.default/publish";
        let (_, answer) = self.broker.ask("POST", path, Some(&message)).await;
        assert_eq!(answer["routed"], true, "{queue}");
    }

    /// Applies a rendered object with nothing changed but its broker's address, the polling
    /// interval, and the owner, which is not on this cluster.
    async fn apply_with_own_broker(&self, object: &Value) {
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        metadata.remove("ownerReferences");
        if object["kind"] == "ScaledObject" {
            object["spec"]["pollingInterval"] = json!(1);
            let trigger = &mut object["spec"]["triggers"][0]["metadata"];
            let protocol = trigger["protocol"].as_str().expect("a protocol").to_owned();
            let port = match protocol.as_str() {
                "amqp" => self.broker.amqp,
                "http" => self.broker.management,
                other => panic!("the broker does not speak {other:?}"),
            };
            trigger["host"] = json!(format!("{protocol}://127.0.0.1:{port}/%2F"));
        }
        self.apply(&object).await;
    }

    async fn apply(&self, object: &Value) {
        let applied = objects::apply(&self.client, object).await;
        applied.unwrap_or_else(|error| panic!("{error}: {object:#}"));
    }

    /// Deletes an object, and waits until it is deleted.
    async fn delete(&self, object: &Value) {
        let (api, _) = objects::api_of(&self.client, object).await;
        let name = object["metadata"]["name"].as_str().expect("a name");
        let deleted = api.delete(name, &DeleteParams::default()).await;
        deleted.expect("it is deleted");
        until(&format!("{} {name} is deleted", object["kind"]), || async {
            let found = api.get_opt(name).await.expect("the API server answers");
            found.is_none().then_some(())
        })
        .await;
    }

    /// Waits until a Deployment has so many desired replicas, and prints how long that took.
    async fn until_replicas(&self, namespace: &str, name: &str, replicas: u64, since: &str) {
        let (deployments, _) = objects::api_of(&self.client, &deployment(namespace, name)).await;
        let start = Instant::now();
        let deadline = start + test_cluster::TIMEOUT;
        loop {
            let found = read(&deployments, name).await;
            if found["spec"]["replicas"] == replicas {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "{name} has not {replicas} replicas though {since}: {:#}\n{}",
                self.scaled_objects(namespace).await,
                self.keda.log(),
            );
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {replicas} replicas {seconds:.1} s after {since}");
    }

    async fn scaled_objects(&self, namespace: &str) -> Value {
        let any = json!({"apiVersion": KEDA_API_VERSION, "kind": "ScaledObject",
            "metadata": {"namespace": namespace}});
        let (api, _) = objects::api_of(&self.client, &any).await;
        let listed = api.list(&kube::api::ListParams::default()).await;
        let items = listed.expect("a list").items;
        items
            .into_iter()
            .map(|object| object.data["status"].clone())
            .collect()
    }
}

async fn read(api: &Api<DynamicObject>, name: &str) -> Value {
    json!(api.get(name).await.expect("the API server answers"))
}

fn deployment(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace}})
}

/// A workload without actors.
fn foreign_deployment(name: &str, replicas: u64) -> Value {
    let labels = json!({"app": name});
    let mut object = deployment("prod", name);
    object["spec"] = json!({
        "replicas": replicas, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "server", "image": "vllm/vllm-openai:latest"}]}}});
    object
}

/// The objects that a function answers with.
fn desired(response: &Path) -> Vec<Value> {
    let mut documents = documents(response);
    assert_eq!(documents.len(), 1, "{}", response.display());
    let Value::Object(resources) = documents[0]["desired"]["resources"].take() else {
        panic!("{} has no resources", response.display());
    };
    resources.into_iter().map(|(_, object)| object).collect()
}

/// The only object of a kind.
fn only<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let mut found = objects.iter().filter(|object| object["kind"] == kind);
    let object = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert_eq!(found.next(), None, "more than one {kind}");
    object
}
