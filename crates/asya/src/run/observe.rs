//! A transport that reports what passes through another one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use asya_sidecar::envelope::Envelope;
use asya_sidecar::gateway::Observer;
use asya_sidecar::transport::{Attributes, Delivery, SendError, Settle, Transport};
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::event::{Event, What, envelope, payload};

/// Messages that are not settled yet, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Unsettled(Arc<State>);

#[derive(Debug, Default)]
struct State {
    open: Mutex<BTreeMap<String, usize>>,
    changed: Notify,
}

/// Channel to which events are sent.
pub(super) type Events = UnboundedSender<Event>;

/// Channel to which the name of an actor is sent when a message for it has arrived.
pub(super) type Arrivals = UnboundedSender<String>;

/// The connection of one actor, observed.
pub(super) struct Observed {
    pub(super) inner: Arc<dyn Transport>,
    pub(super) actor: String,
    /// Names of all actors of this run. Only their messages are settled here.
    pub(super) running: Arc<BTreeSet<String>>,
    pub(super) sink: String,
    pub(super) sump: String,
    /// Number of times that a message may be given back before it goes to the dead letters.
    pub(super) max_deliveries: u32,
    pub(super) events: Events,
    pub(super) unsettled: Unsettled,
    pub(super) returned: Arc<Mutex<BTreeMap<String, u32>>>,
    pub(super) arrivals: Arrivals,
}

impl Unsettled {
    /// Sends a message, which counts from before it is sent: its receiver may settle it before this
    /// call returns. One that cannot be sent does not count.
    pub(super) async fn send<T, E>(
        &self,
        id: &str,
        send: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.add(id);
        let sent = send.await;
        if sent.is_err() {
            self.settle(id);
        }
        sent
    }

    /// One more message with this id.
    fn add(&self, id: &str) {
        *lock(&self.0.open).entry(id.to_owned()).or_default() += 1;
    }

    /// One less, if it was counted.
    pub(super) fn settle(&self, id: &str) {
        let mut open = lock(&self.0.open);
        if let Some(count) = open.get_mut(id) {
            *count -= 1;
            if *count == 0 {
                open.remove(id);
            }
        }
        drop(open);
        self.0.changed.notify_waiters();
    }

    /// Returns the number of ids.
    pub(super) fn len(&self) -> usize {
        lock(&self.0.open).len()
    }

    /// Waits until fewer than this many are open.
    pub(super) async fn below(&self, limit: usize) {
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if self.len() < limit {
                return;
            }
            changed.await;
        }
    }
}

impl Observed {
    fn report(&self, id: &str, what: What) {
        // Nobody listens any more once the command ends.
        let _ = self.events.send(Event::of(&self.actor, id, what));
    }

