//! The word of the STATUS column: one table, first match wins.

use actor::status::Word;

use crate::observe::{Lack, Observation, State};

use When::{Found, Signalled};

/// When a row of the table applies, and with what message. An empty message says
/// that there is nothing to add to the word.
enum When {
    /// The provider signals this word, and no pod of the present revision is ready.
    Signalled,
    /// The rule finds something to say.
    Found(fn(&Observation) -> Option<String>),
}

/// Faults come before what is under way, what is under way before rest. `Running`
/// is what remains. `Waiting` has no row: where a flavor is missing, resolve-flavors
/// ends the pipeline with that word before this step is asked.
const TABLE: [(Word, When); 17] = [
    (Word::Terminating, Found(being_deleted)),
    (Word::ConfigError, Found(name_taken)),
    (Word::TransportError, Found(transport_fault)),
    (Word::ConfigError, Signalled),
    (Word::VolumeError, Signalled),
    (Word::ImagePullError, Signalled),
    (Word::SidecarError, Signalled),
    (Word::RuntimeError, Signalled),
    (Word::PendingResources, Signalled),
    (Word::ScalingError, Found(scaling_fault)),
    (Word::WorkloadError, Found(workload_fault)),
    (Word::Degraded, Found(Observation::degradation)),
    (Word::Updating, Found(updating)),
    (Word::Napping, Found(napping)),
    (Word::Creating, Found(creating)),
    (Word::ScalingUp, Found(scaling_up)),
    (Word::ScalingDown, Found(scaling_down)),
];

/// The word, and what there is to say beside it.
pub(crate) fn of(seen: &Observation) -> (Word, String) {
    let applies = |word, when: &When| match when {
        Signalled => seen.pod_trouble(word).map(|trouble| trouble.message),
        Found(rule) => rule(seen),
    };
    TABLE
        .iter()
        .find_map(|(word, when)| Some((*word, applies(*word, when)?)))
        .unwrap_or_else(|| (Word::Running, running(seen)))
}

/// Whether an actor of that word can do its work: condition `ActorReady`.
///
/// | Word | `ActorReady` |
/// |---|---|
/// | Running, Napping, Degraded, ScalingUp, ScalingDown | True |
/// | Updating | True while a pod is ready or none is asked for |
/// | every other | False |
pub(crate) fn is_at_work(word: Word, seen: &Observation) -> bool {
    match word {
        Word::Running | Word::Napping | Word::Degraded | Word::ScalingUp | Word::ScalingDown => {
            true
        }
        Word::Updating => seen.desired() == Some(0) || seen.ready().is_some_and(|ready| ready > 0),
        _ => false,
    }
}

/// Whether an actor of that word is about to have another one.
pub(crate) fn is_in_motion(word: Word) -> bool {
    matches!(
        word,
        Word::Creating | Word::Updating | Word::ScalingUp | Word::ScalingDown
    )
}

fn being_deleted(seen: &Observation) -> Option<String> {
    seen.is_deleted
        .then(|| "the actor is being deleted".to_owned())
}

fn name_taken(seen: &Observation) -> Option<String> {
    let lacks = seen.lacks.iter();
    let taken: Vec<&Lack> = lacks.filter(|lack| lack.is_other_actors()).collect();
    (!taken.is_empty()).then(|| Lack::message(&taken))
}

fn transport_fault(seen: &Observation) -> Option<String> {
    seen.transport_trouble().map(|trouble| trouble.message)
}

fn scaling_fault(seen: &Observation) -> Option<String> {
    seen.scaling_trouble().map(|trouble| trouble.message)
}

fn workload_fault(seen: &Observation) -> Option<String> {
    seen.workload_trouble().map(|trouble| trouble.message)
}

/// What another controller removed from a target is put back, or the workload's
/// controller has not caught up, or pods of a former revision are left.
fn updating(seen: &Observation) -> Option<String> {
    if let Some(target) = &seen.target {
        if let Some(conflict) = &target.conflict {
            return Some(conflict.clone());
        }
        if target.rolls_out {
            return Some("the target's pods are being replaced".to_owned());
        }
    }
    let reported = seen.workload.there()?.reported?;
    if !reported.is_current {
        return Some("the new spec is being rolled out".to_owned());
    }
    (reported.outdated() > 0)
        .then(|| format!("{} of {} pods updated", reported.updated, reported.replicas))
}

/// KEDA has nothing to do and has scaled to 0, whether or not a pod ever ran.
fn napping(seen: &Observation) -> Option<String> {
    let scaler = seen.scaler.there()?;
    let naps = matches!(scaler.state, State::Ready | State::Partial(_))
        && scaler.active == Some(false)
        && !scaler.paused
        && seen.desired() == Some(0)
        && seen.queue_is_ready();
    naps.then(|| "scaled to 0 until there is work".to_owned())
}

/// Objects are on their way, or no pod was ever ready.
fn creating(seen: &Observation) -> Option<String> {
    if !seen.awaited.is_empty() {
        return Some(format!("being created: {}", seen.awaited.join(", ")));
    }
    let unresolved = seen
        .target
        .as_ref()
        .filter(|target| target.resolved.is_none());
    if let Some(target) = unresolved {
        return Some(match &target.absence {
            Some(absence) => absence.message.clone(),
            None => "the workload to bind to is not resolved yet".to_owned(),
        });
    }
    if !seen.queue_is_ready() {
        return Some(match &seen.queue_name {
            Some(name) => format!("queue {name:?} is being made"),
            None => "the queue is being made".to_owned(),
        });
    }
    let asks_for_pods = seen.desired() != Some(0);
    if let Some(scaler) = seen.scaler.there().filter(|scaler| !scaler.paused) {
        if matches!(scaler.state, State::Unchecked) {
            return Some("KEDA has not looked at the ScaledObject yet".to_owned());
        }
        if !asks_for_pods && scaler.active.is_none() {
            return Some("KEDA has not looked at the queue yet".to_owned());
        }
    }
    (asks_for_pods && !seen.was_ever_ready()).then(|| seen.progress())
}

/// Fewer pods are ready than there shall be, or KEDA is about to start the first.
fn scaling_up(seen: &Observation) -> Option<String> {
    let (ready, desired) = (seen.ready()?, seen.desired()?);
    if ready < desired {
        return Some(seen.progress());
    }
    let scaler = seen.scaler.there()?;
    (desired == 0 && scaler.active == Some(true) && !scaler.paused)
        .then(|| "there is work: KEDA is about to start the first pod".to_owned())
}

/// More pods are left than there shall be.
fn scaling_down(seen: &Observation) -> Option<String> {
    let (live, desired) = (seen.live()?, seen.desired()?);
    (desired < live).then(|| format!("{desired} of {live} pods stay"))
}

fn running(seen: &Observation) -> String {
    let paused = seen.scaler.there().is_some_and(|scaler| scaler.paused);
    let at_zero = seen.desired() == Some(0);
    match (paused, at_zero) {
        (true, true) => "KEDA is paused at 0 replicas",
        (true, false) => "KEDA is paused",
        (false, true) if !seen.scales => "scaled to 0 by hand",
        (false, _) => "",
    }
    .to_owned()
}
