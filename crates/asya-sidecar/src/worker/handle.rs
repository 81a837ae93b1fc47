//! One message.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::publish::{Abandoned, worse};
use super::{End, Work, Worker};
use crate::config::PublishFrames;
use crate::envelope::{Envelope, Phase, timestamp};
use crate::failure::Failure;
use crate::gateway::Step;
use crate::metrics::{Kind, Outcome, RuntimeError};
use crate::retry::{Decision, FIRST_ATTEMPT};
use crate::route;
use crate::runtime::{Call, Event};
use crate::spool::{MEMORY_BYTES, Spool};
use crate::trace::{Part, Untraced};
use crate::transport::Delivery;

/// A deadline counts as over this long before it is.
const DEADLINE_MARGIN: Duration = Duration::from_secs(1);

/// Time for giving a message back while the sidecar ends.
const LAST_SETTLEMENT: Duration = Duration::from_secs(5);

/// Outcome of a call of the handler.
enum Answer {
    /// The handler has ended; its results, less those that are published already, and their outcome.
    Results(Spool, usize, Outcome),
    Failed(Failure),
    TimedOut,
    Broken,
}

impl Worker {
    /// Processes a delivery, and settles it unless the runtime is lost.
    pub(super) async fn handle(&self, delivery: &Delivery) -> End {
        let start = Instant::now();
        let _in_flight = self.metrics.in_flight();
        let mut work = Work {
            delivery,
            span: Box::new(Untraced),
            is_in_sump: AtomicBool::new(false),
        };
        let (end, outcome) = match self.process(&mut work).await {
            Ok((end, Outcome::rejected)) => {
                delivery.settle.reject().await;
                (end, Outcome::rejected)
            }
            Ok((End::RuntimeLost, outcome)) => (End::RuntimeLost, outcome),
            Ok((end, outcome)) => {
                let is_acknowledged = delivery.settle.acknowledge().await;
                (
                    end,
                    if is_acknowledged {
                        outcome
                    } else {
                        Outcome::lost
                    },
                )
            }
            Err(Abandoned::Lost) => (End::Settled, Outcome::lost),
            Err(Abandoned::Stopping) => {
                // A broker that blocks publishers takes this later: the connection ends first.
                let back = delivery.settle.give_back();
                drop(tokio::time::timeout(LAST_SETTLEMENT, back).await);
                (End::Settled, Outcome::returned)
            }
        };
        if outcome == Outcome::lost {
            tracing::warn!("the broker has taken a message back: it is delivered again");
        }
        self.metrics.processed(outcome, start.elapsed());
        work.span.outcome(outcome.as_str());
        end
    }

    async fn process(&self, delivery: &mut Work<'_>) -> Result<(End, Outcome), Abandoned> {
        let config = &self.config;
        let now = Timestamp::now();
        let parsed = if config.is_end_actor {
            let parsed = Envelope::parse_lenient(&delivery.body);
            parsed.or_else(|reason| Ok(Envelope::wrap(&delivery.body, &config.actor, &reason)))
        } else {
            Envelope::parse(&delivery.body)
        };
        let mut envelope = match parsed {
            Ok(envelope) => envelope,
            Err(reason) => {
                self.metrics.received(None);
                let reason: crate::envelope::InvalidEnvelope = reason;
                let outcome = self.discard(delivery, &reason.to_string()).await?;
                return Ok((End::Settled, outcome));
            }
        };
        let waited = envelope
            .time("created_at")
            .map(|created| since(created, now));
        self.metrics.received(waited);
        delivery.span = self.tracer.message(&mut envelope);
        if !config.is_end_actor {
            self.gateway.progress(&envelope, Step::Received);
        }
        if !config.is_end_actor {
            if !route::is_for(&envelope, &config.actor) {
                let failure = Failure::route_mismatch(&envelope.route.curr, &config.actor);
                let outcome = self.fail(delivery, &envelope, &failure).await?;
                return Ok((End::Settled, outcome));
            }
            if let Some(deadline) = envelope.time("deadline_at")
                && now + DEADLINE_MARGIN >= deadline
            {
                let failure = Failure::deadline(&timestamp(deadline));
                let outcome = self.fail(delivery, &envelope, &failure).await?;
                return Ok((End::Settled, outcome));
            }
        }
        self.call(delivery, &envelope, now).await
    }