    /// Sends a message. It is open until the other actor settles it, if that runs here too.
    async fn send_on(
        &self,
        actor: &str,
        id: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError> {
        let send = self.inner.send(actor, body, attributes);
        if self.running.contains(actor) {
            self.unsettled.send(id, send).await?;
            // Nobody starts actors any more once the command ends.
            let _ = self.arrivals.send(actor.to_owned());
            Ok(())
        } else {
            send.await
        }
    }

    /// Sends a message to an actor whose queue may be missing, because this program is at its end.
    async fn send_to_end(
        &self,
        actor: &str,
        id: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError> {
        match self.send_on(actor, id, body, attributes).await {
            Err(SendError::Unroutable(_)) => Ok(()),
            sent => sent,
        }
    }
}

#[async_trait]
impl Transport for Observed {
    async fn receive(&self) -> Delivery {
        let delivery = self.inner.receive().await;
        let found = envelope(&delivery.body);
        let id = found.as_ref().map_or("", Envelope::id).to_owned();
        let what = What::Received {
            attempt: found.as_ref().map_or(1, Envelope::attempt),
            payload: found.as_ref().map_or_else(|| text(&delivery.body), payload),
        };
        self.report(&id, what);
        let settle = Box::new(ObservedSettle {
            inner: delivery.settle,
            id,
            actor: self.actor.clone(),
            max_deliveries: self.max_deliveries,
            events: self.events.clone(),
            unsettled: self.unsettled.clone(),
            returned: Arc::clone(&self.returned),
        });
        Delivery {
            body: delivery.body,
            settle,
        }
    }

    async fn pause(&self) {
        self.inner.pause().await;
    }

    async fn send(
        &self,
        actor: &str,
        body: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<(), SendError> {
        let found = envelope(&body);
        let id = found.as_ref().map_or("", Envelope::id).to_owned();
        if actor == self.sump {
            let error = failure(found.as_ref(), attributes);
            self.send_to_end(actor, &id, body, attributes).await?;
            self.report(&id, What::Failed { error });
            return Ok(());
        }
        let payload = found.as_ref().map_or_else(|| text(&body), payload);
        if actor == self.sink {
            let route = found.map_or(Value::Null, |it| json!(it.route));
            self.send_to_end(actor, &id, body, attributes).await?;
            self.report(&id, What::Result { payload, route });
            return Ok(());
        }
        let to = actor.to_owned();
        self.send_on(actor, &id, body, attributes).await?;
        self.report(&id, What::Sent { to, payload });
        Ok(())
    }

    async fn send_later(&self, body: Bytes, delay: Duration) -> Result<(), SendError> {
        let found = envelope(&body);
        let id = found.as_ref().map_or("", Envelope::id).to_owned();
        let send = self.inner.send_later(body, delay);
        self.unsettled.send(&id, send).await?;
        let status = found.map(|found| found.status).unwrap_or_default();
        let number = |member: &str| {
            let number = status.get(member).and_then(Value::as_u64);
            number
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(1)
        };
        let what = What::Retry {
            attempt: number("attempt").saturating_sub(1),
            of: number("max_attempts"),
            after: delay,
            error: status.get("error").cloned().unwrap_or_default(),
        };
        self.report(&id, what);
        Ok(())
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn is_ready(&self) -> bool {
        self.inner.is_ready()
    }
}

/// The end of a delivery, observed.
struct ObservedSettle {
    inner: Box<dyn Settle>,
    id: String,
    actor: String,
    max_deliveries: u32,
    events: Events,
    unsettled: Unsettled,
    returned: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl ObservedSettle {
    fn dead(&self, reason: String) {
        let event = Event::of(&self.actor, &self.id, What::DeadLetter { reason });
        let _ = self.events.send(event);
        self.unsettled.settle(&self.id);
    }
}

#[async_trait]
impl Settle for ObservedSettle {
    async fn acknowledge(&self) -> bool {
        let is_acknowledged = self.inner.acknowledge().await;
        self.unsettled.settle(&self.id);
        is_acknowledged
    }

    async fn give_back(&self) {
        let count = {
            let mut returned = lock(&self.returned);
            let count = returned.entry(self.id.clone()).or_default();
            *count += 1;
            *count
        };
        if count < self.max_deliveries {
            return self.inner.give_back().await;
        }
        self.inner.reject().await;
        self.dead(format!(
            "delivered {count} times, and the runtime ended each time: to the dead letters"
        ));
    }

    async fn reject(&self) {
        self.inner.reject().await;
        self.dead("the end actor has failed on it: to the dead letters".to_owned());
    }

    fn is_lost(&self) -> bool {
        self.inner.is_lost()
    }
}

/// Returns an observer that sends the data that an actor's handlers stream as events.
pub(super) fn streamed(actor: &str, events: &Events) -> Observer {
    let (actor, events) = (actor.to_owned(), events.clone());
    Observer::new(move |id, data| {
        let mut data: Value = serde_json::from_slice(data).unwrap_or_default();
        // The runtime wraps it: `{"payload": …}`.
        if let Some(payload) = data.get_mut("payload") {
            data = payload.take();
        }
        let _ = events.send(Event::of(&actor, id, What::Streamed { data }));
    })
}

/// The error in an envelope, or in the attributes of a body that is none.
fn failure(envelope: Option<&Envelope>, attributes: Attributes<'_>) -> Value {
    let attribute = attributes.iter().find(|(name, _)| *name == "x-asya-error");
    match (attribute, envelope) {
        (Some((_, reason)), _) => json!({"message": reason}),
        (None, Some(envelope)) => envelope.status.get("error").cloned().unwrap_or_default(),
        (None, None) => Value::Null,
    }
}

fn text(body: &Bytes) -> Value {
    String::from_utf8_lossy(body).into_owned().into()
}

/// Locks a mutex, also if it is poisoned: no code panics with a lock held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
