//! Derives the status of an ActorHealth from observed objects and its previous status.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::evicted::Eviction;
use super::facts::{Facts, HealthTimeouts, Scaler, desired};
use super::finding::{Finding, PodView};
use super::last_start;
use super::pod::Pod;
use super::signal;
use super::startup;
use super::{AtProvider, ForeignScaler, LastScale, Mounted, Signal, Time, volumes};
use crate::status::StatusReason;

/// A status, and the time until which it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub at_provider: AtProvider,
    /// After how long it may be something else although nothing has changed.
    pub look_again: Option<Duration>,
}

/// The objects that stuck pods mount: whether they are in the way should be known
/// before [`classify`] is asked.
pub fn questions(facts: &Facts<'_>, timeouts: &HealthTimeouts, now: Time) -> BTreeSet<Mounted> {
    let pods = present(facts).into_iter();
    pods.flat_map(|pod| volumes::questions(pod, timeouts, now))
        .collect()
}

/// Returns the status of an actor at `now`.
///
/// `before` is the previous status: it has the history of scaling and the beginning of a problem.
///
/// # Guarantees
/// The same facts, time and `before` give the same verdict, in whatever order the facts
/// come; and where nothing has changed it equals `before`.
pub fn classify(
    facts: &Facts<'_>,
    before: &AtProvider,
    timeouts: &HealthTimeouts,
    now: Time,
) -> Verdict {
    let live: Vec<&Pod> = selected(facts).filter(|pod| pod.is_live()).collect();
    let ready = count(&live, Pod::is_ready);
    let failing = count(&live, |pod| {
        pod.stays() && signal::is_failing(pod, timeouts, now)
    });
    let scalers = facts.scalers.as_deref().map(|scalers| on(facts, scalers));
    let desired = facts
        .workload
        .map(|workload| desired(workload, scalers.as_deref().unwrap_or_default()));
    let present = present(facts).into_iter().map(|pod| PodView {
        pod,
        mount_problems: facts.mount_problems,
        timeouts,
        now,
    });
    let present: Vec<PodView<'_>> = present.collect();
    let pods: Vec<&Pod> = present.iter().map(|view| view.pod).collect();
    let scaled = scaled(before, desired, now);
    let startup = startup::under_way(scaled.as_ref(), before, ready, desired, &pods, now);
    // Only where it matters: each change of this status starts a reconcile of the actor.
    let is_down = ready == 0 && before.ever_ready && desired.unwrap_or_default() > 0;
    let unready = (is_down && startup.is_none()).then(|| startup::why_unready(&pods));
    let asks_for_pods = desired.unwrap_or_default() > 0;
    let eviction = (ready == 0 && asks_for_pods)
        .then(|| {
            Eviction::latest(
                of_revision(facts),
                startup.map(|startup| startup.since),
                now,
            )
        })
        .flatten();
    let known = before.signal.as_ref();
    let signal = signal_of(&present, known, now);
    let signal = signal.or_else(|| Some(eviction.as_ref()?.signal(known, now)));
    let at_provider = AtProvider {
        ready: Some(ready),
        failing: Some(failing),
        total: Some(count(&live, |_| true)),
        desired,
        last_scale: scaled.or_else(|| before.last_scale.clone()),
        last_start: last_start::of(&pods, before),
        signal,
        ever_ready: before.ever_ready || ready > 0,
        starting_since: startup.map(|startup| startup.since.to_string()),
        unready: unready.flatten(),
        foreign_scaler: match &scalers {
            Some(scalers) => foreign_scaler(&facts.target.actor, scalers),
            None => before.foreign_scaler.clone(),
        },
    };
    let turns = present.iter().flat_map(|view| {
        let of_volumes = volumes::turns(view.pod, timeouts, now);
        signal::turns(view.pod, timeouts).chain(of_volumes)
    });
    let turns = turns
        .chain(startup.map(|startup| startup.deadline))
        .chain(eviction.map(|eviction| eviction.end()));
    Verdict {
        at_provider,
        look_again: turns.filter_map(|turn| now.until(turn)).min(),
    }
}

/// The actor's pods.
fn selected<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Pod> {
    let labels = &facts.target.pod_selector;
    facts
        .pods
        .iter()
        .copied()
        .filter(move |pod| pod.has_labels(labels))
}

