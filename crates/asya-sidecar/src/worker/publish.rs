//! Publishing what follows from a message. While a broker does not take it, the message stays
//! unacknowledged, and so with the broker.

use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use jiff::Timestamp;
use tokio::time::Instant;

use super::{Work, Worker};
use crate::envelope::{Envelope, Frame, Phase};
use crate::failure::Failure;
use crate::metrics::{Kind, PublishError};
use crate::retry::FIRST_ATTEMPT;
use crate::route;
use crate::spool::Spool;
use crate::trace::Part;
use crate::transport::{Attributes, Backoff, SendError};

/// Pauses between attempts to publish.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// While a queue may appear any moment.
const UNROUTABLE_PAUSE: Duration = Duration::from_millis(250);

/// Results of a message that are published before their confirms are awaited.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 1 << 20;

/// A message was not processed to its end, and is delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// The broker has taken it back.
    Lost,
    /// The sidecar ends, and the broker does not take what follows.
    Stopping,
}

/// A message that no queue takes, whatever the broker's state.
enum Undeliverable {
    Unroutable,
    TooLarge { bytes: usize, limit: usize },
}

impl Worker {
    /// Publishes the results of a handler, the first of which has this index.
    pub(super) async fn publish_results(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        spool: Spool,
        published: usize,
    ) -> Result<(), Abandoned> {
        if spool.is_empty() && published == 0 {
            // No results: the message's route ends here.
            let mut envelope = request.clone();
            envelope.route.curr = String::new();
            let finished = self.finished(envelope);
            let kind = Kind::sink;
            return self
                .send_or_fail(delivery, request, &self.config.sink, finished, kind)
                .await;
        }
        let results = match spool.read() {
            Ok(results) => results,
            Err(error) => return self.fail_reading(delivery, request, &error).await,
        };
        let mut batch: Vec<(usize, Bytes)> = Vec::new();
        let mut bytes = 0;
        for (index, result) in results.enumerate() {
            let result = match result {
                Ok(result) => result,
                Err(error) => return self.fail_reading(delivery, request, &error).await,
            };
            bytes += result.len();
            batch.push((published + index, result));
            if batch.len() >= BATCH || bytes >= BATCH_BYTES {
                bytes = 0;
                let full = std::mem::take(&mut batch);
                self.publish_batch(delivery, request, full).await?;
            }
        }
        self.publish_batch(delivery, request, batch).await
    }

    async fn publish_batch(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        batch: Vec<(usize, Bytes)>,
    ) -> Result<(), Abandoned> {
        let results = batch.into_iter();
        let sent =
            results.map(|(index, result)| self.publish_result(delivery, request, result, index));
        try_join_all(sent).await.map(|_| ())
    }

    /// Publishes one result.
    pub(super) async fn publish_result(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        result: Bytes,
        index: usize,
    ) -> Result<(), Abandoned> {
        let frame = Frame::parse(&result);
        let next = frame.and_then(|frame| request.follow(frame, index, &self.config.actor));
        match next {
            Ok(next) => self.send_on(delivery, next, Kind::next).await,
            Err(error) => {
                let failure = Failure::protocol(error.to_string());
                self.fail(delivery, request, &failure).await
            }
        }
    }

    /// Sends an envelope to the next actor of its route, or to the sink.
    pub(super) async fn send_on(
        &self,
        delivery: &Work<'_>,
        mut envelope: Envelope,
        kind: Kind,
    ) -> Result<(), Abandoned> {
        envelope.headers.remove(FIRST_ATTEMPT);
        let Some(actor) = route::next_actor(&mut envelope, &self.config.actor) else {
            let original = envelope.clone();
            let finished = self.finished(envelope);
            let sink = &self.config.sink;
            return self
                .send_or_fail(delivery, &original, sink, finished, Kind::sink)
                .await;
        };
        if envelope
            .status
            .get("phase")
            .and_then(|phase| phase.as_str())
            != Some("failed")
        {
            envelope.stamp(Phase::Pending, &actor, Timestamp::now());
            envelope.stamp_attempt(1, 1);
        }
        let body = envelope.to_bytes().into();
        self.send_or_fail(delivery, &envelope, &actor, body, kind)
            .await
    }

