//! Queue objects on a real API server, kept true on a real broker and on moto's SQS.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics, and a table of cases is as long as it is"
)]

mod rig;

use std::sync::Arc;
use std::time::Duration;

use actor::managed::{READY, SYNCED};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use provider_asya::controller::{Context, configs, run};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use rig::moto::{Moto, REGION};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

/// Everything that a queue's life needs.
struct Stage {
    client: Client,
    rabbitmq: RabbitMq,
    moto: Moto,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queue_objects_are_kept_true() {
    if rig::is_skipped("queue objects") {
        return;
    }
    let cluster = rig::cluster::Cluster::start().await;
    let (rabbitmq, moto, ()) =
        tokio::join!(RabbitMq::start(), Moto::start(), cluster.install_kinds());
    let stage = Stage {
        client: cluster.client().await,
        rabbitmq,
        moto,
    };
    stage.set().await;
    let controllers = stage.start_controllers();
    a_queue_of_rabbitmq_becomes_ready_and_a_message_arrives(&stage).await;
    a_queue_of_sqs_becomes_ready_and_a_message_arrives(&stage).await;
    a_queue_that_was_deleted_by_hand_comes_back(&stage).await;
    settings_are_written_and_nothing_else_is(&stage).await;
    a_queue_of_nobody_is_refused_and_then_adopted(&stage).await;
    a_tenant_gets_no_other_names(&stage).await;
    an_orphan_is_found_again_with_its_messages(&stage).await;
    a_queue_with_messages_waits_until_it_is_empty(&stage).await;
    a_paused_object_stays_as_it_is(&stage).await;
    a_queue_never_moves(&stage).await;
    a_config_in_use_is_not_let_go(&stage).await;
    controllers.abort();
}

impl Stage {
    async fn set(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        make(&namespaces, &json!({"metadata": {"name": NAMESPACE}})).await;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        let data = json!({"user": "guest", "password": "guest",
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"});
        make(
            &secrets,
            &json!({"metadata": {"name": "login"}, "stringData": data}),
        )
        .await;
        let configs: Api<ProviderConfig> = Api::namespaced(self.client.clone(), NAMESPACE);
        let broker = |namespace: Option<&str>| {
            let key = |key: &str| {
                let mut reference = json!({"name": "login", "key": key});
                if let Some(namespace) = namespace {
                    reference["namespace"] = json!(namespace);
                }
                reference
            };
            json!({"endpoint": self.rabbitmq.endpoint, "credentials": {
                "usernameSecretRef": key("user"), "passwordSecretRef": key("password")}})
        };
        let spec = json!({"rabbitmq": broker(None), "countersInterval": "1s", "ownerID": "east"});
        make(
            &configs,
            &json!({"metadata": {"name": "rabbitmq"}, "spec": spec}),
        )
        .await;
        let spec = json!({"countersInterval": "1s", "sqs": {"endpoint": self.moto.endpoint,
            "credentials": {"source": "Secret", "secretRef": {"name": "login"}}}});
        make(
            &configs,
            &json!({"metadata": {"name": "sqs"}, "spec": spec}),
        )
        .await;
        let configs: Api<ClusterProviderConfig> = Api::all(self.client.clone());
        let spec =
            json!({"rabbitmq": broker(Some(NAMESPACE)), "queueNames": ["asya-{namespace}-*"]});
        make(
            &configs,
            &json!({"metadata": {"name": "tenants"}, "spec": spec}),
        )
        .await;
    }

    /// The provider's controllers, in this process and with short waits.
    fn start_controllers(&self) -> tokio::task::JoinHandle<()> {
        let milliseconds = Duration::from_millis;
        let timings = Timings {
            poll: milliseconds(500),
            shortest_poll: milliseconds(100),
            first_backoff: milliseconds(100),
            longest_backoff: milliseconds(500),
            creation_grace: milliseconds(300),
            whole_look: milliseconds(500),
            settling: milliseconds(500),
            empty_for: milliseconds(1000),
            ..Timings::default()
        };
        let metrics = Arc::new(Metrics::new());
        let context = Arc::new(Context::new(
            self.client.clone(),
            "crossplane-system",
            timings,
            metrics,
        ));
        tokio::spawn(async move {
            let never = || futures::future::pending::<()>();
            let (_, queues) = run(context.clone(), 4, never());
            tokio::join!(
                queues,
                configs::run::<ProviderConfig>(context.clone(), never()),
                configs::run::<ClusterProviderConfig>(context, never()),
            );
        })
    }

    fn queues(&self) -> Api<Queue> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn make_queue(&self, name: &str, spec: Value) {
        let metadata = json!({"name": name,
            "annotations": {"crossplane.io/external-name": format!("asya-{name}")}});
        make(&self.queues(), &json!({"metadata": metadata, "spec": spec})).await;
    }

    async fn change(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        self.queues()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Waits until a condition has this status and a reason or message with `text` in it.
    async fn until_says(&self, name: &str, type_: &str, status: &str, text: &str) -> Queue {
        let queues = self.queues();
        rig::until(
            &format!("{name} says {type_}={status} {text:?}"),
            || async {
                let queue = queues.get_opt(name).await.unwrap()?;
                let says = queue.status.conditions.iter().any(|condition| {
                    let message = condition.message.as_deref().unwrap_or_default();
                    condition.type_ == type_
                        && condition.status == status
                        && (condition.reason.contains(text) || message.contains(text))
                });
                says.then_some(queue)
            },
        )
        .await
    }

    async fn until_ready(&self, name: &str) -> Queue {
        self.until_says(name, SYNCED, "True", "").await;
        self.until_says(name, READY, "True", "Available").await
    }

    async fn delete(&self, name: &str) {
        self.queues()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    async fn until_gone(&self, name: &str) {
        let queues = self.queues();
        rig::until(&format!("{name} is gone"), || async {
            queues.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
    }

    async fn publish(&self, key: &str) {
        assert!(
            self.rabbitmq.publish("asya", key).await,
            "a queue gets what is published by {key:?}"
        );
    }

    async fn until_queued(&self, name: &str, expected: u64) {
        let queues = self.queues();
        rig::until(&format!("{name} counts {expected}"), || async {
            let queue = queues.get(name).await.unwrap();
            (queue.status.at_provider.queued == Some(expected)).then_some(())
        })
        .await;
    }
}

async fn make<K>(api: &Api<K>, object: &Value)
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let mut object = object.clone();
    object["apiVersion"] = json!(K::api_version(&()));
    object["kind"] = json!(K::kind(&()));
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let manager = PatchParams::apply("tests");
    api.patch(&name, &manager, &Patch::Apply(&object))
        .await
        .unwrap();
}

fn rabbitmq(name: &str) -> Value {
    json!({
        "forProvider": {"rabbitmq": {"host": "rabbitmq", "routingKeys": [name, format!("asya-{name}")]}},
        "providerConfigRef": {"kind": "ProviderConfig", "name": "rabbitmq"},
    })
}

async fn a_queue_of_rabbitmq_becomes_ready_and_a_message_arrives(stage: &Stage) {
    stage.make_queue("cart", rabbitmq("cart")).await;
    let queue = stage.until_ready("cart").await;
    assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-cart"));
    assert_eq!(
        queue.finalizers(),
        ["finalizer.managedresource.crossplane.io"]
    );
    // As a sidecar does: to the exchange, by the actor's name.
    stage.publish("cart").await;
    stage.until_queued("cart", 1).await;
}

async fn a_queue_of_sqs_becomes_ready_and_a_message_arrives(stage: &Stage) {
    let spec = json!({
        "forProvider": {"sqs": {"region": REGION, "deadLetter": {"enabled": true}}},
        "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"},
    });
    stage.make_queue("basket", spec).await;
    let queue = stage.until_ready("basket").await;
    let (sqs, _) = stage.moto.clients();
    let url = sqs
        .get_queue_url()
        .queue_name("asya-basket")
        .send()
        .await
        .unwrap()
        .queue_url;
    assert_eq!(queue.status.at_provider.url, url);
    sqs.send_message()
        .queue_url(url.unwrap())
        .message_body("{}")
        .send()
        .await
        .unwrap();
    stage.until_queued("basket", 1).await;
    stage.delete("basket").await;
    stage.until_gone("basket").await;
    assert!(
        sqs.get_queue_url()
            .queue_name("asya-basket")
            .send()
            .await
            .is_err()
    );
}

async fn a_queue_that_was_deleted_by_hand_comes_back(stage: &Stage) {
    stage
        .rabbitmq
        .api
        .delete(&["queues", "/", "asya-cart"])
        .await
        .unwrap();
    rig::until("the queue is back", || async {
        stage
            .rabbitmq
            .has(&["queues", "/", "asya-cart"])
            .await
            .then_some(())
    })
    .await;
    stage.until_ready("cart").await;
}

async fn settings_are_written_and_nothing_else_is(stage: &Stage) {
    let change = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
    stage.change("cart", change).await;
    rig::until("there is a dead-letter queue", || async {
        stage
            .rabbitmq
            .has(&["queues", "/", "asya-cart-dlq"])
            .await
            .then_some(())
    })
    .await;
    // Passes go by, and nobody who watches the object hears of them.
    stage
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "1"}}}),
        )
        .await;
    let queues = stage.queues();
    let handled = |queue: &Queue, token: &str| {
        queue.status.last_handled_reconcile_at.as_deref() == Some(token)
    };
    let version = rig::until("the request is handled", || async {
        let queue = queues.get("cart").await.unwrap();
        handled(&queue, "1").then(|| queue.resource_version())
    })
    .await;
    stage
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "2"}}}),
        )
        .await;
    let queue = rig::until("the next request is handled", || async {
        queues
            .get("cart")
            .await
            .ok()
            .filter(|queue| handled(queue, "2"))
    })
    .await;
    assert_ne!(
        queue.resource_version(),
        version,
        "only the request itself is written"
    );
    assert_eq!(
        queue.status.conditions.len(),
        2,
        "{:?}",
        queue.status.conditions
    );
}

