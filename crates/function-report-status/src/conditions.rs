//! The conditions of an actor that are this step's.
//!
//! All are returned on every call: Crossplane keeps the old value of a condition
//! that is left out.

use actor::binding::reason::{CONFLICT, RESOLVED, TARGET_NOT_RESOLVED};
use actor::status::{ConditionType, Word};

use crate::observe::{Observation, Queue, Scaler, Seen, State, Trouble};
use crate::word;

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// None for Unknown.
    pub(crate) status: Option<bool>,
    /// Reason, one word.
    pub(crate) reason: String,
    /// What there is to say, in one line; may be empty.
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

    fn trouble(trouble: Trouble) -> Self {
        Self::new(false, &trouble.reason, trouble.message)
    }

    /// For a part that no step of the pipeline desires.
    fn not_rendered(what: &str) -> Self {
        let message = format!("no step of this pipeline renders a {what}");
        Self::new(None, "NotRendered", message)
    }

    /// Whether the condition is True.
    pub(crate) fn is_true(&self) -> bool {
        self.status == Some(true)
    }

    /// With what earlier steps have noticed for it. A note with a reason makes it
    /// False, one without adds to the message.
    fn with_notes(mut self, condition: ConditionType, seen: &Observation) -> Self {
        let notes = seen.notes.iter();
        for note in notes.filter(|note| note.condition == condition.as_str()) {
            match &note.reason {
                Some(reason) if self.status != Some(false) => {
                    self = Self::new(false, reason, note.message.clone());
                }
                _ if self.message.contains(&note.message) => {}
                _ if self.message.is_empty() => self.message.clone_from(&note.message),
                _ => self.message = format!("{}; {}", self.message, note.message),
            }
        }
        self
    }
}

/// Every condition of this step, in the order in which they are shown.
pub(crate) fn all(
    seen: &Observation,
    (word, message): (Word, &str),
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
    let summary = Verdict::new(word::is_at_work(word, seen), word.as_str(), message);
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
    if let Some(trouble) = seen.transport_trouble() {
        return Verdict::trouble(trouble);
    }
    let remark = |queue: &Queue| queue.remark.clone().unwrap_or_default();
    match &seen.queue {
        Seen::NotDesired => Verdict::not_rendered("Queue"),
        Seen::There(queue) if queue.ready => Verdict::new(true, "Available", remark(queue)),
        Seen::There(queue) => Verdict::new(false, "Creating", remark(queue)),
        Seen::NotThere => Verdict::new(false, "Creating", ""),
    }
}

/// True while pods work or none is asked for: what the actor needs to do its work.
pub(crate) fn workload(seen: &Observation) -> Verdict {
    if let Some(trouble) = seen.any_pod_trouble().or_else(|| seen.workload_trouble()) {
        return Verdict::trouble(trouble);
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
    if let Some(message) = seen.degradation() {
        return Verdict::new(true, Word::Degraded.as_str(), message);
    }
    let is_bound = seen.target.is_some();
    match &seen.workload {
        Seen::NotDesired if !is_bound => Verdict::not_rendered("workload"),
        Seen::NotThere => Verdict::new(false, "Creating", ""),
        _ if seen.desired() == Some(0) => Verdict::new(true, "ScaledToZero", ""),
        _ if seen.ready().is_some_and(|ready| ready > 0) => Verdict::new(true, "Available", ""),
        _ => Verdict::new(false, "Starting", seen.progress()),
    }
}

fn scaling(seen: &Observation) -> Verdict {
    if let Some(trouble) = seen.scaling_trouble() {
        return Verdict::trouble(trouble);
    }
    match &seen.scaler {
        // It waits for what the provider finds out about the target.
        Seen::NotDesired if seen.target.is_some() => Verdict::new(None, TARGET_NOT_RESOLVED, ""),
        Seen::NotDesired => Verdict::not_rendered("ScaledObject"),
        Seen::NotThere => Verdict::new(false, "Creating", ""),
        Seen::There(scaler) => of_scaler(scaler),
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
        State::Partial(trouble) => Verdict::new(None, &trouble.reason, trouble.message.clone()),
        State::Failed(trouble) => Verdict::new(false, "Waiting", trouble.message.clone()),
        State::Unchecked => Verdict::new(
            false,
            "Creating",
            "KEDA has not looked at the ScaledObject yet",
        ),
    }
}

fn target(seen: &Observation) -> Option<Verdict> {
    let target = seen.target.as_ref()?;
    Some(match (&target.absence, &target.resolved) {
        (Some(absence), _) => Verdict::trouble(absence.clone()),
        (None, Some(_)) => Verdict::new(true, RESOLVED, ""),
        (None, None) => Verdict::new(false, TARGET_NOT_RESOLVED, ""),
    })
}