    fn finished(&self, mut envelope: Envelope) -> Bytes {
        envelope.headers.remove(FIRST_ATTEMPT);
        if envelope
            .status
            .get("phase")
            .and_then(|phase| phase.as_str())
            != Some("failed")
        {
            envelope.stamp(Phase::Succeeded, &self.config.actor, Timestamp::now());
            envelope
                .status
                .insert("reason".to_owned(), "Completed".into());
        }
        envelope.to_bytes().into()
    }

    /// Sends a message; where no queue takes it, a failure goes to the sump.
    async fn send_or_fail(
        &self,
        delivery: &Work<'_>,
        envelope: &Envelope,
        actor: &str,
        body: Bytes,
        kind: Kind,
    ) -> Result<(), Abandoned> {
        let failure = match self.deliver(delivery, actor, body, &[], kind).await? {
            Ok(()) => return Ok(()),
            Err(Undeliverable::Unroutable) => Failure::unroutable(actor),
            Err(Undeliverable::TooLarge { bytes, limit }) => {
                let failure = Failure::too_large(actor, bytes, limit);
                // The result fits nowhere. What the handler was given does: it came from a queue.
                return self.fail_whole(delivery, &failure).await;
            }
        };
        self.fail(delivery, envelope, &failure).await
    }

    /// Sends a failed message to the sump.
    pub(super) async fn fail(
        &self,
        delivery: &Work<'_>,
        envelope: &Envelope,
        failure: &Failure,
    ) -> Result<(), Abandoned> {
        let failed = envelope.failed(failure, &self.config.actor, Timestamp::now());
        let id = envelope.id();
        tracing::warn!(
            id,
            code = failure.code,
            error = failure.message,
            "to the sump"
        );
        self.gateway.failed(&failed, failure);
        let body = failed.to_bytes().into();
        let sump = &self.config.sump;
        match self.deliver(delivery, sump, body, &[], Kind::sump).await? {
            Ok(()) => Ok(()),
            Err(_) => self.discard(delivery, &failure.message).await,
        }
    }

    /// Sends the message as it was received to the sump, with a failure.
    async fn fail_whole(&self, delivery: &Work<'_>, failure: &Failure) -> Result<(), Abandoned> {
        match Envelope::parse(&delivery.body) {
            Ok(envelope) => Box::pin(self.fail(delivery, &envelope, failure)).await,
            Err(_) => self.discard(delivery, &failure.message).await,
        }
    }

    /// Sends the bytes as they were received to the sump, with the reason as an attribute.
    pub(super) async fn discard(&self, delivery: &Work<'_>, reason: &str) -> Result<(), Abandoned> {
        tracing::warn!(
            reason,
            bytes = delivery.body.len(),
            "to the sump as it came"
        );
        let attributes = [
            ("x-asya-error", reason.to_owned()),
            ("x-asya-actor", self.config.actor.clone()),
        ];
        let sump = &self.config.sump;
        let body = delivery.body.clone();
        let sent = self.deliver(delivery, sump, body, &attributes, Kind::sump);
        if sent.await?.is_err() {
            // It came from a queue, and the sump's takes less. Only a person can help.
            tracing::error!("the sump does not take a message of this size: it stays in the queue");
            return Err(Abandoned::Stopping);
        }
        Ok(())
    }

    async fn fail_reading(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        error: &std::io::Error,
    ) -> Result<(), Abandoned> {
        let text = format!("cannot read the results in the temporary folder: {error}");
        self.fail(delivery, request, &Failure::protocol(text)).await
    }

