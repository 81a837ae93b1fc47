//! Queues: one trait, and the brokers that implement it.

pub mod memory;
#[cfg(feature = "rabbitmq")]
pub mod rabbitmq;
#[cfg(feature = "sqs")]
pub mod sqs;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

/// Headers or attributes that accompany a message's body on the transport.
pub type Attributes<'a> = &'a [(&'static str, String)];

/// An actor's own queue, and those of other actors by the actors' names.
#[async_trait]
pub trait Transport: Send + Sync {
    /// The next message, as soon as there is one. Connects, and waits for the queue, for as long as
    /// that takes. No message is lost when the future is dropped.
    async fn receive(&self) -> Delivery;

    /// Stops receiving until the next [`receive`](Self::receive). Messages that were prefetched and
    /// not yet returned by it go back to the queue.
    async fn pause(&self);

    /// Sends a message to an actor, and returns when the broker is responsible for it.
    ///
    /// # Errors
    /// If it is not, or its state is unknown.
    async fn send(
        &self,
        actor: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError>;

    /// Sends a message to the actor's own queue, from which it is received after the delay, and
    /// returns when the broker is responsible for it.
    ///
    /// # Errors
    /// If it is not, or its state is unknown. [`SendError::NoDelay`] if the broker cannot wait that long.
    async fn send_later(&self, body: Bytes, delay: Duration) -> Result<(), SendError>;

    /// Ends the connection. Messages that are neither acknowledged nor given back go back to the queue.
    async fn close(&self);

    /// Returns whether the broker is connected and the queue there.
    fn is_ready(&self) -> bool;

    /// Returns the number of connections after the first one.
    fn reconnects(&self) -> u64 {
        0
    }
}

/// Reason for which a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No queue receives messages for the actor.
    #[error("no queue receives messages for actor {0:?}")]
    Unroutable(String),
    /// The transport takes no message of this size.
    #[error("the message has {bytes} bytes, and the queue takes {limit}")]
    TooLarge {
        /// Size of the message.
        bytes: usize,
        /// The largest that is taken.
        limit: usize,
    },
    /// The broker does not take it now: the queue is full, or requests are throttled.
    #[error("the broker refused the message: {0}")]
    Refused(String),
    /// The connection is lost; the broker may have the message or not.
    #[error("the broker cannot be reached: {0}")]
    Disconnected(String),
    /// There is no way to delay a message.
    #[error("there is no retry queue")]
    NoDelay,
}

impl SendError {
    /// The kind of error, as metrics and spans name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unroutable(_) | Self::NoDelay => "unroutable",
            Self::TooLarge { .. } => "too_large",
            Self::Refused(_) => "refused",
            Self::Disconnected(_) => "disconnected",
        }
    }
}

/// A message that waits for its acknowledgement.
pub struct Delivery {
    /// The envelope, as it was sent.
    pub body: Bytes,
    /// Settlement of the message.
    pub settle: Box<dyn Settle>,
}

/// The end of a delivery. It is settled once; dropped unsettled, the message goes back to the queue when
/// the connection ends or its visibility timeout does.
#[async_trait]
pub trait Settle: Send + Sync {
    /// Takes the message off the queue. Whether that was possible.
    async fn acknowledge(&self) -> bool;

    /// Gives the message back, so that it is delivered again at once.
    async fn give_back(&self);

    /// Takes the message out of circulation: it goes to the queue's dead-letter queue.
    async fn reject(&self);

    /// Returns whether the broker has taken the message back already: it is delivered again, whatever follows.
    fn is_lost(&self) -> bool;
}

/// A pause that doubles up to a limit, less a random part of a quarter, so that many sidecars do not
/// knock in step.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// From the first pause to the longest.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            next: first,
            first,
            longest,
        }
    }

    /// The next pause.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause.mul_f64(1.0 - fastrand::f64() / 4.0)
    }

    /// Begins again with the first pause.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}
