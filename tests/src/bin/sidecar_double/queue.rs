//! The actor's own queue, and those of others by their actors' names.

use anyhow::{Context as _, Result};
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use serde_json::Value;
use tests::amqp::{Deliveries, Link};

use crate::settings::{Settings, Transport};

/// One message of the actor's queue.
pub(crate) struct Message {
    handle: Handle,
    pub(crate) body: Vec<u8>,
}

/// By which a message is acknowledged.
enum Handle {
    Tag(u64),
    Receipt(String),
}

/// A connection to the broker.
pub(crate) enum Queue {
    RabbitMq(RabbitMq),
    Sqs(Sqs),
}

pub(crate) struct RabbitMq {
    // None once it is closed.
    link: Option<Link>,
    deliveries: Deliveries,
    exchange: String,
}

pub(crate) struct Sqs {
    client: aws_sdk_sqs::Client,
    url: String,
    visibility_seconds: i32,
    wait_seconds: i32,
}

impl Queue {
    /// Connects and starts to receive.
    pub(crate) async fn open(settings: &Settings) -> Result<Self> {
        let own = name(&settings.actor);
        match &settings.transport {
            Transport::RabbitMq {
                login,
                exchange,
                confirms,
            } => {
                let link = Link::open(login, *confirms).await?;
                link.declare_exchange(exchange).await?;
                let deliveries = link.consume(&own, 1).await?;
                Ok(Self::RabbitMq(RabbitMq {
                    link: Some(link),
                    deliveries,
                    exchange: exchange.clone(),
                }))
            }
            Transport::Sqs {
                region,
                endpoint,
                visibility,
                wait,
            } => {
                let mut config = aws_sdk_sqs::Config::builder()
                    .behavior_version(BehaviorVersion::latest())
                    .region(Region::new(region.clone()))
                    .credentials_provider(credentials()?);
                if let Some(endpoint) = endpoint {
                    config = config.endpoint_url(endpoint);
                }
                let client = aws_sdk_sqs::Client::from_conf(config.build());
                let url = queue_url(&client, &own).await?;
                Ok(Self::Sqs(Sqs {
                    client,
                    url,
                    visibility_seconds: i32::try_from(visibility.as_secs())?,
                    wait_seconds: i32::try_from(wait.as_secs())?,
                }))
            }
        }
    }

    /// The next message, as soon as there is one.
    pub(crate) async fn next(&mut self) -> Result<Message> {
        match self {
            Self::RabbitMq(queue) => {
                let delivery = queue.deliveries.next().await?;
                Ok(Message {
                    handle: Handle::Tag(delivery.tag),
                    body: delivery.body,
                })
            }
            Self::Sqs(queue) => queue.next().await,
        }
    }

    /// Sends an envelope to an actor.
    pub(crate) async fn send(&mut self, actor: &str, envelope: &Value) -> Result<()> {
        let body = envelope.to_string();
        match self {
            Self::RabbitMq(queue) => {
                let link = queue.link.as_mut().context("the connection is closed")?;
                link.publish(&queue.exchange, actor, body.into_bytes())
                    .await?;
                link.confirmed().await
            }
            Self::Sqs(queue) => {
                let url = queue_url(&queue.client, &name(actor)).await?;
                let send = queue.client.send_message().queue_url(url);
                send.message_body(body).send().await?;
                Ok(())
            }
        }
    }

    /// Takes a message off the queue.
    pub(crate) async fn acknowledge(&mut self, message: &Message) -> Result<()> {
        match (self, &message.handle) {
            (Self::RabbitMq(queue), Handle::Tag(tag)) => queue.link()?.acknowledge(*tag).await,
            (Self::Sqs(queue), Handle::Receipt(receipt)) => {
                let delete = queue.client.delete_message().queue_url(&queue.url);
                delete.receipt_handle(receipt).send().await?;
                Ok(())
            }
            _ => unreachable!("a message is acknowledged where it came from"),
        }
    }

    /// Gives a message back, so that it is delivered again at once.
    pub(crate) async fn give_back(&mut self, message: &Message) -> Result<()> {
        match (self, &message.handle) {
            (Self::RabbitMq(queue), Handle::Tag(tag)) => queue.link()?.give_back(*tag).await,
            (Self::Sqs(queue), Handle::Receipt(receipt)) => {
                let change = queue.client.change_message_visibility();
                let change = change.queue_url(&queue.url).receipt_handle(receipt);
                change.visibility_timeout(0).send().await?;
                Ok(())
            }
            _ => unreachable!("a message is given back where it came from"),
        }
    }

    /// Ends the connection when all that was sent is on its way.
    pub(crate) async fn close(&mut self) -> Result<()> {
        match self {
            Self::RabbitMq(queue) => match queue.link.take() {
                Some(link) => link.close().await,
                None => Ok(()),
            },
            Self::Sqs(_) => Ok(()),
        }
    }
}

impl RabbitMq {
    fn link(&self) -> Result<&Link> {
        self.link.as_ref().context("the connection is closed")
    }
}

impl Sqs {
    async fn next(&self) -> Result<Message> {
        loop {
            let receive = self.client.receive_message().queue_url(&self.url);
            let received = receive
                .max_number_of_messages(1)
                .visibility_timeout(self.visibility_seconds)
                .wait_time_seconds(self.wait_seconds)
                .send()
                .await?;
            if let Some(message) = received.messages.unwrap_or_default().pop() {
                let receipt = message.receipt_handle.context("a message has a receipt")?;
                return Ok(Message {
                    handle: Handle::Receipt(receipt),
                    body: message.body.unwrap_or_default().into_bytes(),
                });
            }
        }
    }
}

/// As the default `queueNameTemplate` has it, which sidecars compute for themselves.
fn name(actor: &str) -> String {
    format!("asya-{actor}")
}

async fn queue_url(client: &aws_sdk_sqs::Client, name: &str) -> Result<String> {
    let found = client.get_queue_url().queue_name(name).send().await;
    let found = found.with_context(|| format!("queue {name:?}"))?;
    found.queue_url.context("a queue has a URL")
}

/// Those of the container's Secret.
fn credentials() -> Result<aws_sdk_sqs::config::Credentials> {
    let read = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
    Ok(aws_sdk_sqs::config::Credentials::new(
        read("AWS_ACCESS_KEY_ID")?,
        read("AWS_SECRET_ACCESS_KEY")?,
        None,
        None,
        "environment",
    ))
}