    /// Queues another attempt. Where the broker cannot delay a message it waits here, unacknowledged, and
    /// then goes to the end of the actor's own queue.
    pub(super) async fn retry(
        &self,
        delivery: &Work<'_>,
        body: Bytes,
        after: Duration,
    ) -> Result<(), Abandoned> {
        let mut after = after;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let start = Instant::now();
            let _span = delivery.span.part(Part::Send(&self.config.actor));
            if delivery.settle.is_lost() {
                return Err(Abandoned::Lost);
            }
            match self.transport.send_later(body.clone(), after).await {
                Ok(()) => {
                    self.metrics.sent(Kind::retry, start.elapsed());
                    return Ok(());
                }
                Err(SendError::NoDelay) => {
                    self.hold(delivery, after).await?;
                    after = Duration::ZERO;
                }
                Err(error) => {
                    self.not_sent(&error);
                    self.hold(delivery, backoff.pause()).await?;
                }
            }
        }
    }

    /// Sends a message, as often as it takes. Only what no queue takes is given up.
    async fn deliver(
        &self,
        delivery: &Work<'_>,
        actor: &str,
        body: Bytes,
        attributes: Attributes<'_>,
        kind: Kind,
    ) -> Result<Result<(), Undeliverable>, Abandoned> {
        let begin = Instant::now();
        let span = delivery.span.part(Part::Send(actor));
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            if delivery.settle.is_lost() {
                return Err(Abandoned::Lost);
            }
            let start = Instant::now();
            let sent = self.transport.send(actor, body.clone(), attributes).await;
            let Err(error) = sent else {
                self.metrics.sent(kind, start.elapsed());
                self.set_routable(actor, true);
                return Ok(Ok(()));
            };
            self.not_sent(&error);
            span.failed(error.kind(), &error.to_string());
            let pause = match error {
                SendError::TooLarge { bytes, limit } => {
                    return Ok(Err(Undeliverable::TooLarge { bytes, limit }));
                }
                // Without the sump there is nowhere else to send it.
                SendError::Unroutable(_) if kind != Kind::sump => {
                    let is_known = !self.is_routable(actor);
                    if is_known || begin.elapsed() >= self.config.unroutable_grace {
                        self.set_routable(actor, false);
                        return Ok(Err(Undeliverable::Unroutable));
                    }
                    UNROUTABLE_PAUSE
                }
                error => {
                    let pause = backoff.pause();
                    tracing::warn!(actor, %error, ?pause, "message not sent: trying again");
                    pause
                }
            };
            self.hold(delivery, pause).await?;
        }
    }

    /// Waits with a message that is not acknowledged.
    async fn hold(&self, delivery: &Work<'_>, pause: Duration) -> Result<(), Abandoned> {
        let deadline = Instant::now() + pause;
        let mut stop = self.stop.clone();
        while Instant::now() < deadline {
            if delivery.settle.is_lost() {
                return Err(Abandoned::Lost);
            }
            let next = deadline.min(Instant::now() + Duration::from_secs(1));
            tokio::select! {
                biased;
                () = stop.requested() => return Err(Abandoned::Stopping),
                () = tokio::time::sleep_until(next) => {}
            }
        }
        Ok(())
    }

    fn not_sent(&self, error: &SendError) {
        let reason = match error {
            SendError::Unroutable(_) | SendError::NoDelay => PublishError::unroutable,
            SendError::TooLarge { .. } => PublishError::too_large,
            SendError::Refused(_) => PublishError::refused,
            SendError::Disconnected(_) => PublishError::disconnected,
        };
        self.metrics.not_sent(reason);
    }

    fn is_routable(&self, actor: &str) -> bool {
        let unroutable = self.unroutable.lock();
        !unroutable
            .unwrap_or_else(PoisonError::into_inner)
            .contains(actor)
    }

    fn set_routable(&self, actor: &str, is_routable: bool) {
        let unroutable = self.unroutable.lock();
        let mut unroutable = unroutable.unwrap_or_else(PoisonError::into_inner);
        if is_routable {
            unroutable.remove(actor);
        } else if unroutable.len() < 1000 {
            unroutable.insert(actor.to_owned());
        }
    }
}
