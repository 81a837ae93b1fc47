//! Amazon SQS: one message for each request, hidden from others for as long as it is processed.

mod errors;
mod inspect;
mod receive;
mod settle;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Region};
use aws_sdk_sqs::types::MessageAttributeValue;
use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{Attributes, Delivery, SendError, Transport};
use crate::config::{QueueNames, SqsConfig, is_fifo};

/// The longest delay of a message. Source: SQS API, `SendMessage`.
const MAX_DELAY: Duration = Duration::from_mins(15);

/// The largest message of accounts with the larger limit. Others refuse less, and name their limit.
const MAX_BYTES: usize = 1 << 20;

/// Time in which the service must accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time in which it must answer a request that does not wait for messages. A connection may be
/// half-open, and would never answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// SQS, from the place of one actor.
pub struct Sqs {
    client: Client,
    queues: QueueNames,
    visibility_seconds: i32,
    wait_seconds: i32,
    /// URL of the actor's own queue, once it is known.
    own: Mutex<Option<String>>,
    /// URLs of other actors' queues, by actor.
    others: Mutex<BTreeMap<String, String>>,
    receiving: tokio::sync::Mutex<Option<JoinHandle<receive::Received>>>,
    is_receiving: AtomicBool,
}

impl Sqs {
    /// A client with the credentials that AWS's own programs would find.
    pub async fn new(config: &SqsConfig, queues: &QueueNames) -> Self {
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new(config.region.clone()));
        if let Some(endpoint) = &config.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ANSWER_TIMEOUT)
            .build();
        let client = Client::new(&loader.timeout_config(timeouts).load().await);
        // Both are checked against the limits of SQS when the environment is read.
        let whole = |seconds: u32| i32::try_from(seconds).unwrap_or(i32::MAX);
        Self {
            client,
            queues: queues.clone(),
            visibility_seconds: whole(config.visibility_seconds),
            wait_seconds: whole(config.wait_seconds),
            own: Mutex::new(config.queue_url.clone()),
            others: Mutex::default(),
            receiving: tokio::sync::Mutex::default(),
            is_receiving: AtomicBool::new(false),
        }
    }

    /// URL of the actor's own queue.
    async fn own(&self) -> Result<String, SendError> {
        let known = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(url) = known {
            return Ok(url);
        }
        let url = self.find(&self.queues.own).await?;
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.clone());
        Ok(url)
    }

    /// URL of an actor's queue.
    async fn of(&self, actor: &str) -> Result<String, SendError> {
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let known = others().get(actor).cloned();
        if let Some(url) = known {
            return Ok(url);
        }
        let queue = self.queues.of(actor);
        if is_fifo(&queue) {
            return Err(SendError::Unroutable(actor.to_owned()));
        }
        let url = self.find(&queue).await?;
        others().insert(actor.to_owned(), url.clone());
        Ok(url)
    }

    async fn find(&self, queue: &str) -> Result<String, SendError> {
        let found = self.client.get_queue_url().queue_name(queue).send().await;
        let found = found.map_err(|error| errors::of_send(&error, queue, 0))?;
        found
            .queue_url
            .ok_or_else(|| SendError::Unroutable(queue.to_owned()))
    }

    async fn send_to(
        &self,
        url: &str,
        actor: &str,
        body: &Bytes,
        attributes: Attributes<'_>,
        delay: Duration,
    ) -> Result<(), SendError> {
        let text = readable(body);
        let bytes = text.len() + size(attributes);
        if bytes > MAX_BYTES {
            let limit = MAX_BYTES;
            return Err(SendError::TooLarge { bytes, limit });
        }
        let seconds = delay.min(MAX_DELAY).as_secs_f64().ceil();
        let mut request = self.client.send_message().queue_url(url).message_body(text);
        if seconds > 0.0 {
            #[expect(clippy::cast_possible_truncation, reason = "900 at most")]
            let seconds = seconds as i32;
            request = request.delay_seconds(seconds);
        }
        for (name, value) in attributes {
            let value = MessageAttributeValue::builder()
                .data_type("String")
                .string_value(value)
                .build();
            if let Ok(value) = value {
                request = request.message_attributes(*name, value);
            }
        }
        let sent = request.send().await;
        sent.map(|_| ())
            .map_err(|error| errors::of_send(&error, actor, bytes))
    }
}

#[async_trait]
impl Transport for Sqs {
    async fn receive(&self) -> Delivery {
        self.next_delivery().await
    }

    async fn pause(&self) {
        self.stop_receiving().await;
    }

    async fn send(
        &self,
        actor: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError> {
        let url = self.of(actor).await.map_err(|error| match error {
            SendError::Unroutable(_) => SendError::Unroutable(actor.to_owned()),
            other => other,
        })?;
        let sent = self.send_to(&url, actor, &body, attributes, Duration::ZERO);
        let sent = sent.await;
        if matches!(sent, Err(SendError::Unroutable(_))) {
            // It was deleted, and may be made anew with another URL.
            let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
            others.remove(actor);
        }
        sent
    }

    async fn send_later(&self, body: Bytes, delay: Duration) -> Result<(), SendError> {
        let url = self.own().await?;
        self.send_to(&url, &self.queues.own, &body, &[], delay)
            .await
    }

    async fn close(&self) {
        self.stop_receiving().await;
    }

    fn is_ready(&self) -> bool {
        self.is_receiving.load(Ordering::Relaxed)
    }
}

/// The body as SQS takes it: text, with the two characters that it refuses written as JSON escapes.
fn readable(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        let text = text.replace('\u{fffe}', "\\ufffe");
        return text.replace('\u{ffff}', "\\uffff");
    }
    text.into_owned()
}

/// Size of attributes, which counts as size of the message: names, types and values.
fn size(attributes: Attributes<'_>) -> usize {
    let attributes = attributes.iter();
    attributes
        .map(|(name, value)| name.len() + "String".len() + value.len())
        .sum()
}