/// The pods of the present revision that are to stay: what is wrong with others is
/// wrong with a former spec, or comes from their being stopped.
fn present<'a>(facts: &Facts<'a>) -> Vec<&'a Pod> {
    of_revision(facts).filter(|pod| pod.stays()).collect()
}

/// The pods of the present revision, also those that have ended. Where the present revision is not known,
/// all are of it.
fn of_revision<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Pod> {
    let workload = facts.workload;
    let revision = workload.and_then(|workload| workload.revision(&facts.revisions));
    let revision = revision.map(str::to_owned);
    selected(facts).filter(move |pod| match (&revision, pod.revision()) {
        (Some(present), Some(own)) => present == own,
        _ => true,
    })
}

fn count(pods: &[&Pod], is_meant: impl Fn(&Pod) -> bool) -> u32 {
    let pods = pods.iter().filter(|pod| is_meant(pod)).count();
    u32::try_from(pods).unwrap_or(u32::MAX)
}

/// The scalers of the actor's workload.
fn on<'a>(facts: &Facts<'_>, scalers: &[&'a Scaler]) -> Vec<&'a Scaler> {
    let workload = &facts.target.workload;
    let scalers = scalers.iter().copied();
    scalers
        .filter(|scaler| scaler.target == *workload)
        .collect()
}

/// The first scaler of another owner's, a `ScaledObject` before an HPA. Those of the actor
/// are none, and neither are HPAs that KEDA made.
pub fn foreign_scaler(actor: &str, scalers: &[&Scaler]) -> Option<ForeignScaler> {
    let scalers = scalers.iter().map(|scaler| (scaler, &scaler.itself));
    let foreign = scalers.filter(|(scaler, _)| scaler.is_foreign(actor));
    let first = foreign.min_by_key(|(_, itself)| {
        let is_hpa = itself.kind != "ScaledObject";
        (is_hpa, &itself.kind, &itself.name)
    });
    first.map(|(_, itself)| itself.clone())
}

/// The change of the replicas that are asked for, if there was one. The first number
/// that is known is no change.
fn scaled(before: &AtProvider, desired: Option<u32>, now: Time) -> Option<LastScale> {
    let (from, to) = (before.desired?, desired?);
    let direction = match from.cmp(&to) {
        std::cmp::Ordering::Less => "Up",
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => "Down",
    };
    Some(LastScale {
        time: now.to_string(),
        direction: direction.to_owned(),
        from,
        to,
    })
}

/// Returns the signal of the pods: the first reason that applies to any of them. If their messages
/// differ, the previous message is kept; else the one of most pods is used, then the first in
/// alphabetical order.
fn signal_of(pods: &[PodView<'_>], before: Option<&Signal>, now: Time) -> Option<Signal> {
    let found: Vec<(usize, StatusReason, Finding)> = pods.iter().filter_map(signal::of).collect();
    let (first, reason) = found
        .iter()
        .map(|(place, reason, _)| (*place, *reason))
        .min_by_key(|found| found.0)?;
    let mut findings: BTreeMap<&Finding, u32> = BTreeMap::new();
    let mut pods = 0;
    for (_, _, finding) in found.iter().filter(|(place, ..)| *place == first) {
        *findings.entry(finding).or_default() += 1;
        pods += 1;
    }
    let before = before.filter(|before| before.reason == reason.as_str());
    let was_reported = |finding: &Finding| {
        before.is_some_and(|before| {
            before.container == finding.container && before.message == finding.message
        })
    };
    let (worst, _) = findings.iter().max_by(|(one, of_one), (other, of_other)| {
        (one.vague_of.is_none(), was_reported(one), of_one)
            .cmp(&(other.vague_of.is_none(), was_reported(other), of_other))
            .then_with(|| other.cmp(one))
    })?;
    let same = before.filter(|before| before.container == worst.container);
    let known = same.filter(|before| {
        let image = worst.vague_of.as_ref();
        image.is_some_and(|image| before.message.contains(image))
    });
    Some(Signal {
        reason: reason.to_string(),
        container: worst.container.clone(),
        message: known.map_or_else(|| worst.message.clone(), |known| known.message.clone()),
        pods: Some(pods),
        since: same.map_or_else(|| now.to_string(), |same| same.since.clone()),
    })
}
