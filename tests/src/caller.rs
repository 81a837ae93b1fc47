//! A client that sends messages to actors, and reads their queues.

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use crate::amqp::Link;
use crate::mesh::{EXCHANGE, STEPS, envelope, queue};

/// A connection to the broker of a mesh.
pub enum Caller {
    /// To RabbitMQ, which confirms each message.
    RabbitMq(Link),
    /// To what speaks SQS.
    Sqs(aws_sdk_sqs::Client),
}

impl Caller {
    /// A caller of actors on SQS at this URL.
    pub fn of_sqs(endpoint: &str) -> Self {
        let credentials = Credentials::new("key", "secret", None, None, "tests");
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(endpoint)
            .credentials_provider(credentials)
            .build();
        Self::Sqs(aws_sdk_sqs::Client::from_conf(config))
    }

    /// Sends a message to the first actor, and returns when the broker keeps it.
    ///
    /// # Panics
    /// When it does not.
    pub async fn send(&mut self, id: &str, payload: &Value) {
        let body = envelope(id, payload).to_string();
        match self {
            Self::RabbitMq(link) => {
                let sent = link.publish(EXCHANGE, STEPS[0], body.into_bytes()).await;
                sent.expect("the message is sent");
                link.confirmed().await.expect("the broker keeps it");
            }
            Self::Sqs(client) => {
                let url = url(client, STEPS[0]).await;
                let send = client.send_message().queue_url(url).message_body(body);
                send.send().await.expect("the service keeps the message");
            }
        }
    }

    /// Returns the number of messages that wait for an actor; those that it has received do not count.
    ///
    /// # Panics
    /// If the broker does not answer.
    pub async fn waiting(&self, actor: &str) -> u32 {
        match self {
            Self::RabbitMq(link) => link.waiting(&queue(actor)).await.expect("a count"),
            Self::Sqs(client) => {
                count(
                    client,
                    actor,
                    QueueAttributeName::ApproximateNumberOfMessages,
                )
                .await
            }
        }
    }

    /// Returns the number of messages that an actor has received and not acknowledged; on RabbitMQ only
    /// known once nobody receives any more, when they wait again.
    ///
    /// # Panics
    /// If the broker does not answer.
    pub async fn taken(&self, actor: &str) -> u32 {
        let name = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
        match self {
            Self::RabbitMq(_) => 0,
            Self::Sqs(client) => count(client, actor, name).await,
        }
    }
}

async fn count(client: &aws_sdk_sqs::Client, actor: &str, name: QueueAttributeName) -> u32 {
    let attributes = client.get_queue_attributes();
    let attributes = attributes.queue_url(url(client, actor).await);
    let found = attributes.attribute_names(name.clone()).send().await;
    let found = found.expect("attributes").attributes.unwrap_or_default();
    found[&name].parse().expect("a count")
}

async fn url(client: &aws_sdk_sqs::Client, actor: &str) -> String {
    let found = client.get_queue_url().queue_name(queue(actor)).send().await;
    found.expect("a queue").queue_url.expect("its URL")
}
