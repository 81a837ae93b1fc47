//! Adoption of foreign queues with messages in them: the migration from the Asya operator and from the
//! charts with claims, as `docs/setup/migration.md` describes it.

use crate::rig::Shared;
use std::collections::HashMap;

use crate::rig::moto::Moto;
use crate::rig::platform::{make_platform, rendered};
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::SYNCED;
use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::types::QueueAttributeName;
use provider_asya::kinds::Queue;
use serde_json::{Value, json};

static FIXTURE: Shared<Fixture> = Shared::new("migration of queues", || Box::pin(Fixture::start()));

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
        make_platform(&provider, &rabbitmq, &moto, &json!({"allowAdopt": true})).await;
        Self {
            provider,
            rabbitmq,
            moto,
        }
    }
}

/// Applies a Queue without asking for adoption, waits until that is refused, and then asks.
async fn adopt(provider: &ProviderFixture, object: &Value) -> (Queues, Queue) {
    let namespace = object["metadata"]["namespace"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    provider.make_namespace(namespace).await;
    let queues = provider.queues(namespace);
    provider_fixture::apply(&queues.0, object.clone()).await;
    let text = "has no owner tag";
    queues.until_condition(name, SYNCED, "False", text).await;
    // An actor's `spec.queue.adopt`.
    let asks = json!({"spec": {"forProvider": {"adopt": true}}});
    queues.change(name, asks).await;
    let queue = queues.until_ready(name).await;
    (queues, queue)
}

async fn until_queued(queues: &Queues, name: &str, count: u64) {
    let what = format!("counts {count} messages");
    let counts = |queue: &Queue| queue.status.at_provider.queued == Some(count);
    queues.until(name, &what, counts).await;
}

/// Classic, durable, bound by its own name, with arguments that lead to a dead-letter queue.
#[test]
fn a_rabbitmq_queue_of_the_asya_operator_is_adopted_with_its_messages() {
    FIXTURE.run(async |fixture| {
        let Fixture {
            provider, rabbitmq, ..
        } = fixture;
        let (name, letters) = ("asya-order-router", "asya-order-router-dlq");
        let api = &rabbitmq.api;
        let exchange = json!({"type": "topic", "durable": true});
        let made = api.put(&["exchanges", "/", "asya"], &exchange).await;
        made.unwrap();
        let to_letters =
            json!({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": letters});
        for (queue, arguments) in [(letters, json!({})), (name, to_letters)] {
            let classic = json!({"durable": true, "auto_delete": false, "arguments": arguments});
            api.put(&["queues", "/", queue], &classic).await.unwrap();
        }
        let binding = json!({"routing_key": name, "arguments": {}});
        let path = ["bindings", "/", "e", "asya", "q", name];
        api.post(&path, &binding).await.unwrap();
        let publish = async |key: &str, body: &str| {
            let routed = rabbitmq.publish_to("/", "asya", key, body).await;
            assert!(routed, "{body} is routed to a queue");
        };
        for body in ["1", "2"] {
            publish(name, body).await;
        }

        let mut object = rendered("order-router");
        // Its dead-letter queue is nobody's either, and is left alone by an actor without one.
        object["spec"]["forProvider"]["rabbitmq"]["deadLetter"]["enabled"] = json!(false);
        let (queues, queue) = adopt(provider, &object).await;
        until_queued(&queues, "order-router", 2).await;
        let found = rabbitmq.read(&["queues", "/", name]).await;
        assert_eq!(found["type"], "classic");
        assert_eq!(found["arguments"]["x-dead-letter-routing-key"], letters);
        let drifted = queue.status.conditions.iter();
        let drifted: Vec<&str> = drifted
            .filter(|condition| condition.type_ == "Drifted" && condition.status == "True")
            .filter_map(|condition| condition.message.as_deref())
            .collect();
        assert!(
            matches!(drifted.as_slice(), [message] if message.contains("queueType")),
            "the other queue type is reported: {drifted:?}"
        );
        // It is bound once more, by the same key: a message still comes once, and by the actor's name.
        publish(name, "3").await;
        publish("order-router", "4").await;
        until_queued(&queues, "order-router", 4).await;
        let on = json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": true}}}}});
        queues.change("order-router", on).await;
        let text = "\"asya-order-router-dlq\" belongs to \"nobody\"";
        queues
            .until_condition("order-router", SYNCED, "False", text)
            .await;
        let off =
            json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"enabled": false}}}}});
        queues.change("order-router", off).await;
        queues.until_ready("order-router").await;

        // The way back: the queue stays, and is found again by its mark, without being asked for.
        let orphan = ["Observe", "Create", "Update", "LateInitialize"];
        object["spec"]["managementPolicies"] = json!(orphan);
        let keep = json!({"spec": {"managementPolicies": orphan}});
        queues.change("order-router", keep).await;
        queues.delete("order-router").await;
        queues.until_deleted("order-router").await;
        provider_fixture::apply(&queues.0, object).await;
        queues.until_ready("order-router").await;
        assert_eq!(rabbitmq.take("/", name).await, ["1", "2", "3", "4"]);
    });
}

