//! Settings of Queues and their configs on a real API server: a config that
//! changes is noticed at once, a password is judged, and a connection Secret is kept.

use crate::rig::{self, shared};
use std::sync::Arc;
use std::time::Duration;

use crate::rig::moto::{Moto, REGION};
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::{READY, SYNCED};
use actor::queue::PASSWORD_NOT_URL_SAFE;
use k8s_openapi::api::core::v1::{Event, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use provider_asya::controller::{Context, config, queue};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use serde_json::{Value, json};

/// Must appear nowhere but in its Secret. A URL cannot contain it unescaped.
const PASSWORD: &str = "hunter2/correct-horse";

/// Longer than any test, so that nothing is reconciled by time.
const NEVER: Duration = Duration::from_hours(1);

#[test]
fn a_changed_config_triggers_its_queues_and_no_others() {
    shared::run("changed configs", async {
        let cluster = rig::cluster::Cluster::start().await;
        let (moto, ()) = tokio::join!(Moto::start(), cluster.install_kinds());
        let fixture = Fixture::new(cluster.client().await);
        let controllers = fixture.start_controllers(Timings {
            poll: NEVER,
            counters: NEVER,
            first_backoff: NEVER,
            longest_backoff: NEVER,
            ..Timings::default()
        });
        for name in ["cart", "basket"] {
            let reference = json!({"kind": "ClusterProviderConfig", "name": name});
            let spec =
                json!({"forProvider": {"sqs": {"region": REGION}}, "providerConfigRef": reference});
            fixture.apply::<Queue>(name, json!({"spec": spec})).await;
            let text = format!("ClusterProviderConfig \"{name}\" does not exist");
            fixture.until_condition(name, SYNCED, "False", &text).await;
        }
        let config = |endpoint: &str| {
            json!({"spec": {"sqs": {"endpoint": endpoint,
            "credentials": {"source": "Secret", "secretRef": {"name": "keys", "namespace": "default"}}}}})
        };
        let keys = json!({"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"});
        fixture
            .apply::<Secret>("keys", json!({"stringData": keys}))
            .await;
        fixture
            .apply_cluster("cart", config("http://127.0.0.1:1"))
            .await;
        // A config that is new.
        fixture
            .until_condition("cart", SYNCED, "False", "cannot reach")
            .await;
        // A config that is another one now.
        fixture.apply_cluster("cart", config(&moto.endpoint)).await;
        fixture.until_condition("cart", SYNCED, "True", "").await;
        // The queue of the other config was not reconciled.
        let other = fixture.queues.get("basket").await.unwrap();
        let mut conditions = other.status.conditions.iter();
        assert!(
            conditions.any(|condition| condition.type_ == SYNCED && condition.status == "False")
        );
        controllers.abort();
    });
}

#[test]
fn passwords_are_judged_and_connection_secrets_kept() {
    shared::run("passwords and connection Secrets", async {
        let cluster = rig::cluster::Cluster::start().await;
        let (rabbitmq, ()) = tokio::join!(RabbitMq::start(), cluster.install_kinds());
        let fixture = Fixture::new(cluster.client().await);
        let milliseconds = Duration::from_millis;
        let controllers = fixture.start_controllers(Timings {
            poll: milliseconds(300),
            first_backoff: milliseconds(100),
            longest_backoff: milliseconds(300),
            credentials: milliseconds(100),
            ..Timings::default()
        });
        let key = |key: &str| json!({"name": "login", "key": key});
        let credentials =
            json!({"usernameSecretRef": key("user"), "passwordSecretRef": key("password")});
        let spec = json!({"rabbitmq": {"endpoint": rabbitmq.endpoint, "credentials": credentials}});
        fixture
            .apply::<ProviderConfig>("rabbitmq", json!({"spec": spec}))
            .await;
        fixture.set_password(&rabbitmq, PASSWORD).await;
        let queue = json!({
            "forProvider": {"rabbitmq": {"host": "broker", "queueType": "classic", "routingKeys": ["cart"]}},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "rabbitmq"},
            "writeConnectionSecretToRef": {"name": "cart-connection"},
        });
        fixture.apply::<Queue>("cart", json!({"spec": queue})).await;
        fixture.until_condition("cart", READY, "True", "").await;
        let queue = fixture
            .until_condition("cart", PASSWORD_NOT_URL_SAFE, "True", "key \"password\"")
            .await;
        let metrics = fixture.metrics.text();
        let is_counted =
            metrics.contains("asya_provider_external_calls_total{service=\"rabbitmq\"}");
        assert!(is_counted, "the broker was called: {metrics}");
        let events = Api::<Event>::default_namespaced(fixture.client.clone());
        let events = events.list(&ListParams::default()).await.unwrap().items;
        for text in [json!(queue).to_string(), json!(events).to_string(), metrics] {
            assert!(
                !text.contains(PASSWORD),
                "the password is not repeated: {text}"
            );
        }
        fixture.set_password(&rabbitmq, "p-w").await;
        fixture
            .until_condition("cart", PASSWORD_NOT_URL_SAFE, "False", "")
            .await;

        let expected = json!({"endpoint": "broker", "vhost": "/", "exchange": "asya", "routingKey": "cart", "queue": "cart"});
        let secret = fixture.until_published(&expected).await;
        assert_eq!(
            secret.type_.as_deref(),
            Some("connection.crossplane.io/v1alpha1")
        );
        fixture
            .secrets
            .delete("cart-connection", &DeleteParams::default())
            .await
            .unwrap();
        fixture.until_published(&expected).await;
        fixture
            .apply::<Secret>("other", json!({"stringData": {"mine": "alone"}}))
            .await;
        fixture.set_secret("other").await;
        let text = "Secret \"other\" exists with type \"Opaque\"";
        fixture.until_condition("cart", SYNCED, "False", text).await;
        fixture.set_secret("cart-connection").await;
        fixture.until_condition("cart", SYNCED, "True", "").await;
        fixture
            .queues
            .delete("cart", &DeleteParams::default())
            .await
            .unwrap();
        rig::until("the Secret is deleted with its Queue", || async {
            let found = fixture.secrets.get_opt("cart-connection").await.unwrap();
            found.is_none().then_some(())
        })
        .await;
        let other = fixture.secrets.get("other").await.unwrap();
        assert_eq!(other.owner_references().len(), 0);
        controllers.abort();
    });
}

