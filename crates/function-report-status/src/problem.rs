//! Problems of an actor's parts.
//!
//! The reason and the conditions are two views of these findings, so that they
//! cannot contradict each other.

use actor::binding::reason::NOT_SCALABLE;
use actor::health::{Signal, quote};
use actor::status::{ConditionType, StatusReason};

use crate::observe::{MissingObject, Observation, ObservedObject, Problem, Scaler, State};

/// The statuses that the provider gives to problems of pods.
const POD_REASONS: [StatusReason; 6] = [
    StatusReason::ConfigError,
    StatusReason::VolumeError,
    StatusReason::ImagePullError,
    StatusReason::SidecarError,
    StatusReason::RuntimeError,
    StatusReason::PendingResources,
];

impl Observation {
    /// Returns why messages cannot come in.
    pub(crate) fn transport_problem(&self) -> Option<Problem> {
        self.missing_object_of(ConditionType::TransportReady)
            .or_else(|| self.queue.present()?.problem.clone())
            .or_else(|| self.noted_problem(ConditionType::TransportReady))
    }

    /// Returns why KEDA cannot scale.
    pub(crate) fn scaling_problem(&self) -> Option<Problem> {
        let failed = |scaler: &ObservedObject<Scaler>| match &scaler.present()?.state {
            State::Failed(problem) if !self.scaler_waits() => Some(problem.clone()),
            _ => None,
        };
        self.missing_object_of(ConditionType::ScalingReady)
            .or_else(|| failed(&self.scaler))
            .or_else(|| failed(&self.target_scaler))
            .or_else(|| self.noted_problem(ConditionType::ScalingReady))
    }

    /// Returns why the workload has no working pods, other than by one of the six statuses for pods.
    pub(crate) fn workload_problem(&self) -> Option<Problem> {
        self.missing_object_of(ConditionType::WorkloadReady)
            .or_else(|| self.workload.present()?.problem.clone())
            .or_else(|| self.target.as_ref()?.problem.clone())
            .or_else(|| self.loss_of_target())
            .or_else(|| self.pod_problem(StatusReason::WorkloadError))
            .or_else(|| self.lost_pods())
            .or_else(|| self.noted_problem(ConditionType::WorkloadReady))
    }

    /// Missing target of an actor that has worked. Before that, a
    /// target that is not there may only be late.
    fn loss_of_target(&self) -> Option<Problem> {
        let absence = self.target.as_ref()?.absence.clone()?;
        self.was_ever_ready().then_some(absence)
    }

    /// Returns the problem of an actor that was ready before and has no ready pod, although
    /// replicas are asked for and nothing explains it: neither a scale-up from 0 within the startup
    /// time nor a rollout.
    fn lost_pods(&self) -> Option<Problem> {
        let asked = self.desired()?;
        let is_lost = asked > 0
            && self.ready() == Some(0)
            && self.health.ever_ready
            && !self.is_starting()
            && !self.is_updating();
        is_lost.then(|| Problem {
            reason: StatusReason::WorkloadError.to_string(),
            message: match &self.health.unready {
                Some(why) => format!("0 of {asked} pods ready: {}", quote(why)),
                None => format!("0 of {asked} pods ready"),
            },
        })
    }

    /// Returns whether the actor may be scaling up from 0 within the startup time. The provider may not
    /// have observed yet that replicas are asked for, or may not observe it at present.
    pub(crate) fn is_starting(&self) -> bool {
        self.health.starting_since.is_some()
            || self.health.desired == Some(0)
            || self.outdated.is_some()
    }

    /// Returns whether pods of another revision are on their way.
    fn is_updating(&self) -> bool {
        let target = self.target.as_ref();
        let workload = self.workload.present();
        target.is_some_and(|target| target.rolls_out || target.conflict.is_some())
            || workload.is_some_and(|workload| {
                let reported = workload.reported;
                workload.rolls_out
                    || reported
                        .is_none_or(|reported| !reported.is_current || reported.outdated() > 0)
            })
    }

    /// Problem of every pod of the present revision, where `reason` is
    /// the reason for it.
    pub(crate) fn pod_problem(&self, reason: StatusReason) -> Option<Problem> {
        let signal = self.health.signal.as_ref()?;
        (reason_of(signal) == reason && !self.current_pod_is_ready()).then(|| Problem {
            reason: reason.to_string(),
            message: self.pods_without(signal),
        })
    }

