//! RabbitMQ over AMQP 0.9.1.
//!
//! Messages are published mandatory and confirmed, on a channel of their own, so that a refused
//! publish does not take the consumer's channel with it. When the connection is lost, every
//! delivery on it is lost too: the broker delivers it again, and nothing that follows from it is
//! published on the next connection.

mod consume;
mod inspect;
mod link;
mod publish;

use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::BasicProperties;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;

use super::{Attributes, Backoff, Delivery, SendError, Settle, Transport};
use crate::config::RabbitMqConfig;
use consume::{Consuming, Unsettled};
pub use inspect::CheckError;
use link::Link;

/// Half-open connections are noticed after twice this long.
const HEARTBEAT_SECONDS: u16 = 10;

/// Largest AMQP frame, in bytes, unless the URL has `frame_max`. Larger messages are sent in several frames. The
/// client has buffers of 64 frames, which with the broker's 128 KiB would take 8 MiB.
const FRAME_MAX: u32 = 16 << 10;

/// Interval between checks for a missing queue.
const QUEUE_PAUSE: Duration = Duration::from_secs(1);

/// Pause before a rejected message goes back to its queue, where there is no dead-letter queue.
const REJECTED_PAUSE: Duration = Duration::from_secs(5);

/// Between two attempts to connect: at most this long, so that the sidecar is back soon after a broker.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A broker, from the place of one actor.
pub struct RabbitMq {
    uri: AMQPUri,
    tls: OwnedTLSConfig,
    exchange: String,
    queue: String,
    prefetch: u16,
    /// Delays of the retry queues in seconds, ascending.
    retry_delays: Vec<u32>,
    link: Mutex<Option<Arc<Link>>>,
    consuming: tokio::sync::Mutex<Option<Consuming>>,
    is_consuming: AtomicBool,
    connects: AtomicU64,
}

impl RabbitMq {
    /// A connection that is made when it is first needed.
    ///
    /// # Errors
    /// When the URL or the certificates cannot be read.
    pub fn new(config: &RabbitMqConfig, queue: &str, prefetch: u16) -> Result<Self, String> {
        let uri = AMQPUri::from_str(&config.url);
        let mut uri = uri.map_err(|_| {
            "amqp[s]://<user>:<password>@<host>:<port>/<vhost>, percent-encoded".to_owned()
        })?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT_SECONDS);
        uri.query.frame_max.get_or_insert(FRAME_MAX);
        let cert_chain =
            match &config.ca_file {
                None => None,
                Some(file) => Some(std::fs::read_to_string(file).map_err(|error| {
                    format!("certificates in PEM at {}: {error}", file.display())
                })?),
            };
        Ok(Self {
            uri,
            tls: OwnedTLSConfig {
                identity: None,
                cert_chain,
            },
            exchange: config.exchange.clone(),
            queue: queue.to_owned(),
            prefetch,
            retry_delays: config.retry_delays.clone(),
            link: Mutex::new(None),
            consuming: tokio::sync::Mutex::new(None),
            is_consuming: AtomicBool::new(false),
            connects: AtomicU64::new(0),
        })
    }

    /// The connection that there is.
    fn current(&self) -> Option<Arc<Link>> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.as_ref().filter(|link| link.is_open()).cloned()
    }

    /// Gives up a connection on which the broker does not answer.
    fn abandon(&self, link: &Arc<Link>) {
        let mut place = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if place
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, link))
        {
            *place = None;
        }
        let link = Arc::clone(link);
        tokio::spawn(async move { link.close().await });
    }

    /// Makes a new connection the current one.
    fn keep(&self, link: &Arc<Link>) {
        let mut place = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::clone(link));
        self.connects.fetch_add(1, Ordering::Relaxed);
    }

    /// The connection that there is, or a new one.
    async fn connected(&self) -> Arc<Link> {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut is_reported = false;
        loop {
            if let Some(link) = self.current() {
                return link;
            }
            match Link::open(&self.uri, &self.tls, &self.queue).await {
                Ok(link) => {
                    let link = Arc::new(link);
                    self.keep(&link);
                    tracing::info!(host = self.uri.authority.host, "connected to RabbitMQ");
                    return link;
                }
                Err(error) => {
                    let pause = backoff.pause();
                    if !is_reported {
                        let host = &self.uri.authority.host;
                        tracing::warn!(host, %error, "cannot connect to RabbitMQ: trying again");
                        is_reported = true;
                    }
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

#[async_trait]
impl Transport for RabbitMq {
    async fn receive(&self) -> Delivery {
        self.next_delivery().await
    }

    async fn pause(&self) {
        self.stop_consuming().await;
    }

    async fn send(
        &self,
        actor: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError> {
        let properties = publish::properties(attributes);
        let published = self.publish(&self.exchange, actor, &body, properties);
        published.await.map_err(|error| match error {
            SendError::Unroutable(_) => SendError::Unroutable(actor.to_owned()),
            other => other,
        })
    }

    async fn send_later(&self, body: Bytes, delay: Duration) -> Result<(), SendError> {
        self.publish_later(&body, delay).await
    }

    async fn close(&self) {
        self.stop_consuming().await;
        *self.consuming.lock().await = None;
        let link = self
            .link
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(link) = link {
            link.close().await;
        }
    }

    fn is_ready(&self) -> bool {
        self.is_consuming.load(Ordering::Relaxed) && self.current().is_some()
    }

    fn reconnects(&self) -> u64 {
        self.connects.load(Ordering::Relaxed).saturating_sub(1)
    }
}

/// A delivery of the consumer's channel.
struct Unacknowledged {
    acker: lapin::Acker,
    channel: lapin::Channel,
    /// None where messages are not rejected.
    dead: Option<DeadLetter>,
    _unsettled: Unsettled,
}

/// A message on its way to the dead-letter queue. It is published and confirmed there before it is
/// acknowledged: the broker's own dead-lettering has no confirm, and drops a message whose queue has no
/// dead-letter exchange.
struct DeadLetter {
    link: Arc<Link>,
    queue: String,
    body: Bytes,
    properties: BasicProperties,
}

#[async_trait]
impl Settle for Unacknowledged {
    async fn acknowledge(&self) -> bool {
        let acknowledged = self.acker.ack(BasicAckOptions::default()).await;
        matches!(acknowledged, Ok(true))
    }

    async fn give_back(&self) {
        self.settle_negatively(true).await;
    }

    async fn reject(&self) {
        let Some(dead) = &self.dead else {
            return self.settle_negatively(false).await;
        };
        let properties = dead.properties.clone();
        let published = dead
            .link
            .publish_to_queue(&dead.queue, &dead.body, properties);
        if let Err(error) = published.await {
            let queue = &dead.queue;
            tracing::warn!(queue, %error, "rejected message goes back to its queue");
            tokio::time::sleep(REJECTED_PAUSE).await;
            return self.settle_negatively(true).await;
        }
        if !self.acknowledge().await {
            tracing::debug!("dead letter not acknowledged: it is delivered again");
        }
    }

    fn is_lost(&self) -> bool {
        self.acker.poisoned() || !self.channel.status().connected()
    }
}

impl Unacknowledged {
    async fn settle_negatively(&self, requeue: bool) {
        let options = BasicNackOptions {
            multiple: false,
            requeue,
        };
        if let Err(error) = self.acker.nack(options).await {
            // The broker delivers it again by itself.
            tracing::debug!(%error, "message not given back");
        }
    }
}
