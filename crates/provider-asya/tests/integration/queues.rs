//! Queue objects on a real API server, reconciled with RabbitMQ and with moto's SQS.

use crate::rig::moto::{Moto, REGION};
use crate::rig::provider_fixture::{self, PROVIDER_NAMESPACE, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use crate::rig::{self, Shared};
use actor::managed::{FINALIZER, READY, SYNCED};
use actor::provider_config::{PolicyOrigin, SharedPolicyRecord};
use actor::queue::AtProvider;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::{ClusterProviderConfig, ProviderConfig, Queue};
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

static FIXTURE: Shared<Fixture> = Shared::new("Queue objects", || Box::pin(Fixture::start()));

/// The provider, a broker of each kind, and configs that lead to them.
struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn start() -> Self {
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

    async fn make_config(&self, name: &str) {
        let connection = provider_fixture::rabbitmq_connection(&self.rabbitmq.endpoint, None);
        let spec = json!({"rabbitmq": connection, "countersInterval": "1s"});
        let configs: Api<ProviderConfig> = self.provider.namespaced(NAMESPACE);
        provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    /// Makes a queue of RabbitMQ and waits until it is ready.
    async fn make_ready(&self, name: &str) {
        self.make_queue(name, rabbitmq(name)).await;
        self.queues.until_ready(name).await;
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

#[test]
fn a_rabbitmq_queue_becomes_ready_and_receives_messages() {
    FIXTURE.run(async |fixture| {
        fixture.make_queue("cart", rabbitmq("cart")).await;
        let queue = fixture.queues.until_ready("cart").await;
        assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-cart"));
        assert_eq!(queue.finalizers(), [FINALIZER]);
        // As a sidecar does: to the exchange, by the actor's name.
        fixture.publish("cart").await;
        fixture.until_queued("cart", 1).await;
    });
}

#[test]
fn an_sqs_queue_becomes_ready_receives_messages_and_is_deleted_with_its_object() {
    FIXTURE.run(async |fixture| {
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
        fixture.queues.until_deleted("basket").await;
        assert!(
            sqs.get_queue_url()
                .queue_name("asya-basket")
                .send()
                .await
                .is_err()
        );
    });
}

#[test]
fn a_queue_that_was_deleted_by_hand_is_recreated() {
    FIXTURE.run(async |fixture| {
        fixture.make_ready("restored").await;
        fixture
            .rabbitmq
            .api
            .delete(&["queues", "/", "asya-restored"])
            .await
            .unwrap();
        rig::until("the queue is back", || async {
            fixture
                .rabbitmq
                .has(&["queues", "/", "asya-restored"])
                .await
                .then_some(())
        })
        .await;
        fixture.queues.until_ready("restored").await;
    });
}

#[test]
fn changed_settings_are_written_and_a_reconcile_without_changes_writes_nothing() {
    FIXTURE.run(async |fixture| {
        fixture.make_ready("changed").await;
        let change =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        fixture.queues.change("changed", change).await;
        rig::until("there is a dead-letter queue", || async {
            fixture
                .rabbitmq
                .has(&["queues", "/", "asya-changed-dlq"])
                .await
                .then_some(())
        })
        .await;
        // A reconciliation without changes writes nothing but the answer to the request for it.
        let before = fixture.queues.until_reconciled("changed", "1").await;
        let after = fixture.queues.until_reconciled("changed", "2").await;
        assert_eq!(before.status.conditions, after.status.conditions);
        assert_eq!(after.status.conditions.len(), 2, "{:?}", after.status);
    });
}

#[test]
fn an_unowned_queue_is_refused_until_adoption_is_requested() {
    FIXTURE.run(async |fixture| {
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
            .until_condition("old", SYNCED, "False", "has no owner tag")
            .await;
        a_refusal_is_reported_once(fixture, "old").await;
        fixture
            .queues
            .change("old", json!({"spec": {"forProvider": {"adopt": true}}}))
            .await;
        fixture.queues.until_ready("old").await;
        fixture.queues.delete("old").await;
        fixture.queues.until_deleted("old").await;
        assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-old"]).await);
    });
}

/// Reconciliations of a refused object leave its conditions unchanged.
async fn a_refusal_is_reported_once(fixture: &Fixture, name: &str) {
    let first = fixture.queues.until_reconciled(name, "1").await;
    // A new transition time would differ from the old one in the next second.
    rig::until_next_second().await;
    let again = fixture.queues.until_reconciled(name, "2").await;
    assert_eq!(first.status.conditions, again.status.conditions);
}

#[test]
fn a_refused_object_can_be_renamed() {
    FIXTURE.run(async |fixture| {
        fixture.make_ready("first").await;
        let name = |name: &str| json!({"crossplane.io/external-name": name});
        let metadata = json!({"name": "second", "annotations": name("asya-first")});
        let object = json!({"metadata": metadata, "spec": rabbitmq("second")});
        provider_fixture::apply(&fixture.queues.0, object).await;
        let queue = fixture
            .queues
            .until_condition("second", SYNCED, "False", "QueueOwnedByAnother")
            .await;
        assert_eq!(
            queue.status.at_provider,
            AtProvider::default(),
            "nothing of a foreign queue is reported"
        );
        let rename = json!({"metadata": {"annotations": name("asya-second")}});
        fixture.queues.change("second", rename).await;
        let queue = fixture.queues.until_ready("second").await;
        let known = queue.status.at_provider.name;
        assert_eq!(known.as_deref(), Some("asya-second"));
        fixture.queues.delete("second").await;
        fixture.queues.until_deleted("second").await;
    });
}

#[test]
fn a_queue_name_outside_the_patterns_of_its_config_is_refused() {
    FIXTURE.run(async |fixture| {
        let mut spec = rabbitmq("cart");
        spec["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "tenants"});
        fixture.make_queue("thief", spec).await;
        fixture
            .queues
            .until_condition(
                "thief",
                SYNCED,
                "False",
                "does not allow the queue name \"asya-thief\"",
            )
            .await;
        fixture.queues.delete("thief").await;
        fixture.queues.until_deleted("thief").await;
    });
}

#[test]
fn a_queue_that_was_orphaned_is_found_again_with_its_messages() {
    FIXTURE.run(async |fixture| {
        let mut spec = rabbitmq("kept");
        spec["managementPolicies"] = json!(["Observe", "Create", "Update", "LateInitialize"]);
        fixture.make_queue("kept", spec.clone()).await;
        fixture.queues.until_ready("kept").await;
        fixture.publish("kept").await;
        fixture.queues.delete("kept").await;
        fixture.queues.until_deleted("kept").await;
        fixture.make_queue("kept", spec).await;
        fixture.queues.until_ready("kept").await;
        fixture.until_queued("kept", 1).await;
    });
}

#[test]
fn a_queue_with_delete_only_if_empty_is_deleted_once_it_is_empty() {
    FIXTURE.run(async |fixture| {
        let mut spec = rabbitmq("full");
        spec["forProvider"]["deleteOnlyIfEmpty"] = json!(true);
        fixture.make_queue("full", spec).await;
        fixture.queues.until_ready("full").await;
        fixture.publish("full").await;
        fixture.until_queued("full", 1).await;
        fixture.queues.delete("full").await;
        fixture
            .queues
            .until_condition("full", READY, "False", "it holds 1 messages")
            .await;
        fixture
            .rabbitmq
            .api
            .delete(&["queues", "/", "asya-full", "contents"])
            .await
            .unwrap();
        fixture.queues.until_deleted("full").await;
        assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-full"]).await);
    });
}

#[test]
fn a_paused_object_reports_that_it_is_not_reconciled() {
    FIXTURE.run(async |fixture| {
        fixture.make_ready("paused").await;
        fixture
            .queues
            .change(
                "paused",
                json!({"metadata": {"annotations": {"crossplane.io/paused": "true"}}}),
            )
            .await;
        fixture
            .queues
            .until_condition("paused", SYNCED, "False", "ReconcilePaused")
            .await;
        fixture
            .queues
            .change(
                "paused",
                json!({"metadata": {"annotations": {"crossplane.io/paused": null}}}),
            )
            .await;
        fixture.queues.until_ready("paused").await;
    });
}

#[test]
fn a_changed_external_name_is_refused_and_makes_no_second_queue() {
    FIXTURE.run(async |fixture| {
        fixture.make_ready("unmoved").await;
    let rename =
        |name: &str| json!({"metadata": {"annotations": {"crossplane.io/external-name": name}}});
    fixture.queues.change("unmoved", rename("asya-other")).await;
    let queue = fixture
        .queues
        .until_condition("unmoved", SYNCED, "False", "QueueLocationChanged")
        .await;
    assert_eq!(queue.status.at_provider.name.as_deref(), Some("asya-unmoved"));
    assert!(!fixture.rabbitmq.has(&["queues", "/", "asya-other"]).await);
    fixture.queues.change("unmoved", rename("asya-unmoved")).await;
    fixture.queues.until_ready("unmoved").await;
    });
}

#[test]
fn shared_policies_are_recorded_in_the_config_and_a_foreign_one_is_never_changed() {
    FIXTURE.run(async |fixture| {
        let configs: Api<ProviderConfig> = fixture.provider.namespaced(NAMESPACE);
        let broker = &fixture.rabbitmq.api;
        let rights = json!({"configure": ".*", "write": ".*", "read": ".*"});
        for (owner, origin) in [("ours", PolicyOrigin::Provider), ("theirs", PolicyOrigin::Foreign)] {
            let vhost = format!("recorded-{owner}");
            broker.put(&["vhosts", &vhost], &json!({})).await.unwrap();
            broker.put(&["permissions", &vhost, "guest"], &rights).await.unwrap();
            let shared = format!("asya:{owner}:queues");
            let path = ["policies", &vhost, &shared];
            // Of the form of ours, with another limit.
            let theirs = json!({"pattern": r"^(?!.*-dlq$)asya\-.*$", "definition": {"delivery-limit": 7},
                "priority": -1, "apply-to": "queues"});
            if origin == PolicyOrigin::Foreign {
                broker.put(&path, &theirs).await.unwrap();
            }
            let connection = provider_fixture::rabbitmq_connection(&fixture.rabbitmq.endpoint, None);
            let config = |limit: u32| {
                let mut connection = connection.clone();
                connection["sharedPolicy"] = json!({"maxReceiveCount": limit});
                json!({"metadata": {"name": vhost}, "spec": {"rabbitmq": connection, "ownerID": owner}})
            };
            provider_fixture::apply(&configs, config(20)).await;
            let mut spec = rabbitmq(&vhost);
            spec["providerConfigRef"]["name"] = json!(vhost);
            spec["forProvider"]["rabbitmq"]["vhost"] = json!(vhost);
            spec["forProvider"]["rabbitmq"]["queueType"] = json!("quorum");
            spec["forProvider"]["rabbitmq"]["deadLetter"] = json!({"enabled": true, "maxReceiveCount": 20});
            fixture.make_queue(&vhost, spec).await;
            fixture.queues.until_ready(&vhost).await;
            let records = configs.get(&vhost).await.unwrap().status.shared_policies;
            let expected = SharedPolicyRecord { vhost: vhost.clone(), name: shared.clone(), origin };
            assert_eq!(records, [expected]);
            let limit = async || fixture.rabbitmq.read(&path).await["definition"]["delivery-limit"].as_u64();
            let before = limit().await;
            // Only the provider's own policy follows the config.
            provider_fixture::apply(&configs, config(9)).await;
            fixture
                .queues
                .change(&vhost, json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"maxReceiveCount": 9}}}}}))
                .await;
            rig::until("the new limit applies", || async {
                let queue = format!("asya-{vhost}");
                let queue = fixture.rabbitmq.read(&["queues", &vhost, &queue]).await;
                (queue["effective_policy_definition"]["delivery-limit"] == 9).then_some(())
            })
            .await;
            if origin == PolicyOrigin::Foreign {
                assert_eq!((before, limit().await), (Some(7), Some(7)));
            } else {
                assert_eq!(before, Some(20));
                rig::until("the shared policy has the new limit", || async {
                    (limit().await == Some(9)).then_some(())
                })
                .await;
            }
            fixture.queues.delete(&vhost).await;
            fixture.queues.until_deleted(&vhost).await;
            assert!(fixture.rabbitmq.has(&path).await, "{owner}");
        }
    });
}

#[test]
fn a_config_in_use_is_deleted_after_its_last_queue() {
    FIXTURE.run(async |fixture| {
        fixture.make_config("used").await;
        let mut spec = rabbitmq("user");
        spec["providerConfigRef"]["name"] = json!("used");
        fixture.make_queue("user", spec).await;
        fixture.queues.until_ready("user").await;
        let configs: Api<ProviderConfig> = fixture.provider.namespaced(NAMESPACE);
        rig::until("the user is counted", || async {
            (configs.get("used").await.unwrap().status.users == Some(1)).then_some(())
        })
        .await;
        configs
            .delete("used", &DeleteParams::default())
            .await
            .unwrap();
        rig::until("the config reports why it stays", || async {
            let config = configs.get("used").await.unwrap();
            config
                .status
                .conditions
                .iter()
                .any(|condition| condition.reason == "InUse")
                .then_some(())
        })
        .await;
        fixture.queues.delete("user").await;
        fixture.queues.until_deleted("user").await;
        rig::until("the config is deleted", || async {
            configs
                .get_opt("used")
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
    });
}
