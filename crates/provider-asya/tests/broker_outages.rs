//! A broker that ends, is full, or is given another password, while the provider works on it: no
//! message is lost, and all is as users want it once the broker is back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Instant;

use actor::managed::SYNCED;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use provider_asya::transport::rabbitmq::api::Answer;
use rig::provider_fixture::{self, LOGIN, ProviderFixture, Queues};
use rig::rabbitmq::{RabbitMq, login};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outages_of_a_broker_are_outlived() {
    if rig::is_skipped("outages of RabbitMQ") {
        return;
    }
    let provider = ProviderFixture::start(provider_fixture::timings()).await;
    tokio::join!(
        a_broker_ends_and_comes_back(&provider),
        a_broker_whose_disk_is_full_has_its_queues(&provider),
        a_password_is_changed_at_the_broker_first(&provider),
    );
}

/// One queue is kept, one is changed, one goes, and one comes while nobody answers.
async fn a_broker_ends_and_comes_back(provider: &ProviderFixture) {
    let mut broker = RabbitMq::start().await;
    let queues = set(provider, "ended", &broker).await;
    for (name, kind) in [
        ("kept", "quorum"),
        ("changed", "classic"),
        ("going", "classic"),
    ] {
        make(&queues, name, kind).await;
        queues.until_ready(name).await;
        assert!(broker.publish("asya", name).await);
    }
    broker.stop().await;
    for name in ["kept", "changed", "going"] {
        queues
            .until_says(name, SYNCED, "False", "cannot reach")
            .await;
    }
    let letters = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
    queues.change("changed", letters).await;
    queues.delete("going").await;
    make(&queues, "coming", "quorum").await;
    queues
        .until_says("coming", SYNCED, "False", "cannot reach")
        .await;
    broker.restart().await;
    let start = Instant::now();
    for name in ["kept", "changed", "coming"] {
        queues.until_ready(name).await;
    }
    queues.until_gone("going").await;
    rig::until("the change is made", || async {
        let has = broker.has(&["queues", "/", "changed-dlq"]).await;
        has.then_some(())
    })
    .await;
    println!(
        "{:6.1} s until all is well after the broker is back",
        start.elapsed().as_secs_f64()
    );
    assert!(!broker.has(&["queues", "/", "going"]).await);
    for name in ["kept", "changed"] {
        // Counted, not taken: who takes may have to wait until the queue has its leader again.
        rig::until("the message is there", || async {
            let queue = broker.read(&["queues", "/", name]).await;
            (queue["messages_ready"] == 1).then_some(())
        })
        .await;
    }
}

/// An alarm stops who publishes, and nobody else.
async fn a_broker_whose_disk_is_full_has_its_queues(provider: &ProviderFixture) {
    let broker = RabbitMq::start_with("disk_free_limit.absolute = 900000GB\n").await;
    rig::until("the broker says that its disk is full", || async {
        let nodes = broker.read(&["nodes"]).await;
        (nodes[0]["disk_free_alarm"] == true).then_some(())
    })
    .await;
    let queues = set(provider, "full", &broker).await;
    make(&queues, "made", "classic").await;
    queues.until_ready("made").await;
    let letters = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
    queues.change("made", letters).await;
    rig::until("the change is made", || async {
        broker.has(&["queues", "/", "made-dlq"]).await.then_some(())
    })
    .await;
    queues.until_ready("made").await;
    queues.delete("made").await;
    queues.until_gone("made").await;
    assert!(!broker.has(&["queues", "/", "made"]).await);
}

/// The order in which it goes wrong: the broker knows the new password, the Secret has the old one.
async fn a_password_is_changed_at_the_broker_first(provider: &ProviderFixture) {
    let broker = RabbitMq::start().await;
    let queues = set(provider, "rotated", &broker).await;
    make(&queues, "kept", "classic").await;
    queues.until_ready("kept").await;
    assert!(broker.publish("asya", "kept").await);
    let user = json!({"password": "another", "tags": "administrator"});
    broker.api.put(&["users", "guest"], &user).await.unwrap();
    queues
        .until_says("kept", SYNCED, "False", "HTTP status 401")
        .await;
    make(&queues, "coming", "classic").await;
    queues
        .until_says("coming", SYNCED, "False", "HTTP status 401")
        .await;

    let secrets = provider.namespaced::<Secret>("rotated");
    let data = Patch::Merge(json!({"stringData": {"password": "another"}}));
    let changed = secrets.patch(LOGIN, &PatchParams::default(), &data).await;
    changed.unwrap();
    let start = Instant::now();
    for name in ["kept", "coming"] {
        queues.until_ready(name).await;
    }
    println!(
        "{:6.1} s until all is well after the Secret is changed",
        start.elapsed().as_secs_f64()
    );
    let get = json!({"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto"});
    let api = login(&broker.endpoint, "guest", "another");
    let messages = api.post(&["queues", "/", "kept", "get"], &get).await;
    let Ok(Answer::Ok(messages)) = messages else {
        panic!("{messages:?}");
    };
    assert_eq!(messages.as_array().map(Vec::len), Some(1), "it is there");
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
