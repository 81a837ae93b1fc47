//! A broker that restarts, has a full disk, or gets another password, while the provider works: no message
//! is lost, and everything is in sync afterwards.

use crate::rig::{self, Shared};
use std::time::Instant;

use crate::rig::provider_fixture::{self, LOGIN, ProviderFixture, Queues};
use crate::rig::rabbitmq::{RabbitMq, login};
use actor::managed::SYNCED;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use provider_asya::transport::rabbitmq::api::Answer;
use serde_json::{Value, json};

static PROVIDER: Shared<ProviderFixture> = Shared::new("outages of RabbitMQ", || {
    Box::pin(ProviderFixture::start(provider_fixture::timings()))
});

/// During the outage one queue is unchanged, one changed, one deleted, and one created.
#[test]
fn queues_are_reconciled_after_a_restart_of_the_broker() {
    PROVIDER.run(async |provider| {
        let mut broker = RabbitMq::start().await;
        let queues = set(provider, "ended", &broker).await;
        for (name, kind) in [
            ("kept", "quorum"),
            ("changed", "classic"),
            ("deleted", "classic"),
        ] {
            make(&queues, name, kind).await;
            queues.until_ready(name).await;
            assert!(broker.publish("asya", name).await);
        }
        broker.stop().await;
        for name in ["kept", "changed", "deleted"] {
            queues
                .until_condition(name, SYNCED, "False", "cannot reach")
                .await;
        }
        let letters =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        queues.change("changed", letters).await;
        queues.delete("deleted").await;
        make(&queues, "created", "quorum").await;
        queues
            .until_condition("created", SYNCED, "False", "cannot reach")
            .await;
        broker.restart().await;
        let start = Instant::now();
        for name in ["kept", "changed", "created"] {
            queues.until_ready(name).await;
        }
        queues.until_deleted("deleted").await;
        rig::until("the change is made", || async {
            let has = broker.has(&["queues", "/", "changed-dlq"]).await;
            has.then_some(())
        })
        .await;
        println!(
            "{:6.1} s until everything is in sync after the broker restarts",
            start.elapsed().as_secs_f64()
        );
        assert!(!broker.has(&["queues", "/", "deleted"]).await);
        for name in ["kept", "changed"] {
            // Counted, not taken: a consumer may have to wait until the queue has its leader again.
            rig::until("the message is there", || async {
                let queue = broker.read(&["queues", "/", name]).await;
                (queue["messages_ready"] == 1).then_some(())
            })
            .await;
        }
    });
}

/// The alarm blocks publishers only.
#[test]
fn queues_are_reconciled_on_a_broker_with_a_full_disk() {
    PROVIDER.run(async |provider| {
        let broker = RabbitMq::start_with("disk_free_limit.absolute = 900000GB\n").await;
        rig::until("the broker reports that its disk is full", || async {
            let nodes = broker.read(&["nodes"]).await;
            (nodes[0]["disk_free_alarm"] == true).then_some(())
        })
        .await;
        let queues = set(provider, "full", &broker).await;
        make(&queues, "made", "classic").await;
        queues.until_ready("made").await;
        let letters =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        queues.change("made", letters).await;
        rig::until("the change is made", || async {
            broker.has(&["queues", "/", "made-dlq"]).await.then_some(())
        })
        .await;
        queues.until_ready("made").await;
        queues.delete("made").await;
        queues.until_deleted("made").await;
        assert!(!broker.has(&["queues", "/", "made"]).await);
    });
}

/// In between, the broker has the new password and the Secret the old one.
#[test]
fn queues_are_reconciled_after_the_password_is_changed_at_the_broker_and_then_in_the_secret() {
    PROVIDER.run(async |provider| {
        let broker = RabbitMq::start().await;
        let queues = set(provider, "rotated", &broker).await;
        make(&queues, "kept", "classic").await;
        queues.until_ready("kept").await;
        assert!(broker.publish("asya", "kept").await);
        let user = json!({"password": "another", "tags": "administrator"});
        broker.api.put(&["users", "guest"], &user).await.unwrap();
        queues
            .until_condition("kept", SYNCED, "False", "HTTP status 401")
            .await;
        make(&queues, "created", "classic").await;
        queues
            .until_condition("created", SYNCED, "False", "HTTP status 401")
            .await;

        let secrets = provider.namespaced::<Secret>("rotated");
        let data = Patch::Merge(json!({"stringData": {"password": "another"}}));
        let changed = secrets.patch(LOGIN, &PatchParams::default(), &data).await;
        changed.unwrap();
        let start = Instant::now();
        for name in ["kept", "created"] {
            queues.until_ready(name).await;
        }
        println!(
            "{:6.1} s until everything is in sync after the Secret is changed",
            start.elapsed().as_secs_f64()
        );
        let get = json!({"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto"});
        let api = login(&broker.endpoint, "guest", "another");
        let messages = api.post(&["queues", "/", "kept", "get"], &get).await;
        let Ok(Answer::Ok(messages)) = messages else {
            panic!("{messages:?}");
        };
        assert_eq!(messages.as_array().map(Vec::len), Some(1), "it is there");
    });
}

/// A namespace with a config that leads to the broker.
async fn set(provider: &ProviderFixture, namespace: &str, broker: &RabbitMq) -> Queues {
    provider.make_namespace(namespace).await;
    let spec = json!({"rabbitmq": provider_fixture::rabbitmq_connection(&broker.endpoint, None),
        "countersInterval": "1s"});
    let config = json!({"metadata": {"name": "broker"}, "spec": spec});
    provider_fixture::apply(&provider.namespaced::<ProviderConfig>(namespace), config).await;
    provider.queues(namespace)
}

async fn make(queues: &Queues, name: &str, kind: &str) {
    let rabbitmq: Value = json!({"host": "rabbitmq", "exchange": "asya", "routingKeys": [name],
        "deadLetter": {"enabled": false, "maxReceiveCount": 20}, "queueType": kind});
    let object = json!({
        "metadata": {"name": name},
        "spec": {
            "forProvider": {"rabbitmq": rabbitmq},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "broker"},
        },
    });
    provider_fixture::apply(&queues.0, object).await;
}
