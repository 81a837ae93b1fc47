//! Queues in this process, for `asya run` and for tests. They end with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;

use super::{Attributes, Delivery, SendError, Settle, Transport};

/// A broker with one queue for each actor.
#[derive(Debug, Clone, Default)]
pub struct Broker {
    queues: Arc<Mutex<BTreeMap<String, Arc<Queue>>>>,
}

#[derive(Debug, Default)]
struct Queue {
    ready: Mutex<VecDeque<Bytes>>,
    dead: Mutex<Vec<Bytes>>,
    arrived: Notify,
}

/// The connection of one actor to a [`Broker`].
#[derive(Debug)]
pub struct Memory {
    broker: Broker,
    own: Arc<Queue>,
}

impl Broker {
    /// Makes the queue of an actor where there is none, and returns the actor's connection.
    pub fn connect(&self, actor: &str) -> Memory {
        let own = Arc::clone(lock(&self.queues).entry(actor.to_owned()).or_default());
        Memory {
            broker: self.clone(),
            own,
        }
    }

    /// Sends a message to an actor.
    ///
    /// # Errors
    /// When the actor has no queue.
    pub fn send(&self, actor: &str, body: Bytes) -> Result<(), SendError> {
        let queue = lock(&self.queues).get(actor).cloned();
        let queue = queue.ok_or_else(|| SendError::Unroutable(actor.to_owned()))?;
        queue.push_back(body);
        Ok(())
    }

    /// The messages that wait for an actor.
    pub fn waiting(&self, actor: &str) -> Vec<Bytes> {
        let queue = lock(&self.queues).get(actor).cloned();
        queue.map_or_else(Vec::new, |queue| {
            lock(&queue.ready).iter().cloned().collect()
        })
    }

    /// The messages that an actor has rejected.
    pub fn dead(&self, actor: &str) -> Vec<Bytes> {
        let queue = lock(&self.queues).get(actor).cloned();
        queue.map_or_else(Vec::new, |queue| lock(&queue.dead).clone())
    }
}

impl Queue {
    fn push_back(&self, body: Bytes) {
        lock(&self.ready).push_back(body);
        self.arrived.notify_one();
    }
}

#[async_trait]
impl Transport for Memory {
    async fn receive(&self) -> Delivery {
        loop {
            let next = lock(&self.own.ready).pop_front();
            if let Some(body) = next {
                let settle = Box::new(Taken {
                    queue: Arc::clone(&self.own),
                    body: Mutex::new(Some(body.clone())),
                });
                return Delivery { body, settle };
            }
            self.own.arrived.notified().await;
        }
    }

    async fn pause(&self) {}

    async fn send(&self, actor: &str, body: Bytes, _: Attributes<'_>) -> Result<(), SendError> {
        self.broker.send(actor, body)
    }

    async fn send_later(&self, body: Bytes, delay: Duration) -> Result<(), SendError> {
        let queue = Arc::clone(&self.own);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            queue.push_back(body);
        });
        Ok(())
    }

    async fn close(&self) {}

    fn is_ready(&self) -> bool {
        true
    }
}

/// A message that is not settled. Dropped, it goes back.
struct Taken {
    queue: Arc<Queue>,
    body: Mutex<Option<Bytes>>,
}

impl Taken {
    fn take(&self) -> Option<Bytes> {
        lock(&self.body).take()
    }

    fn put_back(&self) {
        if let Some(body) = self.take() {
            lock(&self.queue.ready).push_front(body);
            self.queue.arrived.notify_one();
        }
    }
}

#[async_trait]
impl Settle for Taken {
    async fn acknowledge(&self) -> bool {
        self.take().is_some()
    }

    async fn give_back(&self) {
        self.put_back();
    }

    async fn reject(&self) {
        if let Some(body) = self.take() {
            lock(&self.queue.dead).push(body);
        }
    }

    fn is_lost(&self) -> bool {
        false
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Locks the queue, also if it is poisoned: no code here panics with a lock held, and the queue would
/// still be consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
