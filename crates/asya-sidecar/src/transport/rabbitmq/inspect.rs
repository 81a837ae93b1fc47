//! Queues by their names, for operators.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::options::BasicGetOptions;

use super::consume::Unsettled;
use super::{RabbitMq, Unacknowledged, publish};
use crate::admin::Queues;
use crate::transport::{Delivery, SendError};

/// Timeout of an operator's request to a broker.
const TIMEOUT: Duration = Duration::from_secs(10);

#[async_trait]
impl Queues for RabbitMq {
    async fn take(&self, queue: &str) -> Result<Option<Delivery>, SendError> {
        let taking = async {
            let link = self.connected().await;
            let channel = link.getting().await?;
            let got = channel
                .basic_get(queue.into(), BasicGetOptions::default())
                .await?;
            Ok::<_, lapin::Error>(got.map(|message| (message, channel)))
        };
        let taken = tokio::time::timeout(TIMEOUT, taking).await;
        let taken = taken.map_err(|_| SendError::Disconnected("no answer".to_owned()))?;
        let taken = taken.map_err(|error| publish::refused(&error, queue, 0))?;
        Ok(taken.map(|(message, channel)| Delivery {
            body: message.delivery.data.into(),
            settle: Box::new(Unacknowledged {
                acker: message.delivery.acker,
                channel,
                dead: None,
                _unsettled: Unsettled::new(&Arc::default()),
            }),
        }))
    }

    async fn put(&self, queue: &str, body: Bytes) -> Result<(), SendError> {
        let putting = async {
            self.connected().await;
            self.publish("", queue, &body, publish::properties(&[]))
                .await
        };
        let put = tokio::time::timeout(TIMEOUT, putting).await;
        put.unwrap_or_else(|_| Err(SendError::Disconnected("no answer".to_owned())))
    }
}
