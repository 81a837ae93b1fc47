//! The reason of the STATUS column: one table, first match wins.

use actor::status::StatusReason;

use crate::conditions::NOT_RECONCILED;
use crate::observe::{MissingObject, Observation, State};

use When::{Found, Signalled};

/// Condition of a row of the table, with its message. An empty message means
/// that there is nothing to add to the reason.
enum When {
    /// The provider signals this reason, and no pod of the present revision is ready.
    Signalled,
    /// The rule applies, with this message.
    Found(fn(&Observation) -> Option<String>),
}

/// Errors win over transitions, and transitions over steady states. `Running`
/// is what remains. `Waiting` for a missing flavor is not in it: resolve-flavors ends the
/// pipeline with it before this step runs.
const TABLE: [(StatusReason, When); 19] = [
    (StatusReason::Terminating, Found(being_deleted)),
    (StatusReason::ConfigError, Found(name_taken)),
    (StatusReason::Waiting, Found(predecessor)),
    (StatusReason::TransportError, Found(transport_fault)),
    (StatusReason::ConfigError, Signalled),
    (StatusReason::VolumeError, Signalled),
    (StatusReason::ImagePullError, Signalled),
    (StatusReason::SidecarError, Signalled),
    (StatusReason::SidecarError, Found(no_consumer)),
    (StatusReason::RuntimeError, Signalled),
    (StatusReason::PendingResources, Signalled),
    (StatusReason::ScalingError, Found(scaling_fault)),
    (StatusReason::WorkloadError, Found(workload_fault)),
    (StatusReason::Degraded, Found(Observation::degradation)),
    (StatusReason::Updating, Found(updating)),
    (StatusReason::Napping, Found(napping)),
    (StatusReason::Creating, Found(creating)),
    (StatusReason::ScalingUp, Found(scaling_up)),
    (StatusReason::ScalingDown, Found(scaling_down)),
];

/// The reason, with its message.
pub(crate) fn of(seen: &Observation) -> (StatusReason, String) {
    let applies = |reason, when: &When| match when {
        Signalled => seen.pod_problem(reason).map(|problem| problem.message),
        Found(rule) => rule(seen),
    };
    let (reason, message) = TABLE
        .iter()
        .find_map(|(reason, when)| Some((*reason, applies(*reason, when)?)))
        .unwrap_or_else(|| (StatusReason::Running, running(seen)));
    let message = match &seen.outdated {
        Some(outdated) if is_ready(reason, seen).is_none() => {
            let parts = [message, outdated.message.clone()];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join("; ")
        }
        _ => message,
    };
    (reason, message)
}

/// Returns whether an actor of that reason can do its work: condition `ActorReady`. None, for Unknown,
/// in place of True while the provider may not observe the pods.
///
/// | StatusReason | `ActorReady` |
/// |---|---|
/// | Napping | True |
/// | Running, Degraded, ScalingDown, Updating | True while a pod is ready or none is asked for |
/// | ScalingUp | the same, and while the actor scales up from 0 within the startup time |
/// | every other | False |
pub(crate) fn is_ready(reason: StatusReason, seen: &Observation) -> Option<bool> {
    let has_pods = || seen.desired() == Some(0) || seen.ready().is_none_or(|ready| ready > 0);
    let is_ready = match reason {
        StatusReason::Napping => true,
        StatusReason::Running | StatusReason::Degraded | StatusReason::ScalingDown => has_pods(),
        StatusReason::Updating => {
            seen.desired() == Some(0) || seen.ready().is_some_and(|ready| ready > 0)
        }
        StatusReason::ScalingUp => has_pods() || seen.is_starting(),
        _ => false,
    };
    (!is_ready || seen.outdated.is_none()).then_some(is_ready)
}

/// Returns whether an actor of that reason is about to have another one.
pub(crate) fn is_transitional(reason: StatusReason) -> bool {
    matches!(
        reason,
        StatusReason::Creating
            | StatusReason::Waiting
            | StatusReason::Updating
            | StatusReason::ScalingUp
            | StatusReason::ScalingDown
    )
}

fn being_deleted(seen: &Observation) -> Option<String> {
    seen.is_deleted
        .then(|| "the actor is being deleted".to_owned())
}