    /// Calls the handler, and sends on what follows.
    async fn call(
        &self,
        delivery: &Work<'_>,
        envelope: &Envelope,
        now: Timestamp,
    ) -> Result<(End, Outcome), Abandoned> {
        let config = &self.config;
        let attempt = envelope.attempt();
        let mut request = envelope.clone();
        request.stamp(Phase::Processing, &config.actor, now);
        request.stamp_attempt(attempt, config.retries.max_attempts());
        let limit = self.limit(envelope, now);
        if !config.is_end_actor {
            self.gateway.progress(&request, Step::Processing);
        }
        let start = Instant::now();
        let span = delivery.span.part(Part::Call);
        let answer = self.answer(delivery, &request, start + limit).await?;
        if let Answer::Failed(failure) = &answer {
            span.failed(&failure.r#type);
        }
        drop(span);
        let error = match &answer {
            Answer::Results(..) => None,
            Answer::Failed(_) => Some(RuntimeError::handler),
            Answer::TimedOut => Some(RuntimeError::timeout),
            Answer::Broken => Some(RuntimeError::connection),
        };
        self.metrics.called(start.elapsed(), error);
        match answer {
            Answer::Broken => Ok((End::RuntimeLost, Outcome::returned)),
            Answer::Results(spool, published, eager) => {
                if config.is_end_actor {
                    let is_sump = config.actor == config.sump;
                    self.gateway.finished(envelope, is_sump);
                    return Ok((End::Settled, Outcome::succeeded));
                }
                self.gateway.progress(&request, Step::Completed);
                let outcome = self
                    .publish_results(delivery, &request, spool, published)
                    .await?;
                Ok((End::Settled, worse(eager, outcome)))
            }
            Answer::Failed(failure) => {
                let outcome = self.failed(delivery, &request, failure, now).await?;
                Ok((End::Settled, outcome))
            }
            Answer::TimedOut => {
                let failure = Failure::timeout(limit);
                let outcome = self.failed(delivery, &request, failure, now).await?;
                Ok((End::TimedOut, outcome))
            }
        }
    }

    /// Returns the time limit of the handler: its timeout, and no longer than to the message's deadline.
    fn limit(&self, envelope: &Envelope, now: Timestamp) -> Duration {
        let timeout = self.config.timeout;
        match envelope.time("deadline_at") {
            Some(deadline) if !self.config.is_end_actor => timeout.min(since(now, deadline)),
            _ => timeout,
        }
    }

    async fn answer(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        deadline: Instant,
    ) -> Result<Answer, Abandoned> {
        let body = Bytes::from(request.to_bytes());
        let mut call = match timeout_at(deadline, self.runtime.invoke(body)).await {
            Err(_) => return Ok(Answer::TimedOut),
            Ok(Err(error)) => {
                tracing::warn!(id = request.id(), %error, "call broken: the message goes back");
                return Ok(Answer::Broken);
            }
            Ok(Ok(call)) => call,
        };
        let mut spool = Spool::new(MEMORY_BYTES);
        let mut published = 0;
        let mut outcome = Outcome::succeeded;
        loop {
            let event = match timeout_at(deadline, next(&mut call)).await {
                Err(_) => return Ok(Answer::TimedOut),
                Ok(None) => return Ok(Answer::Broken),
                Ok(Some(event)) => event,
            };
            match event {
                Event::Done => return Ok(Answer::Results(spool, published, outcome)),
                Event::Failed(failure) => return Ok(Answer::Failed(failure)),
                Event::Upstream(data) => self.gateway.fly(request, &data),
                Event::Downstream(_) if self.config.is_end_actor => {}
                Event::Downstream(frame) if self.config.publish == PublishFrames::Eager => {
                    let sent = self.publish_result(delivery, request, frame, published);
                    outcome = worse(outcome, sent.await?);
                    published += 1;
                }
                Event::Downstream(frame) => {
                    if let Err(error) = spool.push(frame) {
                        let text =
                            format!("cannot keep the results in the temporary folder: {error}");
                        return Ok(Answer::Failed(Failure::protocol(text)));
                    }
                }
            }
        }
    }

    /// Retries a message on which the handler has failed, or gives up.
    async fn failed(
        &self,
        delivery: &Work<'_>,
        request: &Envelope,
        mut failure: Failure,
        now: Timestamp,
    ) -> Result<Outcome, Abandoned> {
        let config = &self.config;
        let attempt = request.attempt();
        let first = request.header(FIRST_ATTEMPT);
        let first = first.and_then(|first| first.parse().ok()).unwrap_or(now);
        let elapsed = since(first, Timestamp::now());
        delivery.span.failed(&failure.r#type);
        let decision = if failure.code == "msg_parsing_error" {
            // It would be refused again.
            Decision::Fail {
                max_attempts: attempt,
                to: Vec::new(),
                reason: None,
            }
        } else {
            config
                .retries
                .decide(&failure, attempt, elapsed, fastrand::f64())
        };
        let decision = match (decision, request.time("deadline_at")) {
            // The next attempt would not be made.
            (
                Decision::Retry {
                    after,
                    max_attempts,
                },
                Some(deadline),
            ) if since(Timestamp::now(), deadline) < after + DEADLINE_MARGIN => Decision::Fail {
                max_attempts,
                to: Vec::new(),
                reason: Some("Timeout"),
            },
            (decision, _) => decision,
        };
        let id = request.id();
        match decision {
            Decision::Retry {
                after,
                max_attempts,
            } => {
                let mut next = request.clone();
                next.stamp_failure(Phase::Retrying, &failure, &config.actor, Timestamp::now());
                next.stamp_attempt(attempt + 1, max_attempts);
                next.set_header(FIRST_ATTEMPT, &timestamp(first));
                let outcome = self.retry(delivery, next.to_bytes().into(), after).await?;
                if outcome == Outcome::retried {
                    tracing::info!(
                        id,
                        attempt,
                        max_attempts,
                        r#type = failure.r#type,
                        ?after,
                        "retry"
                    );
                }
                Ok(outcome)
            }
            Decision::Fail {
                max_attempts,
                to,
                reason,
            } => {
                if config.is_end_actor {
                    let (code, r#type) = (failure.code, &failure.r#type);
                    tracing::warn!(id, attempt, code, r#type, "failed: rejected");
                    return Ok(Outcome::rejected);
                }
                let mut request = request.clone();
                request.stamp_attempt(attempt, max_attempts);
                failure.reason = reason.unwrap_or(failure.reason);
                match to.split_first() {
                    None => self.fail(delivery, &request, &failure).await,
                    Some((curr, next)) => {
                        let (code, r#type) = (failure.code, &failure.r#type);
                        tracing::warn!(id, attempt, code, r#type, to = curr, "failed: sent on");
                        let now = Timestamp::now();
                        request.stamp_failure(Phase::Failed, &failure, &config.actor, now);
                        request.route = request.route.shifted();
                        request.route.curr.clone_from(curr);
                        request.route.next = next.to_vec();
                        let sent = self.send_on(delivery, request, Kind::next).await?;
                        Ok(worse(sent, Outcome::failed))
                    }
                }
            }
        }
    }
}

/// The next event; none where the connection is broken.
async fn next(call: &mut Call) -> Option<Event> {
    match call.next().await {
        Ok(event) => Some(event),
        Err(error) => {
            tracing::warn!(%error, "call broken: the message goes back");
            None
        }
    }
}

/// The time from one moment to a later one; nothing where it is earlier.
fn since(earlier: Timestamp, later: Timestamp) -> Duration {
    Duration::try_from(later.duration_since(earlier)).unwrap_or_default()
}
