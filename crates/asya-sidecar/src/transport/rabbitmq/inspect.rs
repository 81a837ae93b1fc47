//! Queues by their names, for operators.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lapin::options::BasicGetOptions;

use super::consume::Unsettled;
use super::link::Link;
use super::{RabbitMq, Unacknowledged, publish};
use crate::admin::Queues;
use crate::transport::{Delivery, SendError};

/// Timeout of an operator's request to a broker.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reason for which an actor cannot use a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// There is no connection.
    #[error("cannot connect to RabbitMQ at {host}:{port}: {reason}")]
    Connection {
        /// Host of the URL.
        host: String,
        /// Its port.
        port: u16,
        /// Answer of the broker or of the system.
        reason: String,
    },
    /// The broker has no such queue.
    #[error("virtual host {vhost:?} of the broker has no queue {queue:?}")]
    NoQueue {
        /// The virtual host.
        vhost: String,
        /// The queue.
        queue: String,
    },
    /// The broker refuses the queue.
    #[error("the broker refuses queue {queue:?}: {reason}")]
    Refused {
        /// The queue.
        queue: String,
        /// Answer of the broker.
        reason: String,
    },
}

impl RabbitMq {
    /// Connects once, without repetitions, and checks that the actor's own queue exists. Messages can
    /// be sent afterwards.
    ///
    /// # Errors
    /// If the broker cannot be reached, or has no such queue.
    pub async fn check(&self) -> Result<(), CheckError> {
        let authority = &self.uri.authority;
        let connection = |reason: String| CheckError::Connection {
            host: authority.host.clone(),
            port: authority.port,
            reason,
        };
        let link = Link::open(&self.uri, &self.tls, &self.queue).await;
        let link = Arc::new(link.map_err(connection)?);
        self.keep(&link);
        let probing = async {
            let probe = link.channel().await?;
            self.inspect(&probe).await
        };
        let probed = tokio::time::timeout(TIMEOUT, probing).await;
        let probed = probed.map_err(|_| connection(format!("no answer within {TIMEOUT:?}")))?;
        probed.map(drop).map_err(|error| {
            let queue = self.queue.clone();
            match publish::refused(&error, &queue, 0) {
                SendError::Unroutable(queue) => CheckError::NoQueue {
                    vhost: self.uri.vhost.clone(),
                    queue,
                },
                error => CheckError::Refused {
                    queue,
                    reason: error.to_string(),
                },
            }
        })
    }
}

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
