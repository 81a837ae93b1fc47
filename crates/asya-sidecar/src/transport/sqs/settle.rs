//! A received message, which is kept hidden from others until it is settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::Client;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::errors;
use crate::transport::Settle;

/// The longest time that a rejected message waits for its next delivery.
const MAX_REJECTED_SECONDS: i32 = 900;

/// Attempts to delete a message, beside the client's own attempts.
const DELETE_ATTEMPTS: u32 = 3;

/// A message that only this sidecar sees.
pub(super) struct Hidden {
    receipt: Receipt,
    is_lost: Arc<AtomicBool>,
    heartbeat: JoinHandle<()>,
    receives: u32,
}

#[derive(Clone)]
struct Receipt {
    client: Client,
    url: String,
    handle: String,
}

impl Hidden {
    /// Extends the message's visibility timeout from now on.
    pub(super) fn start(
        client: Client,
        url: String,
        handle: String,
        visibility_seconds: i32,
        receives: u32,
    ) -> Self {
        let receipt = Receipt {
            client,
            url,
            handle,
        };
        let is_lost = Arc::new(AtomicBool::new(false));
        let heartbeat = heartbeat(receipt.clone(), visibility_seconds, Arc::clone(&is_lost));
        Self {
            receipt,
            is_lost,
            heartbeat: tokio::spawn(heartbeat),
            receives,
        }
    }

    /// Makes the message visible after this long.
    async fn release(&self, seconds: i32) {
        self.heartbeat.abort();
        if let Err(error) = self.receipt.hide(seconds).await {
            let error = errors::text(&error);
            tracing::debug!(
                error,
                "message not given back: its visibility timeout does it"
            );
        }
    }
}

#[async_trait]
impl Settle for Hidden {
    async fn acknowledge(&self) -> bool {
        for attempt in 1..=DELETE_ATTEMPTS {
            let request = self.receipt.client.delete_message();
            let request = request
                .queue_url(&self.receipt.url)
                .receipt_handle(&self.receipt.handle);
            match request.send().await {
                Ok(_) => {
                    self.heartbeat.abort();
                    return true;
                }
                Err(error) => {
                    let is_stale = errors::is_stale_receipt(&error);
                    let error = errors::text(&error);
                    tracing::warn!(attempt, error, "message not deleted");
                    if is_stale {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(200) * attempt).await;
                }
            }
        }
        self.heartbeat.abort();
        false
    }

    async fn give_back(&self) {
        self.release(0).await;
    }

    /// SQS cannot move a message: its redrive policy does, after some deliveries. They come ever later.
    async fn reject(&self) {
        let seconds = 2_i32.saturating_pow(self.receives.min(30));
        self.release(seconds.min(MAX_REJECTED_SECONDS)).await;
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

impl Receipt {
    async fn hide(
        &self,
        seconds: i32,
    ) -> Result<
        (),
        aws_sdk_sqs::error::SdkError<
            aws_sdk_sqs::operation::change_message_visibility::ChangeMessageVisibilityError,
        >,
    > {
        let request = self.client.change_message_visibility();
        let request = request.queue_url(&self.url).receipt_handle(&self.handle);
        request.visibility_timeout(seconds).send().await.map(|_| ())
    }
}

/// Extends the visibility timeout at each third of it. When it is over all the same, others get the
/// message.
async fn heartbeat(receipt: Receipt, seconds: i32, is_lost: Arc<AtomicBool>) {
    let visibility = Duration::from_secs(u64::from(seconds.unsigned_abs()));
    let mut visible_at = Instant::now() + visibility;
    let mut next = visibility / 3;
    loop {
        tokio::time::sleep(next).await;
        let asked = Instant::now();
        match receipt.hide(seconds).await {
            Ok(()) => {
                visible_at = asked + visibility;
                next = visibility / 3;
            }
            Err(error) => {
                let is_stale = errors::is_stale_receipt(&error);
                let error = errors::text(&error);
                tracing::warn!(error, "visibility of a message not extended");
                if is_stale || Instant::now() >= visible_at {
                    is_lost.store(true, Ordering::Relaxed);
                    return;
                }
                next = (visibility / 12).max(Duration::from_millis(200));
            }
        }
    }
}
