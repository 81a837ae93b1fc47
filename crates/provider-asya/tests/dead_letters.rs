//! Dead letters are counted now and then, on both transports: with whole looks as rare as they are, since
//! these count them too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use rig::moto::{Moto, REGION};
use rig::provider_fixture::{self, ProviderFixture};
use rig::rabbitmq::RabbitMq;
use serde_json::json;

const NAMESPACE: &str = "shop";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_show_in_the_status_of_their_queue() {
    if rig::is_skipped("counts of dead letters") {
        return;
    }
    let timings = Timings {
        poll: Timings::default().poll,
        resync_interval: Timings::default().resync_interval,
        dead_letters: Duration::from_millis(500),
        ..provider_fixture::timings()
    };
    let settings = "collect_statistics_interval = 300\n";
    let (provider, rabbitmq, moto) = tokio::join!(
        ProviderFixture::start(timings),
        RabbitMq::start_with(settings),
        Moto::start()
    );
    provider.make_namespace(NAMESPACE).await;
    let (sqs, _) = moto.clients();
    let of_rabbitmq = json!({"host": "rabbitmq", "queueType": "classic"});
    let of_sqs = json!({"region": REGION});
    let publish = async |letters: String| {
        // The exchange without a name leads to every queue by its name.
        assert!(rabbitmq.publish("amq.default", &letters).await, "{letters}");
    };
    let send = async |letters: String| {
        let found = sqs.get_queue_url().queue_name(&letters).send().await;
        let message = sqs.send_message().set_queue_url(found.unwrap().queue_url);
        message.message_body("{}").send().await.unwrap();
    };
    make_config(
        &provider,
        "rabbitmq",
        provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, None),
    )
    .await;
    make_config(
        &provider,
        "sqs",
        provider_fixture::sqs_connection(&moto.endpoint, None),
    )
    .await;
    counts_follow_the_letters(&provider, "rabbitmq", of_rabbitmq, publish).await;
    counts_follow_the_letters(&provider, "sqs", of_sqs, send).await;
}

async fn make_config(provider: &ProviderFixture, transport: &str, connection: serde_json::Value) {
    let spec = json!({transport: connection, "countersInterval": "100ms"});
    let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
    provider_fixture::apply(
        &configs,
        json!({"metadata": {"name": transport}, "spec": spec}),
    )
    .await;
}

/// With a queue of this transport; `dead_letter` puts a message into the dead-letter queue of that name.
async fn counts_follow_the_letters(
    provider: &ProviderFixture,
    transport: &str,
    mut settings: serde_json::Value,
    dead_letter: impl AsyncFn(String),
) {
    let queues = provider.queues(NAMESPACE);
    settings["deadLetter"] = json!({"enabled": true, "maxReceiveCount": 3});
    let make = async |settings: &serde_json::Value| {
        let object = json!({
            "metadata": {"name": transport, "annotations": {"crossplane.io/poll-interval": "200ms"}},
            "spec": {"forProvider": {transport: settings},
                "providerConfigRef": {"kind": "ProviderConfig", "name": transport}},
        });
        provider_fixture::apply(&queues.0, object).await;
    };
    make(&settings).await;
    queues.until_ready(transport).await;
    for expected in [0, 1, 2] {
        if expected > 0 {
            dead_letter(format!("{transport}-dlq")).await;
        }
        let counts = |queue: &Queue| queue.status.at_provider.dead_lettered == Some(expected);
        let what = format!("counts {expected} dead letters");
        queues.until(transport, &what, counts).await;
    }
    // Nobody asks any more how many there are.
    settings["deadLetter"]["enabled"] = json!(false);
    make(&settings).await;
    let is_silent = |queue: &Queue| {
        let seen = &queue.status.at_provider;
        seen.dead_lettered.is_none() && seen.queued == Some(0)
    };
    queues
        .until(transport, "counts no dead letters", is_silent)
        .await;
}