/// Named after namespace and actor, with tags and a dead-letter queue for the whole namespace.
#[test]
fn an_sqs_queue_of_a_claim_is_adopted_with_its_messages() {
    FIXTURE.run(async |fixture| {
        let (provider, (sqs, _)) = (&fixture.provider, fixture.moto.clients());
        let dead_letters = "arn:aws:sqs:us-east-1:123456789012:asya-default-dlq";
        let shared = sqs.create_queue().queue_name("asya-default-dlq").send();
        shared.await.unwrap();
        let redrive =
            json!({"deadLetterTargetArn": dead_letters, "maxReceiveCount": 3}).to_string();
        let made = sqs
            .create_queue()
            .queue_name("asya-default-text-processor")
            .attributes(QueueAttributeName::VisibilityTimeout, "30")
            .attributes(QueueAttributeName::MessageRetentionPeriod, "1209600")
            .attributes(QueueAttributeName::RedrivePolicy, redrive)
            .tags("asya.sh/actor", "text-processor")
            .send();
        let url = made.await.unwrap().queue_url.unwrap();
        for body in ["1", "2"] {
            let send = sqs.send_message().queue_url(&url).message_body(body);
            send.send().await.unwrap();
        }

        let mut object = rendered("text-processor");
        let annotations = &mut object["metadata"]["annotations"];
        annotations["crossplane.io/external-name"] = json!("asya-default-text-processor");
        let (queues, queue) = adopt(provider, &object).await;
        assert_eq!(queue.status.at_provider.url.as_deref(), Some(url.as_str()));
        until_queued(&queues, "text-processor", 2).await;
        let attributes = attributes(&sqs, &url).await;
        let of = |name: QueueAttributeName| attributes.get(&name).map_or("", String::as_str);
        assert_eq!(
            of(QueueAttributeName::VisibilityTimeout),
            "240",
            "twice the actor's timeout"
        );
        assert_eq!(
            of(QueueAttributeName::MessageRetentionPeriod),
            "1209600",
            "retention is never lowered"
        );
        assert_eq!(
            of(QueueAttributeName::RedrivePolicy),
            "",
            "dead-lettering is set by the platform, which has it off here"
        );
        let tags = sqs.list_queue_tags().queue_url(&url).send().await.unwrap();
        let tags = tags.tags.unwrap();
        assert_eq!(
            tags["asya.sh/actor"], "text-processor",
            "tags of others stay"
        );
        assert!(tags["asya-owner"].ends_with("/default/text-processor"));
        let mut bodies = Vec::new();
        while bodies.len() < 2 {
            let received = sqs.receive_message().queue_url(&url).send().await.unwrap();
            let messages = received.messages.unwrap_or_default();
            bodies.extend(messages.into_iter().filter_map(|message| message.body));
        }
        bodies.sort();
        assert_eq!(bodies, ["1", "2"]);
    });
}

async fn attributes(sqs: &Sqs, url: &str) -> HashMap<QueueAttributeName, String> {
    let ask = sqs.get_queue_attributes().queue_url(url);
    let ask = ask.attribute_names(QueueAttributeName::All);
    ask.send().await.unwrap().attributes.unwrap()
}
