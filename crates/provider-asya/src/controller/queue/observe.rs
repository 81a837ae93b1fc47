//! The first half of a reconcile: observe the queue, decide what to do, report what was observed.

use actor::labels;
use actor::queue::Location;
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::reconcile::{EarlyExit, Failure, Reconciler};
use super::state::SpecVersion;
use crate::conditions::ConditionUpdate;
use crate::controller::connect::Connection;
use crate::counters::{self, Counters};
use crate::external_create;
use crate::plan::{self, Adoption, PlanInput, Step};
use crate::policies::Policies;
use crate::transport::{Depth, Drift, DriftKind, Observation, ObservedQueue, Ownership};

impl Reconciler<'_> {
    /// Observes the queue, as deep as needed, and decides.
    pub(super) async fn observe_and_plan(
        &mut self,
        policies: &Policies,
        connection: &Connection,
        name: &str,
    ) -> Result<(Step, Option<ObservedQueue>), EarlyExit> {
        let desired = SpecVersion {
            generation: self.queue().metadata.generation.unwrap_or_default(),
            config: connection.config.clone(),
        };
        let is_incomplete = external_create::is_incomplete(self.queue().annotations());
        let mut depth = self.depth(&desired, is_incomplete);
        loop {
            let observation = self.observe(policies, connection, depth).await?;
            if let Observation::Present(observed) = &observation {
                self.state.is_counted = observed.counters.is_some();
            }
            if depth == Depth::Quick && self.needs_dead_letters() {
                // The broker counts messages again.
                depth = Depth::WithDeadLetters;
                continue;
            }
            if let Observation::Present(observed) = &observation
                && depth != Depth::Full
            {
                if !observed.has_settable_drift() {
                    self.state.accepted.clear();
                } else if observed.drift != self.state.accepted {
                    depth = Depth::Full;
                    continue;
                }
            }
            let input = PlanInput {
                name,
                observation: &observation,
                owner_tag: &connection.owner_tag,
                policies,
                adoption: self.adoption(connection),
                is_new: !self.state.is_queue_deleted && self.is_new(),
                is_incomplete,
                deletion: self.deletion(&observation).await?,
                since_update: self.state.updated.map(|at| at.elapsed()),
                settling: self.context.timings.settling,
            };
            let mut step = plan::decide(&input);
            if depth != Depth::Full && matches!(step, Step::Update(_)) {
                // A full observation had no remedy for this drift.
                step = Step::NoOp;
            }
            let settles = input.settles(&step);
            let observed = match observation {
                Observation::Present(observed) => Some(*observed),
                Observation::Missing => None,
            };
            if depth != Depth::Quick {
                let counters = observed.as_ref().and_then(|observed| observed.counters);
                let count = counters.and_then(|counters| counters.dead_lettered);
                self.state.dead_letters = count.map(|count| (count, Instant::now()));
            }
            if depth == Depth::Full {
                let settled = observed.as_ref().filter(|_| settles);
                self.state.accepted =
                    settled.map_or_else(Vec::new, |observed| observed.quick_drift.clone());
                let is_pending = observed
                    .as_ref()
                    .is_some_and(|observed| observed.has_former_retry_queues);
                self.state.last_resync =
                    (settles && !is_pending).then(|| (desired, Instant::now()));
                if let Some(observed) = &observed {
                    self.managed
                        .set_condition(ConditionUpdate::drifted(lasting(&observed.drift)));
                    self.managed
                        .set_condition(ConditionUpdate::shadowed(observed.shadowed.clone()));
                }
            }
            return Ok((step, observed));
        }
    }

    /// Returns the depth of the first observation.
    fn depth(&self, desired: &SpecVersion, is_incomplete: bool) -> Depth {
        let timings = &self.context.timings;
        let needs_resync = self.state.needs_resync(desired, timings.resync_interval);
        if needs_resync || is_incomplete || self.managed.is_deleted() {
            Depth::Full
        } else if self.needs_dead_letters() {
            Depth::WithDeadLetters
        } else {
            Depth::Quick
        }
    }

    /// Returns whether dead letters are due to be counted. A broker that counts no messages, since its
    /// administrator turned statistics off, is not asked for them.
    fn needs_dead_letters(&self) -> bool {
        let interval = self.context.timings.dead_letters;
        let is_counted = self.counters.is_some() && self.state.is_counted;
        is_counted && self.state.needs_dead_letters(interval)
    }

    async fn observe(
        &self,
        policies: &Policies,
        connection: &Connection,
        depth: Depth,
    ) -> Result<Observation, Failure> {
        let external = &connection.external;
        self.check_location(policies, &external.location())?;
        let observation = self.within(external.observe(depth)).await;
        let observation = observation.map_err(|error| {
            self.broker_failure("CannotObserveExternalResource", "observe", &error)
        })?;
        if let Observation::Present(observed) = &observation {
            self.check_location(policies, &observed.location)?;
        }
        Ok(observation)
    }

    /// Returns whether the queue was created a moment ago and may not be visible yet.
    fn is_new(&self) -> bool {
        let grace = self.context.timings.creation_grace;
        external_create::is_recent(self.queue().annotations(), Timestamp::now(), grace)
    }

    fn adoption(&self, connection: &Connection) -> Adoption {
        match (self.queue().spec.for_provider.adopt, connection.may_adopt) {
            (false, _) => Adoption::NotRequested,
            (true, false) => Adoption::Forbidden,
            (true, true) => Adoption::Allowed,
        }
    }

    /// Refuses a changed location, unless the object only observes.
    fn check_location(&self, policies: &Policies, now: &Location) -> Result<(), Failure> {
        let recorded = self.managed.old.at_provider.location.as_ref();
        let recorded = recorded.filter(|_| !policies.only_observe());
        match recorded.and_then(|recorded| plan::moved(recorded, now)) {
            Some(difference) => Err(self.moved(&difference)),
            None => Ok(()),
        }
    }

    /// Records the owner of a queue that has the owner tag of this object.
    pub(super) fn report_owner(&mut self, observed: &ObservedQueue, connection: &Connection) {
        if observed.owner == Ownership::OwnedBy(connection.owner_tag.to_string()) {
            let at_provider = &mut self.managed.status.at_provider;
            at_provider.owner_id = Some(connection.owner_id.clone());
        }
    }

    /// Writes what was observed into the new status.
    pub(super) fn report(&mut self, observed: &ObservedQueue) {
        let at_provider = &mut self.managed.status.at_provider;
        at_provider.url.clone_from(&observed.url);
        at_provider.arn.clone_from(&observed.arn);
        at_provider.location = Some(observed.location.clone());
        if let Some(policies) = &observed.policies {
            at_provider.policies = Some(policies.clone());
        }
        if let Some(delays) = &observed.retry_delays {
            at_provider.retry_delays_seconds.clone_from(delays);
        }
        self.report_consumers(observed);
        let at_provider = &mut self.managed.status.at_provider;
        let written = Counters::read(at_provider);
        let Some((interval, counters)) = self.counters.zip(observed.counters) else {
            Counters::write(None, at_provider);
            return;
        };
        let counters = Counters {
            dead_lettered: self.state.dead_letters.map(|(count, _)| count),
            ..counters
        };
        let ago = self.state.counted.map(|at| at.elapsed());
        if counters::are_worth_writing(written, counters, ago, interval) {
            Counters::write(Some(counters), at_provider);
            self.state.counted = Some(Instant::now());
        }
    }
}

