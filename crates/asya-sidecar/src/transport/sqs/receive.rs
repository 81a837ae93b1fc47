//! Receiving messages.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use aws_sdk_sqs::{Client, config};

use super::settle::Hidden;
use super::{Sqs, errors};
use crate::transport::{Backoff, Delivery};

/// Interval between checks for a queue that is missing or does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Time of a receive request beyond its wait time. One that takes longer has lost its connection.
const RECEIVE_MARGIN: Duration = Duration::from_secs(5);

/// Messages of one request.
pub(super) enum Received {
    Message(Box<Message>),
    Nothing,
    MissingQueue,
    Error(String),
}

impl Sqs {
    pub(super) async fn next_delivery(&self) -> Delivery {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut is_reported = false;
        // The request is a task of its own: were it dropped with this future, the message that it brings
        // would stay hidden.
        let mut receiving = self.receiving.lock().await;
        loop {
            let problem = match self.own().await {
                Err(error) => error.to_string(),
                Ok(url) => {
                    let request = receiving.get_or_insert_with(|| {
                        tokio::spawn(receive(
                            self.client.clone(),
                            url.clone(),
                            self.visibility_seconds,
                            self.wait_seconds,
                        ))
                    });
                    let received = request.await;
                    *receiving = None;
                    match received {
                        Ok(Received::Message(message)) => {
                            self.is_receiving.store(true, Ordering::Relaxed);
                            if let Some(delivery) =
                                self.delivery(*message, url, self.visibility_seconds)
                            {
                                return delivery;
                            }
                            continue;
                        }
                        Ok(Received::Nothing) => {
                            self.is_receiving.store(true, Ordering::Relaxed);
                            (backoff, is_reported) =
                                (Backoff::new(FIRST_PAUSE, LONGEST_PAUSE), false);
                            continue;
                        }
                        Ok(Received::MissingQueue) => {
                            *self.own.lock().unwrap_or_else(PoisonError::into_inner) = None;
                            "the queue is missing".to_owned()
                        }
                        Ok(Received::Error(error)) => error,
                        Err(error) => error.to_string(),
                    }
                }
            };
            self.is_receiving.store(false, Ordering::Relaxed);
            if !is_reported {
                let queue = &self.queues.own;
                tracing::warn!(
                    queue,
                    error = problem,
                    "cannot receive messages: trying again"
                );
                is_reported = true;
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    pub(super) fn delivery(
        &self,
        message: Message,
        url: String,
        visibility_seconds: i32,
    ) -> Option<Delivery> {
        let receives = message.attributes.as_ref().and_then(|all| {
            all.get(&MessageSystemAttributeName::ApproximateReceiveCount)?
                .parse()
                .ok()
        });
        let settle = Hidden::start(
            self.client.clone(),
            url,
            message.receipt_handle?,
            visibility_seconds,
            receives.unwrap_or(1),
        );
        Some(Delivery {
            body: message.body.unwrap_or_default().into(),
            settle: Box::new(settle),
        })
    }

    /// Stops receiving. A message that the last request brings goes back.
    pub(super) async fn stop_receiving(&self) {
        self.is_receiving.store(false, Ordering::Relaxed);
        let Some(request) = self.receiving.lock().await.take() else {
            return;
        };
        // A message that the service gives to an aborted request stays hidden for the visibility timeout.
        let received = request.await;
        let own = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let (Ok(Received::Message(message)), Some(url)) = (received, own)
            && let Some(delivery) = self.delivery(*message, url, self.visibility_seconds)
        {
            delivery.settle.give_back().await;
        }
    }
}

pub(super) async fn receive(client: Client, url: String, visibility: i32, wait: i32) -> Received {
    let request = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(1)
        .visibility_timeout(visibility)
        .wait_time_seconds(wait)
        .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
    let wait = Duration::from_secs(u64::from(wait.unsigned_abs()));
    let timeouts = TimeoutConfig::builder()
        .operation_attempt_timeout(wait + RECEIVE_MARGIN)
        .build();
    let timeouts = config::Builder::default().timeout_config(timeouts);
    match request.customize().config_override(timeouts).send().await {
        Ok(answer) => match answer.messages.unwrap_or_default().pop() {
            Some(message) => Received::Message(Box::new(message)),
            None => Received::Nothing,
        },
        Err(error) if errors::is_missing_queue(&error) => Received::MissingQueue,
        Err(error) => Received::Error(errors::text(&error)),
    }
}
