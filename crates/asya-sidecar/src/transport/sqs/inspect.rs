//! Queues by their names, for operators.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::Sqs;
use super::receive::{Received, receive};
use crate::admin::Queues;
use crate::transport::{Delivery, SendError};

/// Visibility timeout of a message that an operator has received, unless it is extended.
const VISIBILITY_SECONDS: i32 = 30;

#[async_trait]
impl Queues for Sqs {
    async fn take(&self, queue: &str) -> Result<Option<Delivery>, SendError> {
        let url = self.find(queue).await?;
        let received = receive(self.client.clone(), url.clone(), VISIBILITY_SECONDS, 0);
        match received.await {
            Received::Message(message) => Ok(self.delivery(*message, url, VISIBILITY_SECONDS)),
            Received::Nothing => Ok(None),
            Received::MissingQueue => Err(SendError::Unroutable(queue.to_owned())),
            Received::Error(error) => Err(SendError::Disconnected(error)),
        }
    }

    async fn put(&self, queue: &str, body: Bytes) -> Result<(), SendError> {
        let url = self.find(queue).await?;
        self.send_to(&url, queue, &body, &[], Duration::ZERO).await
    }
}
