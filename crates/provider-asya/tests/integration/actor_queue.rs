//! The queue of an actor, from the object that the functions render to a message in it, on both transports.

use crate::rig::Shared;
use crate::rig::moto::Moto;
use crate::rig::platform::{make_platform, rendered};
use crate::rig::provider_fixture::{self, ProviderFixture};
use crate::rig::rabbitmq::RabbitMq;
use kube::ResourceExt as _;
use provider_asya::kinds::Queue;
use serde_json::{Value, json};

static FIXTURE: Shared<Fixture> =
    Shared::new("queues of rendered actors", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
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
        make_platform(&provider, &rabbitmq, &moto, &json!({})).await;
        Self {
            provider,
            rabbitmq,
            moto,
        }
    }
}

/// Applies the object in its namespace, and waits until its queue is ready.
async fn make(provider: &ProviderFixture, queue: &Value) -> (provider_fixture::Queues, Queue) {
    let namespace = queue["metadata"]["namespace"].as_str().unwrap();
    provider.make_namespace(namespace).await;
    let queues = provider.queues(namespace);
    provider_fixture::apply(&queues.0, queue.clone()).await;
    let name = queue["metadata"]["name"].as_str().unwrap();
    let ready = queues.until_ready(name).await;
    (queues, ready)
}

fn actor_of(queue: &Queue) -> &str {
    &queue.labels()[actor::labels::ACTOR]
}

async fn until_queued(queues: &provider_fixture::Queues, name: &str, count: u64) {
    let what = format!("counts {count} messages");
    queues
        .until(name, &what, |queue| {
            queue.status.at_provider.queued == Some(count)
        })
        .await;
}

#[test]
fn a_message_published_under_the_actor_s_name_arrives_in_its_rabbitmq_queue() {
    FIXTURE.run(async |fixture| {
        let Fixture {
            provider, rabbitmq, ..
        } = fixture;
        let (queues, queue) = make(provider, &rendered("order-router")).await;
        let settings = queue.spec.for_provider.rabbitmq.as_ref().unwrap();
        let (vhost, exchange) = (settings.vhost.as_str(), settings.exchange.as_str());
        // A sidecar declares the exchange too, and the broker refuses it where that differs.
        let found = rabbitmq.read(&["exchanges", vhost, exchange]).await;
        assert_eq!(
            (&found["type"], &found["durable"], &found["auto_delete"]),
            (&json!("topic"), &json!(true), &json!(false))
        );
        assert_eq!(
            queue.status.at_provider.name.as_deref(),
            Some("asya-order-router")
        );
        let body = r#"{"order": 7}"#;
        assert!(
            rabbitmq
                .publish_to(vhost, exchange, actor_of(&queue), body)
                .await,
            "the message is routed to a queue"
        );
        until_queued(&queues, "order-router", 1).await;
        assert_eq!(rabbitmq.take(vhost, "asya-order-router").await, [body]);
        until_queued(&queues, "order-router", 0).await;
    });
}

#[test]
fn a_message_sent_to_the_queue_s_name_arrives_in_its_sqs_queue() {
    FIXTURE.run(async |fixture| {
        let Fixture { provider, moto, .. } = fixture;
        let (queues, queue) = make(provider, &rendered("text-processor")).await;
        let (sqs, _) = moto.clients();
        let name = format!("asya-{}", actor_of(&queue));
        let found = sqs.get_queue_url().queue_name(name).send().await.unwrap();
        let url = found.queue_url.unwrap();
        assert_eq!(queue.status.at_provider.url.as_deref(), Some(url.as_str()));
        let body = r#"{"text": "hello"}"#;
        let send = sqs.send_message().queue_url(&url).message_body(body);
        send.send().await.unwrap();
        until_queued(&queues, "text-processor", 1).await;
        let received = sqs.receive_message().queue_url(&url).send().await.unwrap();
        let messages = received.messages.unwrap();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].body.as_deref(), Some(body));
        let receipt = messages[0].receipt_handle.as_deref().unwrap();
        let delete = sqs.delete_message().queue_url(&url).receipt_handle(receipt);
        delete.send().await.unwrap();
        until_queued(&queues, "text-processor", 0).await;
    });
}