fn name_taken(seen: &Observation) -> Option<String> {
    let lacks = seen.lacks.iter();
    let taken: Vec<&MissingObject> = lacks.filter(|lack| lack.is_other_actors()).collect();
    (!taken.is_empty()).then(|| MissingObject::message(&taken))
}

fn predecessor(seen: &Observation) -> Option<String> {
    let lacks = seen.lacks.iter();
    let of_predecessor: Vec<&MissingObject> = lacks.filter(|lack| lack.is_predecessors()).collect();
    (!of_predecessor.is_empty()).then(|| MissingObject::message(&of_predecessor))
}

fn transport_fault(seen: &Observation) -> Option<String> {
    seen.transport_problem().map(|problem| problem.message)
}

fn no_consumer(seen: &Observation) -> Option<String> {
    seen.consumer_problem().map(|problem| problem.message)
}

fn scaling_fault(seen: &Observation) -> Option<String> {
    seen.scaling_problem().map(|problem| problem.message)
}

fn workload_fault(seen: &Observation) -> Option<String> {
    seen.workload_problem().map(|problem| problem.message)
}

/// Returns what is being rolled out: containers that another controller removed from a target are
/// injected again, the workload's controller has not caught up, or pods of a former revision remain.
fn updating(seen: &Observation) -> Option<String> {
    if let Some(target) = &seen.target {
        if let Some(conflict) = &target.conflict {
            return Some(conflict.clone());
        }
        if target.rolls_out {
            return Some("the target's pods are being replaced".to_owned());
        }
    }
    let reported = seen.workload.present()?.reported?;
    let none_ready = seen.ready() == Some(0) && seen.was_ever_ready();
    if !reported.is_current || (none_ready && seen.workload.present()?.rolls_out) {
        return Some("the new spec is being rolled out".to_owned());
    }
    (reported.outdated() > 0)
        .then(|| format!("{} of {} pods updated", reported.updated, reported.replicas))
}

/// KEDA has nothing to do and has scaled to 0, whether or not a pod ever ran.
fn napping(seen: &Observation) -> Option<String> {
    let scaler = seen.scaler.present()?;
    let naps = matches!(scaler.state, State::Ready | State::Partial(_))
        && scaler.active == Some(false)
        && !scaler.paused
        && seen.desired() == Some(0)
        && seen.queue_is_ready();
    naps.then(|| "scaled to 0 until there is work".to_owned())
}

/// Objects are on their way, or no pod was ever ready.
///
/// The queue takes longest, and other objects wait for it: its message stays the same from the first
/// reconcile until it is ready, since Crossplane reconciles an actor again after each change.
fn creating(seen: &Observation) -> Option<String> {
    let target = seen.target.as_ref();
    let unresolved = target.filter(|target| target.resolved.is_none());
    if let Some(absence) = unresolved.and_then(|target| target.absence.as_ref()) {
        return Some(absence.message.clone());
    }
    if !seen.queue_is_ready() {
        return Some(match &seen.queue_name {
            Some(name) => format!("queue {name:?} is being created"),
            None => "the queue is being created".to_owned(),
        });
    }
    if !seen.awaited.is_empty() {
        return Some(format!("being created: {}", seen.awaited.join(", ")));
    }
    if unresolved.is_some() {
        return Some("the workload to bind to is not resolved yet".to_owned());
    }
    let asks_for_pods = seen.desired() != Some(0);
    if let Some(scaler) = seen.scaler.present().filter(|scaler| !scaler.paused) {
        if matches!(scaler.state, State::Unchecked) {
            return Some(NOT_RECONCILED.to_owned());
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
    let scaler = seen.scaler.present()?;
    (desired == 0 && scaler.active == Some(true) && !scaler.paused)
        .then(|| "there is work: KEDA is about to start the first pod".to_owned())
}

/// More pods are left than there shall be.
fn scaling_down(seen: &Observation) -> Option<String> {
    let (live, desired) = (seen.live()?, seen.desired()?);
    (desired < live).then(|| format!("{desired} of {live} pods stay"))
}

fn running(seen: &Observation) -> String {
    let paused = seen.scaler.present().is_some_and(|scaler| scaler.paused);
    let at_zero = seen.desired() == Some(0);
    match (paused, at_zero) {
        (true, true) => "KEDA is paused at 0 replicas",
        (true, false) => "KEDA is paused",
        (false, true) if !seen.scales => "scaled to 0 by hand",
        (false, _) => "",
    }
    .to_owned()
}
