//! Counts of dead letters, on both transports. Full observations are as rare as by default, since these
//! count them too.

use crate::rig::Shared;
use std::time::Duration;

use crate::rig::moto::{Moto, REGION};
use crate::rig::provider_fixture::{self, ProviderFixture};
use crate::rig::rabbitmq::RabbitMq;
use provider_asya::kinds::{ProviderConfig, Queue};
use provider_asya::timings::Timings;
use serde_json::json;

const NAMESPACE: &str = "shop";

static FIXTURE: Shared<Fixture> =
    Shared::new("counts of dead letters", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn start() -> Self {
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
        let connections = [
            (
                "rabbitmq",
                provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, None),
            ),
            (
                "sqs",
                provider_fixture::sqs_connection(&moto.endpoint, None),
            ),
        ];
        for (transport, connection) in connections {
            make_config(&provider, transport, connection).await;
        }
        Self {
            provider,
            rabbitmq,
            moto,
        }
    }
}

#[test]
fn dead_letters_of_rabbitmq_are_counted_in_the_status() {
    FIXTURE.run(async |fixture| {
        let settings = json!({"host": "rabbitmq", "queueType": "classic"});
        let publish = async |letters: String| {
            // The exchange without a name leads to every queue by its name.
            let is_routed = fixture.rabbitmq.publish("amq.default", &letters).await;
            assert!(is_routed, "{letters}");
        };
        counts_follow_the_letters(&fixture.provider, "rabbitmq", settings, publish).await;
    });
}

#[test]
fn dead_letters_of_sqs_are_counted_in_the_status() {
    FIXTURE.run(async |fixture| {
        let (sqs, _) = fixture.moto.clients();
        let send = async |letters: String| {
            let found = sqs.get_queue_url().queue_name(&letters).send().await;
            let message = sqs.send_message().set_queue_url(found.unwrap().queue_url);
            message.message_body("{}").send().await.unwrap();
        };
        counts_follow_the_letters(&fixture.provider, "sqs", json!({"region": REGION}), send).await;
    });
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