struct Fixture {
    client: Client,
    queues: Api<Queue>,
    secrets: Api<Secret>,
    metrics: Arc<Metrics>,
}

impl Fixture {
    fn new(client: Client) -> Self {
        Self {
            queues: Api::default_namespaced(client.clone()),
            secrets: Api::default_namespaced(client.clone()),
            metrics: Arc::default(),
            client,
        }
    }

    fn start_controllers(&self, timings: Timings) -> tokio::task::JoinHandle<()> {
        let metrics = self.metrics.clone();
        let context = Context::new(self.client.clone(), "crossplane-system", timings, metrics);
        let context = Arc::new(context);
        tokio::spawn(async move {
            let never = || futures::future::pending::<()>();
            let (_, queues) = queue::run(context.clone(), 4, never());
            tokio::join!(
                queues,
                config::run::<ProviderConfig>(context.clone(), never()),
                config::run::<ClusterProviderConfig>(context, never()),
            );
        })
    }

    async fn apply<K>(&self, name: &str, object: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
    {
        apply(
            &Api::<K>::default_namespaced(self.client.clone()),
            name,
            object,
        )
        .await;
    }

    async fn apply_cluster(&self, name: &str, object: Value) {
        apply(
            &Api::<ClusterProviderConfig>::all(self.client.clone()),
            name,
            object,
        )
        .await;
    }

    /// Gives the broker's user another password, and the Secret too.
    async fn set_password(&self, rabbitmq: &RabbitMq, password: &str) {
        let user = json!({"password": password, "tags": "policymaker"});
        let permissions = json!({"configure": ".*", "write": ".*", "read": ".*"});
        rabbitmq.api.put(&["users", "asya"], &user).await.unwrap();
        let path = ["permissions", "/", "asya"];
        rabbitmq.api.put(&path, &permissions).await.unwrap();
        let data = json!({"stringData": {"user": "asya", "password": password}});
        self.apply::<Secret>("login", data).await;
    }

    async fn set_secret(&self, name: &str) {
        let patch = json!({"spec": {"writeConnectionSecretToRef": {"name": name}}});
        let patch = Patch::Merge(patch);
        let parameters = PatchParams::default();
        self.queues
            .patch("cart", &parameters, &patch)
            .await
            .unwrap();
    }

    async fn until_published(&self, expected: &Value) -> Secret {
        rig::until(
            "the Secret contains the connection of the queue",
            || async {
                let secret = self.secrets.get_opt("cart-connection").await.unwrap()?;
                let data = secret.data.iter().flatten();
                let data: Value = data
                    .map(|(key, value)| (key.clone(), json!(String::from_utf8_lossy(&value.0))))
                    .collect();
                (data == *expected).then_some(secret)
            },
        )
        .await
    }

    /// Waits until a condition has this status and `text` in its message.
    async fn until_condition(&self, name: &str, type_: &str, status: &str, text: &str) -> Queue {
        rig::until(&format!("{name} has {type_}={status} {text:?}"), || async {
            let queue = self.queues.get(name).await.unwrap();
            let has = queue.status.conditions.iter().any(|condition| {
                let message = condition.message.as_deref().unwrap_or_default();
                condition.type_ == type_ && condition.status == status && message.contains(text)
            });
            has.then_some(queue)
        })
        .await
    }
}

async fn apply<K>(api: &Api<K>, name: &str, mut object: Value)
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    object["apiVersion"] = json!(K::api_version(&()));
    object["kind"] = json!(K::kind(&()));
    object["metadata"] = json!({"name": name});
    let manager = PatchParams::apply("tests").force();
    api.patch(name, &manager, &Patch::Apply(&object))
        .await
        .unwrap();
}
