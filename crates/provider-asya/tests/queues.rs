//! Queue objects on a real API server, kept true on a real broker and on moto's SQS.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use actor::managed::{FINALIZER, READY, SYNCED};
use actor::queue::AtProvider;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use rig::moto::{Moto, REGION};
use rig::provider_fixture::{self, PROVIDER_NAMESPACE, ProviderFixture, Queues};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queue_objects_are_kept_true() {
    if rig::is_skipped("queue objects") {
        return;
    }
    let fixture = Fixture::set().await;
    a_queue_of_rabbitmq_becomes_ready_and_a_message_arrives(&fixture).await;
    a_queue_of_sqs_becomes_ready_and_a_message_arrives(&fixture).await;
    a_queue_that_was_deleted_by_hand_comes_back(&fixture).await;
    settings_are_written_and_nothing_else_is(&fixture).await;
    a_queue_of_nobody_is_refused_and_then_adopted(&fixture).await;
    a_refused_object_may_choose_another_name(&fixture).await;
    a_tenant_gets_no_other_names(&fixture).await;
    an_orphan_is_found_again_with_its_messages(&fixture).await;
    a_queue_with_messages_waits_until_it_is_empty(&fixture).await;
    a_paused_object_stays_as_it_is(&fixture).await;
    a_queue_never_moves(&fixture).await;
    a_config_in_use_is_not_let_go(&fixture).await;
}

/// Everything that a queue's life needs.
struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn set() -> Self {
        let (provider, rabbitmq, moto) = tokio::join!(
            ProviderFixture::start(provider_fixture::timings()),
            RabbitMq::start(),
            Moto::start()
        );
        let fixture = Self {
            queues: provider.queues(NAMESPACE),
            provider,
            rabbitmq,
            moto,
        };
        fixture.make_configs().await;
        fixture
    }

    async fn make_configs(&self) {
        self.provider.make_namespace(NAMESPACE).await;
        self.provider.make_namespace(PROVIDER_NAMESPACE).await;
        let broker =
            |namespace| provider_fixture::rabbitmq_connection(&self.rabbitmq.endpoint, namespace);
        let sqs = provider_fixture::sqs_connection(&self.moto.endpoint, None);
        let specs = [
            (
                "rabbitmq",
                json!({"rabbitmq": broker(None), "countersInterval": "1s", "ownerID": "east"}),
            ),
            ("sqs", json!({"sqs": sqs, "countersInterval": "1s"})),
        ];
        let configs: Api<ProviderConfig> = self.provider.namespaced(NAMESPACE);
        for (name, spec) in specs {
            provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec}))
                .await;
        }
        let configs: Api<ClusterProviderConfig> = Api::all(self.provider.client.clone());
        let spec = json!({"rabbitmq": broker(Some(PROVIDER_NAMESPACE)), "queueNames": ["asya-{namespace}-*"]});
        provider_fixture::apply(
            &configs,
            json!({"metadata": {"name": "tenants"}, "spec": spec}),
        )
        .await;
    }

    async fn make_queue(&self, name: &str, spec: Value) {
        let metadata = json!({"name": name,
            "annotations": {"crossplane.io/external-name": format!("asya-{name}")}});
        provider_fixture::apply(&self.queues.0, json!({"metadata": metadata, "spec": spec})).await;
    }

    async fn publish(&self, key: &str) {
        assert!(
            self.rabbitmq.publish("asya", key).await,
            "a queue gets what is published by {key:?}"
        );
    }

    async fn until_queued(&self, name: &str, expected: u64) {
        let what = format!("counts {expected}");
        let counts = |queue: &Queue| queue.status.at_provider.queued == Some(expected);
        self.queues.until(name, &what, &counts).await;
    }
}

fn rabbitmq(name: &str) -> Value {
    json!({
        "forProvider": {"rabbitmq": {"host": "rabbitmq", "routingKeys": [name, format!("asya-{name}")]}},
        "providerConfigRef": {"kind": "ProviderConfig", "name": "rabbitmq"},
    })
}

