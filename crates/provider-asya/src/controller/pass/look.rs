//! The first half of a pass: look, as deep as it needs to, decide, and put what was seen into the status.

use std::time::Duration;

use actor::queue::Location;
use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::{Pass, Stop};
use crate::conditions::Statement;
use crate::controller::connect::Connection;
use crate::controller::memory::Wanted;
use crate::controller::{scalers, writes};
use crate::counters::{self, Counters};
use crate::creation;
use crate::plan::{self, Adoption, Deletion, Facts, Step};
use crate::policies::Policies;
use crate::transport::{Depth, Drift, DriftKind, Found, Observation};

impl Pass<'_> {
    /// Looks, as deep as it needs to, and decides.
    pub(super) async fn decide(
        &mut self,
        policies: &Policies,
        connection: &Connection,
        name: &str,
    ) -> Result<(Step, Option<Found>), Stop> {
        let wanted = Wanted {
            generation: self.queue.metadata.generation.unwrap_or_default(),
            config: connection.config.clone(),
        };
        let needs_whole = self
            .memory
            .needs_whole_look(&wanted, self.context.timings.whole_look);
        let is_in_doubt = creation::is_in_doubt(self.queue.annotations());
        let counts_letters = self.counters.is_some()
            && self
                .memory
                .misses_letters(self.context.timings.dead_letters);
        let mut depth = if needs_whole || is_in_doubt || self.is_deleted() {
            Depth::Whole
        } else if counts_letters {
            Depth::Letters
        } else {
            Depth::Glance
        };
        loop {
            let observation = self.observe(policies, connection, depth).await?;
            if let Observation::Present(found) = &observation
                && depth != Depth::Whole
                && found.drift != self.memory.accepted
                && found.has_settable_drift()
            {
                depth = Depth::Whole;
                continue;
            }
            let facts = Facts {
                name,
                observation: &observation,
                mark: &connection.mark,
                policies,
                adoption: self.adoption(connection),
                is_new: !self.memory.is_queue_deleted && self.is_new(),
                is_in_doubt,
                deletion: self.deletion(&observation).await?,
                since_update: self.memory.updated.map(|at| at.elapsed()),
                settling: self.context.timings.settling,
            };
            let mut step = plan::decide(&facts);
            if depth != Depth::Whole && matches!(step, Step::Update(_)) {
                // What a whole look had no remedy for.
                step = Step::Rest;
            }
            let settles = facts.settles(&step);
            let found = match observation {
                Observation::Present(found) => Some(*found),
                Observation::Absent => None,
            };
            if depth != Depth::Glance {
                let counters = found.as_ref().and_then(|found| found.counters);
                let letters = counters.and_then(|counters| counters.dead_lettered);
                self.memory.letters = letters.map(|letters| (letters, Instant::now()));
            }
            if depth == Depth::Whole {
                let accepted = match &found {
                    Some(found) if settles && found.may_look_different() => {
                        self.glance(policies, connection).await?
                    }
                    _ => Vec::new(),
                };
                self.memory.accepted = accepted;
                self.memory.whole_look = settles.then(|| (wanted, Instant::now()));
                if let Some(found) = &found {
                    self.say(Statement::drifted(lasting(&found.drift)));
                    self.say(Statement::shadowed(found.shadowed.clone()));
                }
            }
            return Ok((step, found));
        }
    }

    /// What a glance shows after a whole look that had no remedy for it.
    async fn glance(
        &self,
        policies: &Policies,
        connection: &Connection,
    ) -> Result<Vec<Drift>, Stop> {
        let seen = self.observe(policies, connection, Depth::Glance).await?;
        Ok(match seen {
            Observation::Present(found) => found.drift,
            Observation::Absent => Vec::new(),
        })
    }

    async fn observe(
        &self,
        policies: &Policies,
        connection: &Connection,
        depth: Depth,
    ) -> Result<Observation, Stop> {
        let external = &connection.external;
        self.check_location(policies, &external.location())?;
        let observation = self
            .within(external.observe(depth))
            .await
            .map_err(|fault| self.fault("CannotObserveExternalResource", "observe", &fault))?;
        if let Observation::Present(found) = &observation {
            self.check_location(policies, &found.location)?;
        }
        Ok(observation)
    }

    /// Whether the queue was made just now, and may not be visible yet.
    fn is_new(&self) -> bool {
        let grace = self.context.timings.creation_grace;
        creation::is_recent(self.queue.annotations(), Timestamp::now(), grace)
    }

    fn adoption(&self, connection: &Connection) -> Adoption {
        match (self.queue.spec.for_provider.adopt, connection.may_adopt) {
            (false, _) => Adoption::NotAsked,
            (true, false) => Adoption::Forbidden,
            (true, true) => Adoption::Allowed,
        }
    }

    async fn deletion(&mut self, observation: &Observation) -> Result<Option<Deletion>, Stop> {
        let Some(deleted) = self
            .queue
            .metadata
            .deletion_timestamp
            .as_ref()
            .map(|time| time.0)
        else {
            return Ok(None);
        };
        let timings = &self.context.timings;
        let is_empty = matches!(observation, Observation::Present(found) if found.held == Some(0));
        self.memory.empty_since =
            is_empty.then(|| self.memory.empty_since.unwrap_or_else(Instant::now));
        let age = Duration::try_from(Timestamp::now().duration_since(deleted)).unwrap_or_default();
        let mut scalers_remain = false;
        if let Some(actor) = self.queue.labels().get(actor::labels::ACTOR)
            && age < timings.scalers
        {
            let namespace = self.queue.namespace().unwrap_or_default();
            scalers_remain = scalers::remain(&self.context.client, &namespace, actor).await?;
        }
        let empty_since = self.memory.empty_since;
        let is_surely_empty = empty_since.is_some_and(|since| since.elapsed() >= timings.empty_for);
        Ok(Some(Deletion {
            others_hold_it: writes::others_hold(&self.queue),
            scalers_remain,
            waits_for_empty: self.queue.spec.for_provider.delete_only_if_empty && !is_surely_empty,
        }))
    }

    /// A queue that is only looked at may be looked for elsewhere.
    fn check_location(&self, policies: &Policies, now: &Location) -> Result<(), Stop> {
        let recorded = self.old.at_provider.location.as_ref();
        let recorded = recorded.filter(|_| !policies.only_observe());
        match recorded.and_then(|recorded| plan::moved(recorded, now)) {
            Some(difference) => Err(self.moved(&difference)),
            None => Ok(()),
        }
    }

    /// Puts what was seen into the status.
    pub(super) fn report(&mut self, found: &Found) {
        let at_provider = &mut self.status.at_provider;
        at_provider.url.clone_from(&found.url);
        at_provider.arn.clone_from(&found.arn);
        at_provider.location = Some(found.location.clone());
        let written = Counters::read(at_provider);
        let Some((interval, seen)) = self.counters.zip(found.counters) else {
            Counters::write(None, at_provider);
            return;
        };
        let seen = Counters {
            dead_lettered: self.memory.letters.map(|(letters, _)| letters),
            ..seen
        };
        let ago = self.memory.counted.map(|at| at.elapsed());
        if counters::are_worth_writing(written, seen, ago, interval) {
            Counters::write(Some(seen), at_provider);
            self.memory.counted = Some(Instant::now());
        }
    }
}

/// The differences that will stay, in words.
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
                    "drain the queue, delete it and let it be made anew to change that"
                }
                DriftKind::Withheld => "writing it could lose messages, so it is left alone",
            };
            Some(format!(
                "{what} is {have:?} and should be {want:?}: {advice}"
            ))
        })
        .collect();
    (!lasting.is_empty()).then(|| lasting.join("; "))
}