async fn a_queue_of_nobody_is_refused_and_then_adopted(stage: &Stage) {
    let body =
        json!({"durable": true, "auto_delete": false, "arguments": {"x-queue-type": "quorum"}});
    stage
        .rabbitmq
        .api
        .put(&["queues", "/", "asya-old"], &body)
        .await
        .unwrap();
    stage.make_queue("old", rabbitmq("old")).await;
    stage
        .until_says("old", SYNCED, "False", "carries no owner's mark")
        .await;
    a_refusal_is_said_once(stage, "old").await;
    stage
        .change("old", json!({"spec": {"forProvider": {"adopt": true}}}))
        .await;
    stage.until_ready("old").await;
    stage.delete("old").await;
    stage.until_gone("old").await;
    assert!(!stage.rabbitmq.has(&["queues", "/", "asya-old"]).await);
}

/// Passes over a refused object leave its conditions as they are.
async fn a_refusal_is_said_once(stage: &Stage, name: &str) {
    let mut said = Vec::new();
    for token in ["1", "2"] {
        let annotations = json!({"crossplane.io/reconcile-requested-at": token});
        stage
            .change(name, json!({"metadata": {"annotations": annotations}}))
            .await;
        let queue = rig::until("the request is handled", || async {
            let queue = stage.queues().get(name).await.unwrap();
            let handled = queue.status.last_handled_reconcile_at.as_deref() == Some(token);
            handled.then_some(queue)
        })
        .await;
        said.push(queue.status.conditions);
        // Times are of whole seconds: one must pass to be seen.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    assert_eq!(said[0], said[1]);
}

async fn a_tenant_gets_no_other_names(stage: &Stage) {
    let mut spec = rabbitmq("cart");
    spec["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "tenants"});
    stage.make_queue("thief", spec).await;
    stage
        .until_says(
            "thief",
            SYNCED,
            "False",
            "does not allow the queue name \"asya-thief\"",
        )
        .await;
    stage.delete("thief").await;
    stage.until_gone("thief").await;
}

async fn an_orphan_is_found_again_with_its_messages(stage: &Stage) {
    let mut spec = rabbitmq("kept");
    spec["managementPolicies"] = json!(["Observe", "Create", "Update", "LateInitialize"]);
    stage.make_queue("kept", spec.clone()).await;
    stage.until_ready("kept").await;
    stage.publish("kept").await;
    stage.delete("kept").await;
    stage.until_gone("kept").await;
    stage.make_queue("kept", spec).await;
    stage.until_ready("kept").await;
    stage.until_queued("kept", 1).await;
}

async fn a_queue_with_messages_waits_until_it_is_empty(stage: &Stage) {
    let change =
        json!({"spec": {"managementPolicies": ["*"], "forProvider": {"deleteOnlyIfEmpty": true}}});
    stage.change("kept", change).await;
    stage.delete("kept").await;
    stage
        .until_says("kept", READY, "False", "it holds 1 messages")
        .await;
    stage
        .rabbitmq
        .api
        .delete(&["queues", "/", "asya-kept", "contents"])
        .await
        .unwrap();
    stage.until_gone("kept").await;
    assert!(!stage.rabbitmq.has(&["queues", "/", "asya-kept"]).await);
}

async fn a_paused_object_stays_as_it_is(stage: &Stage) {
    stage
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/paused": "true"}}}),
        )
        .await;
    stage
        .until_says("cart", SYNCED, "False", "ReconcilePaused")
        .await;
    stage
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/paused": null}}}),
        )
        .await;
    stage.until_ready("cart").await;
}