impl Reconciler<'_> {
    /// Sets the condition `NoConsumer` once messages have waited for
    /// [`Timings::unconsumed_for`](crate::timings::Timings::unconsumed_for) though a pod is ready.
    fn report_consumers(&mut self, observed: &ObservedQueue) {
        let timings = &self.context.timings;
        let Some((queued, consumers)) = observed
            .counters
            .map(|counters| counters.queued)
            .zip(observed.consumers)
        else {
            return;
        };
        let ready = if queued > 0 && consumers == 0 {
            self.ready_pods()
        } else {
            0
        };
        if ready == 0 {
            self.state.unconsumed_since = None;
            self.managed
                .set_condition(ConditionUpdate::no_consumer(None));
            return;
        }
        let since = *self.state.unconsumed_since.get_or_insert_with(Instant::now);
        // The next poll must not wait for the usual one.
        let poll = timings.unconsumed_poll;
        self.counters = Some(self.counters.map_or(poll, |interval| interval.min(poll)));
        if since.elapsed() >= timings.unconsumed_for {
            let message = format!(
                "messages wait and nobody consumes the queue, though {ready} of the actor's pods {} ready: see the \
                 log of the sidecar",
                if ready == 1 { "is" } else { "are" }
            );
            self.managed
                .set_condition(ConditionUpdate::no_consumer(Some(message)));
        }
    }

    /// Number of ready pods of the actor that the object is labelled with; 0 where they are not known.
    fn ready_pods(&self) -> usize {
        let labels = self.queue().labels();
        labels.get(labels::ACTOR).map_or(0, |actor| {
            let namespace = self.queue().namespace().unwrap_or_default();
            self.context.watch_cache.ready_pods(&namespace, actor)
        })
    }
}

/// Drift that the provider does not correct, as a message.
fn lasting(drift: &[Drift]) -> Option<String> {
    let lasting: Vec<String> = drift
        .iter()
        .filter_map(|drift| {
            let Drift {
                what, have, want, ..
            } = drift;
            let advice = match drift.kind {
                DriftKind::Settable => return None,
                DriftKind::Fixed => {
                    "to change it, drain the queue and delete it: the provider creates it again"
                }
                DriftKind::Withheld => "writing it could lose messages, so it stays as it is",
            };
            Some(format!(
                "{what} is {have:?} and should be {want:?}: {advice}"
            ))
        })
        .collect();
    (!lasting.is_empty()).then(|| lasting.join("; "))
}
