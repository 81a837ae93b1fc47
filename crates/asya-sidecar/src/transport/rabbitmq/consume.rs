//! Receiving messages.
//!
//! A broker does not always report that a consumer is no more. After a queue was deleted and made anew
//! at once, and after a restart before the queue has a leader, no message comes and no error either
//! (observed on RabbitMQ 3.10.8). So every answer has a time limit, and a consumer to which nothing
//! comes is looked after. A queue that was made anew may even give a message to a consumer that no
//! longer is, so a quiet consumer is renewed now and then: the end of its channel returns the message.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use lapin::options::{
    BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer};
use tokio::time::Instant;

use super::link::{Link, SUCCESS};
use super::{DeadLetter, QUEUE_PAUSE, RabbitMq, Unacknowledged};
use crate::transport::Delivery;

/// Timeout of a broker's answer on an established connection.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Time without deliveries after which the consumer is checked.
const IDLE: Duration = Duration::from_secs(3);

/// Time without deliveries after which the consumer is renewed.
const QUIET: Duration = Duration::from_secs(30);

/// Time in which a waiting message must be delivered to an idle consumer.
const DELIVERY: Duration = Duration::from_millis(500);

/// The channel on which messages are received. It lives on while nothing is received, because messages are
/// acknowledged on it.
pub(super) struct Consuming {
    link: Arc<Link>,
    channel: Channel,
    consumer: Option<Consumer>,
    /// Channel that checks for the queue. The answer that it is missing ends the channel.
    probe: Channel,
    /// Deliveries that are not settled.
    unsettled: Arc<AtomicUsize>,
}

/// Counts a delivery for as long as it lives.
pub(super) struct Unsettled(Arc<AtomicUsize>);