async fn a_queue_never_moves(stage: &Stage) {
    let rename =
        |name: &str| json!({"metadata": {"annotations": {"crossplane.io/external-name": name}}});
    stage.change("cart", rename("asya-other")).await;
    let queue = stage
        .until_says("cart", SYNCED, "False", "QueueLocationChanged")
        .await;
    assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-cart"));
    assert!(!stage.rabbitmq.has(&["queues", "/", "asya-other"]).await);
    stage.change("cart", rename("asya-cart")).await;
    stage.until_ready("cart").await;
}

async fn a_config_in_use_is_not_let_go(stage: &Stage) {
    let configs: Api<ProviderConfig> = Api::namespaced(stage.client.clone(), NAMESPACE);
    rig::until("the user is counted", || async {
        (configs.get("rabbitmq").await.unwrap().status.users == Some(1)).then_some(())
    })
    .await;
    configs
        .delete("rabbitmq", &DeleteParams::default())
        .await
        .unwrap();
    rig::until("the config says why it stays", || async {
        let config = configs.get("rabbitmq").await.unwrap();
        config
            .status
            .conditions
            .iter()
            .any(|condition| condition.reason == "InUse")
            .then_some(())
    })
    .await;
    stage.delete("cart").await;
    stage.until_gone("cart").await;
    rig::until("the config is gone", || async {
        configs
            .get_opt("rabbitmq")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
}
