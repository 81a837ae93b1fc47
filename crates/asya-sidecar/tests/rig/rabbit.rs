//! A virtual host of a broker, by the broker's management API.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use test_cluster::rabbitmq::RabbitMq;
use tokio::sync::Mutex;

use super::{environment, until};

/// Tests at the same time share a broker; the last of them stops it.
static SHARED: Mutex<Weak<RabbitMq>> = Mutex::const_new(Weak::new());
static VHOSTS: AtomicUsize = AtomicUsize::new(0);

pub const EXCHANGE: &str = "asya-default";

/// A virtual host with an exchange.
pub struct Rabbit {
    pub broker: Arc<RabbitMq>,
    pub vhost: String,
}

impl Rabbit {
    /// A new virtual host on the shared broker, with the queues of the sink and the sump.
    pub async fn start() -> Self {
        let mut shared = SHARED.lock().await;
        let broker = if let Some(broker) = shared.upgrade() {
            broker
        } else {
            let broker = Arc::new(RabbitMq::start().await);
            *shared = Arc::downgrade(&broker);
            broker
        };
        drop(shared);
        Self::on(broker).await
    }

    /// A new virtual host on a broker.
    pub async fn on(broker: Arc<RabbitMq>) -> Self {
        let vhost = format!("test-{}", VHOSTS.fetch_add(1, Ordering::Relaxed));
        let rabbit = Self { broker, vhost };
        let vhost = &rabbit.vhost;
        rabbit.put(&format!("vhosts/{vhost}"), &json!({})).await;
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        rabbit
            .put(&format!("permissions/{vhost}/guest"), &all)
            .await;
        let exchange = json!({"type": "topic", "durable": true});
        rabbit
            .put(&format!("exchanges/{vhost}/{EXCHANGE}"), &exchange)
            .await;
        rabbit.queue("x-sink").await;
        rabbit.queue("x-sump").await;
        rabbit
    }

    async fn put(&self, path: &str, body: &Value) {
        let (status, answer) = self.broker.ask("PUT", path, Some(body)).await;
        assert!(status < 300, "PUT {path}: {status} {answer}");
    }

    /// Makes an actor's queue with its binding.
    pub async fn queue(&self, actor: &str) {
        self.declare(&format!("asya-{actor}"), &json!({"x-queue-type": "quorum"}))
            .await;
        self.bind(actor).await;
    }

    /// Makes a retry queue of an actor.
    pub async fn retry_queue(&self, actor: &str, seconds: u32) {
        let own = format!("asya-{actor}");
        let arguments = json!({"x-queue-type": "quorum", "x-message-ttl": seconds * 1000,
            "x-dead-letter-exchange": "", "x-dead-letter-routing-key": own,
            "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"});
        self.declare(&format!("{own}-retry-{seconds}"), &arguments)
            .await;
    }

    pub async fn declare(&self, queue: &str, arguments: &Value) {
        let queue_body = json!({"durable": true, "arguments": arguments});
        self.put(&format!("queues/{}/{queue}", self.vhost), &queue_body)
            .await;
    }

    pub async fn bind(&self, actor: &str) {
        self.bind_to(&format!("asya-{actor}"), actor).await;
    }

    /// Lets messages with this routing key reach a queue.
    pub async fn bind_to(&self, queue: &str, key: &str) {
        let path = format!("bindings/{}/e/{EXCHANGE}/q/{queue}", self.vhost);
        let key = json!({"routing_key": key});
        let (status, answer) = self.broker.ask("POST", &path, Some(&key)).await;
        assert_eq!(status, 201, "{answer}");
    }

    pub async fn delete_queue(&self, actor: &str) {
        let path = format!("queues/{}/asya-{actor}", self.vhost);
        let (status, answer) = self.broker.ask("DELETE", &path, None).await;
        assert_eq!(status, 204, "{answer}");
    }

    /// Sends an envelope to an actor.
    pub async fn send(&self, actor: &str, envelope: &Value) {
        self.send_text(actor, &envelope.to_string()).await;
    }

    pub async fn send_text(&self, actor: &str, body: &str) {
        let path = format!("exchanges/{}/{EXCHANGE}/publish", self.vhost);
        let message = json!({"properties": {"delivery_mode": 2}, "routing_key": actor,
            "payload": body, "payload_encoding": "string"});
        let (status, answer) = self.broker.ask("POST", &path, Some(&message)).await;
        assert_eq!((status, &answer["routed"]), (200, &json!(true)), "{answer}");
    }

    /// Takes the messages that wait for an actor: their bodies and their AMQP headers.
    pub async fn take_whole(&self, actor: &str) -> Vec<(String, Value)> {
        let path = format!("queues/{}/asya-{actor}/get", self.vhost);
        let all = json!({"count": 10_000, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let (status, answer) = self.broker.ask("POST", &path, Some(&all)).await;
        assert_eq!(status, 200, "{answer}");
        let messages = answer.as_array().expect("a list").iter();
        messages
            .map(|message| {
                let body = message["payload"].as_str().expect("a body").to_owned();
                (body, message["properties"]["headers"].clone())
            })
            .collect()
    }

    /// Takes the envelopes that wait for an actor.
    pub async fn take(&self, actor: &str) -> Vec<Value> {
        let messages = self.take_whole(actor).await.into_iter();
        messages
            .map(|(body, _)| serde_json::from_str(&body).expect("an envelope"))
            .collect()
    }

    /// Waits until this many messages have arrived for an actor, and takes them.
    pub async fn take_when(&self, actor: &str, count: usize) -> Vec<Value> {
        let taken = Mutex::new(Vec::new());
        until(&format!("{count} messages are at {actor}"), || async {
            let mut taken = taken.lock().await;
            taken.extend(self.take(actor).await);
            (taken.len() >= count).then_some(())
        })
        .await;
        taken.into_inner()
    }

    /// Waits until a queue has this many messages, those included that are not acknowledged. The
    /// broker writes its counters every five seconds.
    pub async fn until_count(&self, queue: &str, count: u64) {
        let path = format!("queues/{}/{queue}", self.vhost);
        until(&format!("{queue} has {count} messages"), || async {
            let (_, found) = self.broker.ask("GET", &path, None).await;
            (found["messages"].as_u64()? == count).then_some(())
        })
        .await;
    }

    /// The environment of a sidecar of this actor.
    pub fn environment(&self, actor: &str) -> BTreeMap<String, String> {
        let mut environment = environment(actor);
        let port = self.broker.amqp;
        let vhost = &self.vhost;
        environment.extend(
            [
                ("ASYA_TRANSPORT", "rabbitmq".to_owned()),
                ("ASYA_RABBITMQ_EXCHANGE", EXCHANGE.to_owned()),
                (
                    "ASYA_RABBITMQ_URL",
                    format!("amqp://guest:guest@127.0.0.1:{port}/{vhost}"),
                ),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        environment
    }
}