    /// The first of the six statuses for pods that applies.
    pub(crate) fn any_pod_problem(&self) -> Option<Problem> {
        POD_REASONS
            .into_iter()
            .find_map(|reason| self.pod_problem(reason))
    }

    /// Returns why ready pods take no messages, by what the provider reports of the queue.
    pub(crate) fn consumer_problem(&self) -> Option<Problem> {
        let message = self.queue.present()?.unconsumed.clone()?;
        let has_pods = self.desired() != Some(0) && self.ready().is_some_and(|ready| ready > 0);
        has_pods.then(|| Problem {
            reason: StatusReason::SidecarError.to_string(),
            message,
        })
    }

    /// Returns why some pods do not work while others do.
    pub(crate) fn degradation(&self) -> Option<String> {
        let signal = self.health.signal.as_ref()?;
        if !self.current_pod_is_ready() {
            return None;
        }
        let reason = reason_of(signal);
        let extent = match (self.pods_with(signal), self.ready_of_desired()) {
            (Some((pods, total)), _) => format!(" in {pods} of {total}"),
            (None, Some((ready, desired))) => format!(" with {ready} of {desired} pods ready"),
            (None, None) => String::new(),
        };
        let container = signal.container.iter().map(|name| format!("{name}: "));
        let container: String = container.collect();
        Some(format!(
            "{reason}{extent}: {container}{}",
            quote(&signal.message)
        ))
    }

    /// Returns whether KEDA cannot be expected to scale yet: it needs the queue and the
    /// workload, and objects are created in any order.
    pub(crate) fn scaler_waits(&self) -> bool {
        !self.queue_is_ready() || matches!(self.workload, ObservedObject::Missing)
    }

    /// `2 of 5 pods ready`.
    pub(crate) fn progress(&self) -> String {
        match self.ready_of_desired() {
            Some((ready, desired)) => format!("{ready} of {desired} pods ready"),
            None => "no pod is known to be ready".to_owned(),
        }
    }

    fn ready_of_desired(&self) -> Option<(u32, u32)> {
        Some((self.ready()?, self.desired()?))
    }

    /// Returns the number of pods that the signal is about. If the provider reports none, it is about all
    /// failing ones.
    fn pods_with(&self, signal: &Signal) -> Option<(u32, u32)> {
        let pods = signal.pods.or(self.health.failing);
        Some((pods.filter(|pods| *pods > 0)?, self.health.total?))
    }

    fn pods_without(&self, signal: &Signal) -> String {
        let who = match (&signal.container, self.pods_with(signal)) {
            (Some(container), Some((pods, total))) => {
                format!("{container} in {pods} of {total}: ")
            }
            (Some(container), None) => format!("{container}: "),
            (None, Some((pods, total))) => format!("{pods} of {total} pods: "),
            (None, None) => String::new(),
        };
        format!("{who}{}", quote(&signal.message))
    }

    /// The objects that are missing for that condition.
    fn missing_object_of(&self, condition: ConditionType) -> Option<Problem> {
        let lacks = self.lacks.iter();
        let lacks: Vec<&MissingObject> = lacks
            .filter(|lack| lack.part.condition() == condition)
            .collect();
        Some(Problem {
            reason: lacks.first()?.reason().to_owned(),
            message: MissingObject::message(&lacks),
        })
    }

    /// Returns whether a step has found that nothing can scale the pods, and KEDA so does not.
    pub(crate) fn is_not_scalable(&self) -> bool {
        let mut reasons = self.notes.iter().filter_map(|note| note.reason.as_deref());
        reasons.any(|reason| reason == NOT_SCALABLE)
    }

    /// Problem that an earlier step has found. That nothing can scale is not a problem: the
    /// actor works.
    fn noted_problem(&self, condition: ConditionType) -> Option<Problem> {
        let mut notes = self.notes.iter();
        let note = notes.find(|note| {
            let reason = note.reason.as_deref();
            note.condition == condition.as_str()
                && reason.is_some_and(|reason| reason != NOT_SCALABLE)
        })?;
        Some(Problem {
            reason: note.reason.clone()?,
            message: note.diagnostic.to_string(),
        })
    }
}

/// The reason of a signal. One that is not known here comes from a newer provider.
fn reason_of(signal: &Signal) -> StatusReason {
    POD_REASONS
        .into_iter()
        .find(|reason| reason.as_str() == signal.reason)
        .unwrap_or(StatusReason::WorkloadError)
}
