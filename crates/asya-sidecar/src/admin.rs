//! Queue operations from inside the cluster: send, peek, requeue and delete dead letters.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::envelope::{Envelope, Phase};
use crate::ids;
use crate::transport::{Delivery, SendError};

/// Access to queues by their names.
#[async_trait]
pub trait Queues: Send + Sync {
    /// The next message of a queue, without waiting for one. It is hidden from others until it is
    /// settled or the connection ends.
    ///
    /// # Errors
    /// When there is no such queue, or the broker does not answer.
    async fn take(&self, queue: &str) -> Result<Option<Delivery>, SendError>;

    /// Sends a message to a queue, and returns when the broker is responsible for it.
    ///
    /// # Errors
    /// If it is not, or its state is unknown.
    async fn put(&self, queue: &str, body: Bytes) -> Result<(), SendError>;
}

/// A message to send.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its id; a new one unless given.
    pub id: Option<String>,
    /// The actor that gets it.
    pub actor: String,
    /// Actors that get it afterwards.
    pub next: Vec<String>,
    /// Its payload, as JSON.
    pub payload: String,
}

/// Selection of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All that are there.
    All,
    /// Messages with these ids.
    Ids(Vec<String>),
}

impl Selection {
    /// Returns whether the message with this id is selected.
    fn contains(&self, id: &str) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.iter().any(|selected| selected == id),
        }
    }
}

/// A message that was taken from a queue.
struct Taken {
    delivery: Delivery,
    /// None if the body is not an envelope.
    envelope: Option<Envelope>,
    /// Empty if the message has none.
    id: String,
}

impl Taken {
    /// Takes the next message of a queue.
    async fn next(queues: &dyn Queues, queue: &str) -> Result<Option<Self>, SendError> {
        let delivery = queues.take(queue).await?;
        Ok(delivery.map(|delivery| {
            let envelope = Envelope::parse_lenient(&delivery.body).ok();
            let id = envelope.as_ref().map_or("", Envelope::id).to_owned();
            Self {
                delivery,
                envelope,
                id,
            }
        }))
    }
}

impl Message {
    /// The envelope, and its id.
    ///
    /// # Errors
    /// When the payload is no JSON.
    pub fn envelope(&self) -> Result<(String, Bytes), String> {
        let payload: &RawValue = serde_json::from_str(&self.payload)
            .map_err(|error| format!("the payload is no JSON: {error}"))?;
        let id = self.id.clone().unwrap_or_else(ids::random);
        let route = json!({"prev": [], "curr": self.actor, "next": self.next});
        let text = format!(
            "{{\"id\":{},\"route\":{route},\"headers\":{{}},\"payload\":{}}}",
            json!(id),
            payload.get(),
        );
        let mut envelope = Envelope::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        envelope.stamp(Phase::Pending, &self.actor, Timestamp::now());
        envelope.stamp_attempt(1, 1);
        Ok((id, envelope.to_bytes().into()))
    }
}

/// The first messages of a queue, which go back to it.
///
/// # Errors
/// When there is no such queue, or the broker does not answer.
pub async fn peek(queues: &dyn Queues, queue: &str, count: usize) -> Result<Vec<Bytes>, SendError> {
    let mut held = Vec::new();
    while held.len() < count {
        match queues.take(queue).await {
            Ok(Some(delivery)) => held.push(delivery),
            Ok(None) => break,
            Err(error) => {
                give_back(&held).await;
                return Err(error);
            }
        }
    }
    give_back(&held).await;
    Ok(held.into_iter().map(|delivery| delivery.body).collect())
}

/// Moves messages from one queue to another, each acknowledged only after the broker has confirmed the
/// other's, and no more than so many a second; none twice. Reports the id of each by `moved`. The number
/// moved.
///
/// # Errors
/// When there is no such queue, or the broker does not answer. What was moved until then stays moved.
pub async fn requeue(
    queues: &dyn Queues,
    from: &str,
    to: &str,
    selection: &Selection,
    per_second: u32,
    mut moved: impl FnMut(&str),
) -> Result<usize, SendError> {
    // Held until the end, so that they are not taken again.
    let mut unselected = Vec::new();
    // What fails again becomes a dead letter again, with the same bytes, while others are being moved.
    let mut done = BTreeSet::new();
    let mut count = 0;
    let result = loop {
        let Taken {
            delivery,
            envelope,
            id,
        } = match Taken::next(queues, from).await {
            Ok(Some(taken)) => taken,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        if !selection.contains(&id) || done.contains(&ids::of_bytes(&delivery.body)) {
            unselected.push(delivery);
            continue;
        }
        let body = fresh(envelope, &delivery);
        let digest = ids::of_bytes(&body);
        if let Err(error) = queues.put(to, body).await {
            unselected.push(delivery);
            break Err(error);
        }
        if !delivery.settle.acknowledge().await {
            tracing::warn!(
                id,
                "moved, and not removed from the dead letters: it is there twice"
            );
        }
        moved(&id);
        count += 1;
        done.insert(digest);
        tokio::time::sleep(Duration::from_secs(1) / per_second.max(1)).await;
    };
    give_back(&unselected).await;
    result.map(|()| count)
}

/// Deletes messages of a queue. Reports the id of each by `deleted`. The number deleted.
///
/// # Errors
/// When there is no such queue, or the broker does not answer. What was deleted until then stays deleted.
pub async fn delete(
    queues: &dyn Queues,
    queue: &str,
    selection: &Selection,
    mut deleted: impl FnMut(&str),
) -> Result<usize, SendError> {
    // Held until the end, so that they are not taken again.
    let mut unselected = Vec::new();
    let mut count = 0;
    let result = loop {
        let Taken { delivery, id, .. } = match Taken::next(queues, queue).await {
            Ok(Some(taken)) => taken,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        if !selection.contains(&id) {
            unselected.push(delivery);
        } else if delivery.settle.acknowledge().await {
            count += 1;
            deleted(&id);
        } else {
            break Err(SendError::Disconnected(format!(
                "message {id:?} was not deleted"
            )));
        }
    };
    give_back(&unselected).await;
    result.map(|()| count)
}

/// The message with its attempts counted anew.
fn fresh(envelope: Option<Envelope>, delivery: &Delivery) -> Bytes {
    let Some(mut envelope) = envelope else {
        return delivery.body.clone();
    };
    envelope.headers.remove(crate::retry::FIRST_ATTEMPT);
    if envelope.status.contains_key("attempt") {
        envelope.status.insert("attempt".to_owned(), json!(1));
    }
    envelope.to_bytes().into()
}

async fn give_back(held: &[Delivery]) {
    for delivery in held {
        delivery.settle.give_back().await;
    }
}

/// Returns a message as `peek` shows it: the envelope, or the text of a body that is none.
pub fn shown(body: &[u8]) -> Value {
    let envelope = serde_json::from_slice::<Map<String, Value>>(body);
    envelope.map_or_else(
        |_| json!({"not_an_envelope": String::from_utf8_lossy(body)}),
        Value::Object,
    )
}