impl Unsettled {
    pub(super) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RabbitMq {
    pub(super) async fn next_delivery(&self) -> Delivery {
        let mut is_reported = false;
        // Held all the time: when this future is dropped while a consumer is being made, its channel goes
        // with it, and what the broker has sent on it goes back.
        let mut place = self.consuming.lock().await;
        loop {
            if let Some(consuming) = &mut *place {
                match self.next_of(consuming).await {
                    Ok(delivery) => return delivery,
                    Err(Some(error)) => {
                        tracing::warn!(queue = self.queue, error, "consumer lost");
                        self.is_consuming.store(false, Ordering::Relaxed);
                    }
                    // It was stopped, or is to be renewed.
                    Err(None) => {}
                }
            }
            let kept = place.take();
            let link = self.connected().await;
            let consuming = tokio::time::timeout(ANSWER_TIMEOUT, self.consume(&link, kept));
            let consuming = if let Ok(consuming) = consuming.await {
                consuming.map_err(|error| error.to_string())
            } else {
                self.abandon(&link);
                Err(format!("no answer within {ANSWER_TIMEOUT:?}"))
            };
            match consuming {
                Ok(consuming) => {
                    *place = Some(consuming);
                    if !self.is_consuming.swap(true, Ordering::Relaxed) {
                        tracing::info!(queue = self.queue, "receiving messages");
                    }
                    is_reported = false;
                }
                Err(error) => {
                    if !is_reported {
                        let queue = &self.queue;
                        tracing::warn!(queue, error, "cannot receive messages: trying again");
                        is_reported = true;
                    }
                    tokio::time::sleep(QUEUE_PAUSE).await;
                }
            }
        }
    }

    /// The next message of a consumer, or why there is none; no reason where nothing is wrong, and the
    /// consumer is to be made anew.
    async fn next_of(&self, consuming: &mut Consuming) -> Result<Delivery, Option<String>> {
        let mut idle = IDLE;
        let start = Instant::now();
        loop {
            let consumer = consuming.consumer.as_mut().ok_or(None)?;
            match tokio::time::timeout(idle, consumer.next()).await {
                Ok(Some(Ok(delivery))) => {
                    let body = Bytes::from(delivery.data);
                    let settle = Box::new(Unacknowledged {
                        acker: delivery.acker,
                        channel: consuming.channel.clone(),
                        dead: Some(DeadLetter {
                            link: Arc::clone(&consuming.link),
                            queue: format!("{}-dlq", self.queue),
                            body: body.clone(),
                            properties: delivery.properties,
                        }),
                        _unsettled: Unsettled::new(&consuming.unsettled),
                    });
                    return Ok(Delivery { body, settle });
                }
                Ok(Some(Err(error))) => return Err(Some(error.to_string())),
                // The broker ends a consumer whose queue is deleted.
                Ok(None) => return Err(Some("cancelled by the broker".to_owned())),
                // A broker that blocks publishers reads nothing from this connection.
                Err(_) if consuming.link.is_blocked() => {}
                Err(_) => {
                    let inspection =
                        tokio::time::timeout(ANSWER_TIMEOUT, self.inspect(&consuming.probe));
                    let (messages, consumers) = match inspection.await {
                        Ok(Ok(found)) => found,
                        Ok(Err(error)) => return Err(Some(error.to_string())),
                        Err(_) if consuming.link.is_blocked() => continue,
                        Err(_) => {
                            if let Some(link) = self.current() {
                                self.abandon(&link);
                            }
                            return Err(Some(format!("no answer within {ANSWER_TIMEOUT:?}")));
                        }
                    };
                    if consumers == 0 {
                        return Err(Some("the queue has no consumers".to_owned()));
                    }
                    let is_free = consuming.unsettled.load(Ordering::Relaxed) == 0;
                    if is_free && start.elapsed() >= QUIET {
                        return Err(None);
                    }
                    if messages > 0 && is_free && idle == DELIVERY {
                        return Err(Some("messages wait and are not delivered".to_owned()));
                    }
                    idle = if messages > 0 && is_free {
                        DELIVERY
                    } else {
                        IDLE
                    };
                }
            }
        }
    }

    /// Returns the numbers of the queue's ready messages and of its consumers.
    pub(super) async fn inspect(&self, probe: &Channel) -> lapin::Result<(u32, u32)> {
        let passive = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let queue = self.queue.as_str().into();
        let found = probe.queue_declare(queue, passive, FieldTable::default());
        let found = found.await?;
        Ok((found.message_count(), found.consumer_count()))
    }

    /// Starts to receive. The queue is checked on a channel of its own: the answer that it is missing
    /// ends the channel, and with it every delivery that is not yet acknowledged.
    async fn consume(&self, link: &Arc<Link>, kept: Option<Consuming>) -> lapin::Result<Consuming> {
        let probe = link.channel().await?;
        self.inspect(&probe).await?;
        let kept = kept.filter(|kept| kept.channel.status().connected());
        let (channel, unsettled) = if let Some(kept) = kept
            .as_ref()
            .filter(|kept| kept.unsettled.load(Ordering::Relaxed) > 0)
        {
            (kept.channel.clone(), Arc::clone(&kept.unsettled))
        } else {
            // Nothing is left to settle on the old one.
            if let Some(kept) = &kept {
                kept.channel.close(SUCCESS, "renewed".into()).await?;
            }
            let channel = link.channel().await?;
            let options = BasicQosOptions::default();
            channel.basic_qos(self.prefetch, options).await?;
            (channel, Arc::default())
        };
        let consumer = channel
            .basic_consume(
                self.queue.as_str().into(),
                "".into(),
                BasicConsumeOptions::default(),
                FieldTable::default(),
            )
            .await?;
        Ok(Consuming {
            link: Arc::clone(link),
            channel,
            consumer: Some(consumer),
            probe,
            unsettled,
        })
    }

    /// Stops receiving. What was prefetched goes back.
    pub(super) async fn stop_consuming(&self) {
        let mut place = self.consuming.lock().await;
        self.is_consuming.store(false, Ordering::Relaxed);
        let Some(consuming) = &mut *place else { return };
        let Some(mut consumer) = consuming.consumer.take() else {
            return;
        };
        let tag = consumer.tag();
        let options = BasicCancelOptions::default();
        if consuming.channel.basic_cancel(tag, options).await.is_err() {
            // The connection is lost, and the broker has everything back.
            *place = None;
            return;
        }
        while let Some(Ok(delivery)) = consumer.next().await {
            let options = BasicNackOptions {
                multiple: false,
                requeue: true,
            };
            if let Err(error) = delivery.acker.nack(options).await {
                tracing::debug!(%error, "message not given back");
            }
        }
    }
}
