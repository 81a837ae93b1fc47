//! The conditions of an actor that are this step's.
//!
//! All are returned on every call: Crossplane keeps the old value of a condition
//! that is left out.

use actor::binding::reason::{CONFLICT, RESOLVED, TARGET_NOT_RESOLVED};
use actor::status::{ConditionType, StatusReason};
use function_kit::Note;

use crate::observe::{Observation, ObservedObject, Problem, Queue, Scaler, State};
use crate::status_reason;

/// Message while KEDA has not written a status of its own, whether or not the ScaledObject exists yet.
pub(crate) const NOT_RECONCILED: &str = "KEDA has not reconciled the ScaledObject yet";

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// None for Unknown.
    pub(crate) status: Option<bool>,
    /// CamelCase reason.
    pub(crate) reason: String,
    /// Message, in one line; may be empty.
    pub(crate) message: String,
}

impl Verdict {
    fn new(status: impl Into<Option<bool>>, reason: &str, message: impl Into<String>) -> Self {
        Self {
            status: status.into(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }

    fn problem(problem: Problem) -> Self {
        Self::new(false, &problem.reason, problem.message)
    }

    /// For a part that no step of the pipeline desires.
    fn not_rendered(what: &str) -> Self {
        let message = format!("no step of this pipeline renders a {what}");
        Self::new(None, "NotRendered", message)
    }

    /// Returns whether the condition is True.
    pub(crate) fn is_true(&self) -> bool {
        self.status == Some(true)
    }

    /// With the diagnostics of earlier steps for it. A note with a reason makes it
    /// False, one without adds to the message.
    fn with_notes(mut self, condition: ConditionType, seen: &Observation) -> Self {
        let mut added: Vec<&Note> = Vec::new();
        for note in &seen.notes {
            if note.condition != condition.as_str() || added.contains(&note) {
                continue;
            }
            added.push(note);
            let message = note.diagnostic.to_string();
            match &note.reason {
                Some(reason) if self.status != Some(false) => {
                    self = Self::new(false, reason, message);
                }
                // The condition shows the note already.
                _ if self.message == message => {}
                _ if self.message.is_empty() => self.message = message,
                _ => self.message = format!("{}; {message}", self.message),
            }
        }
        self
    }
}

/// Every condition of this step, in the order in which they are shown.
pub(crate) fn all(
    seen: &Observation,
    (reason, message): (StatusReason, &str),
) -> Vec<(ConditionType, Verdict)> {
    let shown = |condition| seen.shown.contains(&condition);
    let scaling = if seen.scales {
        Some(scaling(seen))
    } else {
        shown(ConditionType::ScalingReady)
            .then(|| Verdict::new(false, "ScalingDisabled", "scaling is off"))
    };
    let target = target(seen).or_else(|| {
        shown(ConditionType::TargetResolved)
            .then(|| Verdict::new(false, "NotBound", "the actor has a workload of its own"))
    });
    let summary = Verdict::new(
        status_reason::is_ready(reason, seen),
        reason.as_str(),
        message,
    );
    [
        (ConditionType::TransportReady, Some(transport(seen))),
        (ConditionType::WorkloadReady, Some(workload(seen))),
        (ConditionType::ScalingReady, scaling),
        (ConditionType::TargetResolved, target),
        (ConditionType::ActorReady, Some(summary)),
    ]
    .into_iter()
    .filter_map(|(condition, verdict)| Some((condition, verdict?.with_notes(condition, seen))))
    .collect()
}

fn transport(seen: &Observation) -> Verdict {
    if let Some(problem) = seen.transport_problem() {
        return Verdict::problem(problem);
    }
    let remark = |queue: &Queue| queue.remark.clone().unwrap_or_default();
    match &seen.queue {
        ObservedObject::NotDesired => Verdict::not_rendered("Queue"),
        ObservedObject::Present(queue) if queue.ready => {
            Verdict::new(true, "Available", remark(queue))
        }
        ObservedObject::Present(queue) => Verdict::new(false, "Creating", remark(queue)),
        ObservedObject::Missing => Verdict::new(false, "Creating", ""),
    }
}

/// True while pods work or none is asked for: what the actor needs to do its work.
pub(crate) fn workload(seen: &Observation) -> Verdict {
    let mut verdict = of_workload(seen);
    let target = seen.target.as_ref();
    if let Some(remark) = target.and_then(|target| target.grace_period.as_deref()) {
        if !verdict.message.is_empty() {
            verdict.message.push_str("; ");
        }
        verdict.message.push_str(remark);
    }
    verdict
}

fn of_workload(seen: &Observation) -> Verdict {
    let problem = seen
        .any_pod_problem()
        .or_else(|| seen.consumer_problem())
        .or_else(|| seen.workload_problem());
    if let Some(problem) = problem {
        return Verdict::problem(problem);
    }
    if let Some(target) = &seen.target {
        if target.resolved.is_none() {
            let absence = target.absence.as_ref();
            let message = absence.map(|absence| absence.message.clone());
            return Verdict::new(None, TARGET_NOT_RESOLVED, message.unwrap_or_default());
        }
        if let Some(conflict) = &target.conflict {
            return Verdict::new(false, CONFLICT, conflict.clone());
        }
    }
    let has_workload = seen.target.is_some() || seen.workload.present().is_some();
    if let Some(outdated) = seen.outdated.as_ref().filter(|_| has_workload) {
        return Verdict::new(None, &outdated.reason, outdated.message.clone());
    }
    if let Some(message) = seen.degradation() {
        return Verdict::new(true, StatusReason::Degraded.as_str(), message);
    }
    let is_bound = seen.target.is_some();
    match &seen.workload {
        ObservedObject::NotDesired if !is_bound => Verdict::not_rendered("workload"),
        ObservedObject::Missing if seen.desired().is_none_or(|desired| desired == 0) => {
            Verdict::new(false, "Creating", "")
        }
        _ if seen.desired() == Some(0) => Verdict::new(true, "ScaledToZero", ""),
        _ if seen.ready().is_some_and(|ready| ready > 0) => Verdict::new(true, "Available", ""),
        _ => Verdict::new(false, "Starting", seen.progress()),
    }
}

fn scaling(seen: &Observation) -> Verdict {
    if let Some(problem) = seen.scaling_problem() {
        return Verdict::problem(problem);
    }
    match &seen.scaler {
        // It waits for what the provider finds out about the target.
        ObservedObject::NotDesired if seen.target.is_some() => {
            Verdict::new(None, TARGET_NOT_RESOLVED, "")
        }
        ObservedObject::NotDesired if !seen.queue_is_ready() => {
            let message = "the ScaledObject is created once the queue is ready";
            Verdict::new(false, "WaitingForQueue", message)
        }
        ObservedObject::NotDesired => Verdict::not_rendered("ScaledObject"),
        ObservedObject::Missing => Verdict::new(false, "Creating", NOT_RECONCILED),
        ObservedObject::Present(scaler) => of_scaler(scaler),
    }
}

fn of_scaler(scaler: &Scaler) -> Verdict {
    let remarks = scaler.remarks.join("; ");
    if scaler.paused {
        let message = "an annotation autoscaling.keda.sh/paused… stops KEDA";
        return Verdict::new(true, "Paused", message);
    }
    match &scaler.state {
        State::Ready => Verdict::new(true, "Available", remarks),
        State::Partial(problem) => Verdict::new(None, &problem.reason, problem.message.clone()),
        State::Failed(problem) => Verdict::new(false, "Waiting", problem.message.clone()),
        State::Unchecked => Verdict::new(false, "Creating", NOT_RECONCILED),
    }
}

fn target(seen: &Observation) -> Option<Verdict> {
    let target = seen.target.as_ref()?;
    Some(match (&target.absence, &target.resolved) {
        (Some(absence), _) => Verdict::problem(absence.clone()),
        (None, Some(_)) => Verdict::new(true, RESOLVED, ""),
        (None, None) => Verdict::new(false, TARGET_NOT_RESOLVED, ""),
    })
}
