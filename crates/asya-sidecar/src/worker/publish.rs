//! Publishing what follows from a message. While a broker does not take it, the message stays
//! unacknowledged, and so with the broker.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use jiff::Timestamp;
use tokio::time::Instant;

use super::{Work, Worker};
use crate::envelope::{Envelope, Frame, Phase};
use crate::failure::Failure;
use crate::metrics::{Kind, Outcome, PublishError};
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

/// Time for the confirm of a message that is published while the sidecar ends.
const LAST_CONFIRM: Duration = Duration::from_secs(10);

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

/// The outcome of two results of one message: a failure counts.
pub(super) fn worse(one: Outcome, other: Outcome) -> Outcome {
    if one == Outcome::succeeded {
        other
    } else {
        one
    }
}

impl Worker {
    /// Publishes the results of a handler, the first of which has this index. The outcome is
    /// [`Outcome::failed`] if any of them went to the sump.
    pub(super) async fn publish_results(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        spool: Spool,
        published: usize,
    ) -> Result<Outcome, Abandoned> {
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
        let mut outcome = Outcome::succeeded;
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
                outcome = worse(outcome, self.publish_batch(delivery, request, full).await?);
            }
        }
        let last = self.publish_batch(delivery, request, batch).await?;
        Ok(worse(outcome, last))
    }

    async fn publish_batch(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        batch: Vec<(usize, Bytes)>,
    ) -> Result<Outcome, Abandoned> {
        let results = batch.into_iter();
        let sent =
            results.map(|(index, result)| self.publish_result(delivery, request, result, index));
        let outcomes = try_join_all(sent).await?;
        Ok(outcomes.into_iter().fold(Outcome::succeeded, worse))
    }

    /// Publishes one result.
    pub(super) async fn publish_result(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        result: Bytes,
        index: usize,
    ) -> Result<Outcome, Abandoned> {
        let frame = Frame::parse(&result);
        let next = frame.and_then(|frame| request.follow(frame, index, &self.config.actor));
        match next {
            Ok(next) => self.send_on(delivery, next, Kind::next).await,
            Err(error) => {
                let failure = Failure::protocol(error.to_string());
                self.fail_once(delivery, request, &failure).await
            }
        }
    }

    /// Sends an envelope to the next actor of its route, or to the sink.
    pub(super) async fn send_on(
        &self,
        delivery: &Work<'_>,
        mut envelope: Envelope,
        kind: Kind,
    ) -> Result<Outcome, Abandoned> {
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
    ) -> Result<Outcome, Abandoned> {
        let failure = match self.deliver(delivery, actor, body, &[], kind).await? {
            Ok(()) => return Ok(Outcome::succeeded),
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
    ) -> Result<Outcome, Abandoned> {
        let failed = envelope.failed(failure, &self.config.actor, Timestamp::now());
        // The text of an error often quotes the payload: it is in the sump, and not in the log.
        tracing::warn!(
            id = envelope.id(),
            attempt = envelope.attempt(),
            code = failure.code,
            r#type = failure.r#type,
            "failed: to the sump"
        );
        self.gateway.failed(&failed, failure);
        let body = failed.to_bytes().into();
        let sump = &self.config.sump;
        match self.deliver(delivery, sump, body, &[], Kind::sump).await? {
            Ok(()) => Ok(Outcome::failed),
            Err(_) => self.discard(delivery, &failure.message).await,
        }
    }

    /// Sends the message to the sump, unless one of its other results has led to that already: the
    /// sump gets one copy.
    async fn fail_once(
        &self,
        delivery: &Work<'_>,
        envelope: &Envelope,
        failure: &Failure,
    ) -> Result<Outcome, Abandoned> {
        if delivery.is_in_sump.swap(true, Ordering::Relaxed) {
            return Ok(Outcome::failed);
        }
        self.fail(delivery, envelope, failure).await
    }

    /// Sends the message as it was received to the sump, with a failure.
    async fn fail_whole(
        &self,
        delivery: &Work<'_>,
        failure: &Failure,
    ) -> Result<Outcome, Abandoned> {
        match Envelope::parse(&delivery.body) {
            Ok(envelope) => Box::pin(self.fail_once(delivery, &envelope, failure)).await,
            Err(_) => self.discard(delivery, &failure.message).await,
        }
    }

    /// Sends the bytes as they were received to the sump, with the reason as an attribute. Where the
    /// sump takes less than the actor's own queue, it gets them without attributes.
    pub(super) async fn discard(
        &self,
        delivery: &Work<'_>,
        reason: &str,
    ) -> Result<Outcome, Abandoned> {
        let bytes = delivery.body.len();
        tracing::warn!(bytes, "to the sump as it was received");
        let attributes = [
            ("x-asya-error", reason.to_owned()),
            ("x-asya-actor", self.config.actor.clone()),
        ];
        let sump = &self.config.sump;
        for attributes in [&attributes[..], &[]] {
            let body = delivery.body.clone();
            let sent = self.deliver(delivery, sump, body, attributes, Kind::sump);
            if sent.await?.is_ok() {
                return Ok(Outcome::failed);
            }
        }
        tracing::error!(
            bytes,
            "the sump takes no message of this size: rejected, for the dead-letter queue"
        );
        Ok(Outcome::rejected)
    }

    async fn fail_reading(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        error: &std::io::Error,
    ) -> Result<Outcome, Abandoned> {
        let text = format!("cannot read the results in the temporary folder: {error}");
        let failure = Failure::protocol(text);
        self.fail_once(delivery, request, &failure).await
    }

    /// Queues another attempt. Where the broker cannot delay a message it waits here, unacknowledged, and
    /// then goes to the end of the actor's own queue. A message that its error has made too large for the
    /// queue is not retried.
    pub(super) async fn retry(
        &self,
        delivery: &Work<'_>,
        body: Bytes,
        after: Duration,
    ) -> Result<Outcome, Abandoned> {
        let mut after = after;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let start = Instant::now();
            let _span = delivery.span.part(Part::Send(&self.config.actor));
            if delivery.settle.is_lost() {
                return Err(Abandoned::Lost);
            }
            let sent = self.transport.send_later(body.clone(), after);
            match self.until_stopped(sent).await? {
                Ok(()) => {
                    self.metrics.sent(Kind::retry, start.elapsed());
                    return Ok(Outcome::retried);
                }
                Err(SendError::TooLarge { bytes, limit }) => {
                    self.not_sent(&SendError::TooLarge { bytes, limit });
                    if self.config.is_end_actor {
                        return Ok(Outcome::rejected);
                    }
                    let failure = Failure::too_large(&self.config.actor, bytes, limit);
                    return self.fail_whole(delivery, &failure).await;
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
        let mut is_reported = false;
        loop {
            if delivery.settle.is_lost() {
                return Err(Abandoned::Lost);
            }
            let start = Instant::now();
            let sent = self.transport.send(actor, body.clone(), attributes);
            let Err(error) = self.until_stopped(sent).await? else {
                self.metrics.sent(kind, start.elapsed());
                self.set_routable(actor, true);
                return Ok(Ok(()));
            };
            self.not_sent(&error);
            span.failed(error.kind());
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
                    if !is_reported {
                        tracing::warn!(actor, %error, "message not sent: trying until it is");
                        is_reported = true;
                    }
                    backoff.pause()
                }
            };
            self.hold(delivery, pause).await?;
        }
    }

    /// Waits for a broker's confirm, but not for long once the sidecar is to end: a broker that blocks
    /// publishers confirms nothing. The message is delivered again, and what was sent may be there twice.
    async fn until_stopped<T>(&self, sent: impl Future<Output = T>) -> Result<T, Abandoned> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            sent = sent => Ok(sent),
            () = async {
                stop.requested().await;
                tokio::time::sleep(LAST_CONFIRM).await;
            } => Err(Abandoned::Stopping),
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
