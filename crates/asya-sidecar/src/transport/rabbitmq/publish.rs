//! Sending messages, and sending them later.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Confirmation, ErrorKind};

use super::RabbitMq;
use super::link::Link;
use crate::config::LONGEST_NAME;
use crate::transport::{Attributes, SendError};

/// Messages outlive a restart of the broker. Source: AMQP 0.9.1, basic class, delivery-mode.
const PERSISTENT: u8 = 2;

/// The default exchange: its routing keys are names of queues.
const TO_QUEUES: &str = "";

/// The properties of a message.
pub(super) fn properties(attributes: Attributes<'_>) -> BasicProperties {
    let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
    if attributes.is_empty() {
        return properties.with_content_type("application/json".into());
    }
    let mut headers = FieldTable::default();
    for (name, value) in attributes {
        let value = AMQPValue::LongString(value.as_str().into());
        headers.insert((*name).into(), value);
    }
    properties
        .with_content_type("application/octet-stream".into())
        .with_headers(headers)
}

impl Link {
    /// Publishes a message, and waits until the broker confirms it.
    pub(super) async fn publish(
        &self,
        exchange: &str,
        key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<(), SendError> {
        // The client library panics beyond it.
        if exchange.len() > LONGEST_NAME || key.len() > LONGEST_NAME {
            return Err(SendError::Unroutable(key.to_owned()));
        }
        let options = BasicPublishOptions {
            mandatory: true,
            immediate: false,
        };
        let confirmed = async {
            let channel = self.publishing().await?;
            let published =
                channel.basic_publish(exchange.into(), key.into(), options, body, properties);
            published.await?.await
        };
        match confirmed.await {
            Ok(Confirmation::Ack(None)) => Ok(()),
            Ok(Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_))) => {
                Err(SendError::Unroutable(key.to_owned()))
            }
            Ok(Confirmation::Nack(None)) => Err(SendError::Refused(
                "the queue does not take it, such as one at its maximum length".to_owned(),
            )),
            Ok(Confirmation::NotRequested) => {
                Err(SendError::Disconnected("nothing was confirmed".to_owned()))
            }
            Err(error) => Err(refused(&error, key, body.len())),
        }
    }

    /// Publishes a message to a queue by its name.
    pub(super) async fn publish_to_queue(
        &self,
        queue: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<(), SendError> {
        self.publish(TO_QUEUES, queue, body, properties).await
    }
}

impl RabbitMq {
    /// Publishes a message on the present connection, and waits until the broker confirms it.
    pub(super) async fn publish(
        &self,
        exchange: &str,
        key: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<(), SendError> {
        let link = self.current();
        let link = link.ok_or_else(|| SendError::Disconnected("not connected".to_owned()))?;
        link.publish(exchange, key, body, properties).await
    }

    /// Publishes a message to the retry queue that returns it to the actor's own queue. Within that
    /// queue's time the message's own expiration gives the exact delay.
    pub(super) async fn publish_later(
        &self,
        body: &[u8],
        delay: Duration,
    ) -> Result<(), SendError> {
        let mut properties = properties(&[]);
        if delay.is_zero() {
            let sent = self.publish(TO_QUEUES, &self.queue, body, properties);
            return sent.await;
        }
        let seconds = retry_queue(&self.retry_delays, delay).ok_or(SendError::NoDelay)?;
        let milliseconds = delay.as_millis().min(u128::from(seconds) * 1000);
        properties = properties.with_expiration(milliseconds.to_string().into());
        let queue = format!("{}-retry-{seconds}", self.queue);
        match self.publish(TO_QUEUES, &queue, body, properties).await {
            Err(SendError::Unroutable(_)) => {
                tracing::warn!(queue, "retry queue missing: the message waits here");
                Err(SendError::NoDelay)
            }
            sent => sent,
        }
    }
}

/// The shortest delay that is long enough, else the longest.
fn retry_queue(delays: &[u32], wanted: Duration) -> Option<u32> {
    let long_enough = |seconds: &&u32| Duration::from_secs(u64::from(**seconds)) >= wanted;
    let found = delays.iter().find(long_enough);
    found.or_else(|| delays.last()).copied()
}

/// Outcome for the message of an error of the publishing channel.
pub(super) fn refused(error: &lapin::Error, key: &str, bytes: usize) -> SendError {
    let text = error.to_string();
    let ErrorKind::ProtocolError(protocol) = error.kind() else {
        return SendError::Disconnected(text);
    };
    match protocol.kind() {
        AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND) => SendError::Unroutable(key.to_owned()),
        AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED) if text.contains("size") => {
            let limit = text
                .split(|character: char| !character.is_ascii_digit())
                .filter_map(|digits| digits.parse().ok())
                .filter(|limit| (1024..bytes).contains(limit))
                .max();
            SendError::TooLarge {
                bytes,
                limit: limit.unwrap_or_else(|| bytes.saturating_sub(1)),
            }
        }
        AMQPErrorKind::Soft(_) | AMQPErrorKind::Hard(AMQPHardError::RESOURCEERROR) => {
            SendError::Refused(text)
        }
        AMQPErrorKind::Hard(_) => SendError::Disconnected(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_retry_queue_that_is_long_enough_is_chosen() {
        let cases: [(&[u32], u64, Option<u32>); 6] = [
            (&[1, 5, 30], 500, Some(1)),
            (&[1, 5, 30], 1000, Some(1)),
            (&[1, 5, 30], 1001, Some(5)),
            (&[1, 5, 30], 30_000, Some(30)),
            (&[1, 5, 30], 90_000, Some(30)),
            (&[], 1, None),
        ];
        for (delays, wanted, expected) in cases {
            let found = retry_queue(delays, Duration::from_millis(wanted));
            assert_eq!(found, expected, "{wanted} ms of {delays:?}");
        }
    }
}