async fn a_queue_of_rabbitmq_becomes_ready_and_a_message_arrives(fixture: &Fixture) {
    fixture.make_queue("cart", rabbitmq("cart")).await;
    let queue = fixture.queues.until_ready("cart").await;
    assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-cart"));
    assert_eq!(queue.finalizers(), [FINALIZER]);
    // As a sidecar does: to the exchange, by the actor's name.
    fixture.publish("cart").await;
    fixture.until_queued("cart", 1).await;
}

async fn a_queue_of_sqs_becomes_ready_and_a_message_arrives(fixture: &Fixture) {
    let spec = json!({
        "forProvider": {"sqs": {"region": REGION, "deadLetter": {"enabled": true}}},
        "providerConfigRef": {"kind": "ProviderConfig", "name": "sqs"},
    });
    fixture.make_queue("basket", spec).await;
    let queue = fixture.queues.until_ready("basket").await;
    let (sqs, _) = fixture.moto.clients();
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
    fixture.until_queued("basket", 1).await;
    fixture.queues.delete("basket").await;
    fixture.queues.until_gone("basket").await;
    assert!(
        sqs.get_queue_url()
            .queue_name("asya-basket")
            .send()
            .await
            .is_err()
    );
}

async fn a_queue_that_was_deleted_by_hand_comes_back(fixture: &Fixture) {
    fixture
        .rabbitmq
        .api
        .delete(&["queues", "/", "asya-cart"])
        .await
        .unwrap();
    rig::until("the queue is back", || async {
        fixture
            .rabbitmq
            .has(&["queues", "/", "asya-cart"])
            .await
            .then_some(())
    })
    .await;
    fixture.queues.until_ready("cart").await;
}

async fn settings_are_written_and_nothing_else_is(fixture: &Fixture) {
    let change = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
    fixture.queues.change("cart", change).await;
    rig::until("there is a dead-letter queue", || async {
        fixture
            .rabbitmq
            .has(&["queues", "/", "asya-cart-dlq"])
            .await
            .then_some(())
    })
    .await;
    // A pass that changes nothing writes nothing but the answer to the request for it.
    let before = fixture.queues.until_looked_at("cart", "1").await;
    let after = fixture.queues.until_looked_at("cart", "2").await;
    assert_eq!(before.status.conditions, after.status.conditions);
    assert_eq!(after.status.conditions.len(), 2, "{:?}", after.status);
}

async fn a_queue_of_nobody_is_refused_and_then_adopted(fixture: &Fixture) {
    let body =
        json!({"durable": true, "auto_delete": false, "arguments": {"x-queue-type": "quorum"}});
    fixture
        .rabbitmq
        .api
        .put(&["queues", "/", "asya-old"], &body)
        .await
        .unwrap();
    fixture.make_queue("old", rabbitmq("old")).await;
    fixture
        .queues
        .until_says("old", SYNCED, "False", "has no owner tag")
        .await;
    a_refusal_is_said_once(fixture, "old").await;
    fixture
        .queues
        .change("old", json!({"spec": {"forProvider": {"adopt": true}}}))
        .await;
    fixture.queues.until_ready("old").await;
    fixture.queues.delete("old").await;
    fixture.queues.until_gone("old").await;
    assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-old"]).await);
}

/// Passes over a refused object leave its conditions as they are.
async fn a_refusal_is_said_once(fixture: &Fixture, name: &str) {
    let said = fixture.queues.until_looked_at(name, "1").await;
    // Times are of whole seconds: one must pass to be seen.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let again = fixture.queues.until_looked_at(name, "2").await;
    assert_eq!(said.status.conditions, again.status.conditions);
}

