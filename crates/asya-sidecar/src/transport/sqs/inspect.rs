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

/// A request asks some of the service's servers only, all of them where it waits: an empty answer is
/// believed the second time.
const WAIT_SECONDS: i32 = 1;
const EMPTY_ANSWERS: usize = 2;

#[async_trait]
impl Queues for Sqs {
    async fn take(&self, queue: &str) -> Result<Option<Delivery>, SendError> {
        let url = self.find(queue).await?;
        for _ in 0..EMPTY_ANSWERS {
            let client = self.client.clone();
            let received = receive(client, url.clone(), VISIBILITY_SECONDS, WAIT_SECONDS);
            match received.await {
                Received::Message(message) => {
                    return Ok(self.delivery(*message, url, VISIBILITY_SECONDS));
                }
                Received::Nothing => {}
                Received::MissingQueue => return Err(SendError::Unroutable(queue.to_owned())),
                Received::Error(error) => return Err(SendError::Disconnected(error)),
            }
        }
        Ok(None)
    }

    async fn put(&self, queue: &str, body: Bytes) -> Result<(), SendError> {
        let url = self.find(queue).await?;
        self.send_to(&url, queue, &body, &[], Duration::ZERO).await
    }
}