async fn a_refused_object_may_choose_another_name(fixture: &Fixture) {
    let name = |name: &str| json!({"crossplane.io/external-name": name});
    let metadata = json!({"name": "second", "annotations": name("asya-cart")});
    let object = json!({"metadata": metadata, "spec": rabbitmq("second")});
    provider_fixture::apply(&fixture.queues.0, object).await;
    let queue = fixture
        .queues
        .until_says("second", SYNCED, "False", "QueueOwnedByAnother")
        .await;
    assert_eq!(
        queue.status.at_provider,
        AtProvider::default(),
        "nothing is told of somebody else's queue"
    );
    let rename = json!({"metadata": {"annotations": name("asya-second")}});
    fixture.queues.change("second", rename).await;
    let queue = fixture.queues.until_ready("second").await;
    let known = queue.status.at_provider.name;
    assert_eq!(known.as_deref(), Some("asya-second"));
    fixture.queues.delete("second").await;
    fixture.queues.until_gone("second").await;
}

async fn a_tenant_gets_no_other_names(fixture: &Fixture) {
    let mut spec = rabbitmq("cart");
    spec["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "tenants"});
    fixture.make_queue("thief", spec).await;
    fixture
        .queues
        .until_says(
            "thief",
            SYNCED,
            "False",
            "does not allow the queue name \"asya-thief\"",
        )
        .await;
    fixture.queues.delete("thief").await;
    fixture.queues.until_gone("thief").await;
}

async fn an_orphan_is_found_again_with_its_messages(fixture: &Fixture) {
    let mut spec = rabbitmq("kept");
    spec["managementPolicies"] = json!(["Observe", "Create", "Update", "LateInitialize"]);
    fixture.make_queue("kept", spec.clone()).await;
    fixture.queues.until_ready("kept").await;
    fixture.publish("kept").await;
    fixture.queues.delete("kept").await;
    fixture.queues.until_gone("kept").await;
    fixture.make_queue("kept", spec).await;
    fixture.queues.until_ready("kept").await;
    fixture.until_queued("kept", 1).await;
}

async fn a_queue_with_messages_waits_until_it_is_empty(fixture: &Fixture) {
    let change =
        json!({"spec": {"managementPolicies": ["*"], "forProvider": {"deleteOnlyIfEmpty": true}}});
    fixture.queues.change("kept", change).await;
    fixture.queues.delete("kept").await;
    fixture
        .queues
        .until_says("kept", READY, "False", "it holds 1 messages")
        .await;
    fixture
        .rabbitmq
        .api
        .delete(&["queues", "/", "asya-kept", "contents"])
        .await
        .unwrap();
    fixture.queues.until_gone("kept").await;
    assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-kept"]).await);
}

async fn a_paused_object_stays_as_it_is(fixture: &Fixture) {
    fixture
        .queues
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/paused": "true"}}}),
        )
        .await;
    fixture
        .queues
        .until_says("cart", SYNCED, "False", "ReconcilePaused")
        .await;
    fixture
        .queues
        .change(
            "cart",
            json!({"metadata": {"annotations": {"crossplane.io/paused": null}}}),
        )
        .await;
    fixture.queues.until_ready("cart").await;
}

async fn a_queue_never_moves(fixture: &Fixture) {
    let rename =
        |name: &str| json!({"metadata": {"annotations": {"crossplane.io/external-name": name}}});
    fixture.queues.change("cart", rename("asya-other")).await;
    let queue = fixture
        .queues
        .until_says("cart", SYNCED, "False", "QueueLocationChanged")
        .await;
    assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-cart"));
    assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-other"]).await);
    fixture.queues.change("cart", rename("asya-cart")).await;
    fixture.queues.until_ready("cart").await;
}

async fn a_config_in_use_is_not_let_go(fixture: &Fixture) {
    let configs: Api<ProviderConfig> = fixture.provider.namespaced(NAMESPACE);
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
    fixture.queues.delete("cart").await;
    fixture.queues.until_gone("cart").await;
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
