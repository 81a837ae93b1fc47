//! The observed `ScaledObject`.

use pbjson_types::Struct;

use super::Problem;
use super::condition::Condition;

/// The observed `ScaledObject`. Reasons: KEDA, `controllers/keda` and
/// `pkg/scaling/executor`.
#[derive(Debug)]
pub(crate) struct Scaler {
    /// State that KEDA reports.
    pub(crate) state: State,
    /// True if there is work; none where KEDA does not know.
    pub(crate) active: Option<bool>,
    /// True if an annotation makes KEDA leave the replicas alone.
    pub(crate) paused: bool,
    /// Other messages of KEDA.
    pub(crate) remarks: Vec<String>,
}

/// State of a `ScaledObject`, as KEDA reports it.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing yet.
    Unchecked,
    /// It scales.
    Ready,
    /// Some of its triggers do not work.
    Partial(Problem),
    /// It does not scale.
    Failed(Problem),
}

impl Scaler {
    pub(super) fn read(object: &Struct) -> Self {
        let fallback = Condition::holds(object, "Fallback")
            .then(|| "KEDA cannot read a trigger and uses the fallback".to_owned());
        let no_metrics = Condition::of(object, "HPAActive")
            .filter(|hpa| hpa.status == Some(false))
            .map(|hpa| format!("its HPA does not scale: {}", hpa.reason));
        Self {
            state: State::read(object),
            active: Condition::of(object, "Active").and_then(|active| active.status),
            paused: Condition::holds(object, "Paused"),
            remarks: fallback.into_iter().chain(no_metrics).collect(),
        }
    }
}

impl State {
    fn read(object: &Struct) -> Self {
        let Some(ready) = Condition::of(object, "Ready") else {
            return Self::Unchecked;
        };
        let problem = || Problem {
            reason: ready.reason.to_owned(),
            message: format!("KEDA: {}", ready.summary(&["ScaledObjectCheckFailed"])),
        };
        match ready.status {
            Some(true) => Self::Ready,
            Some(false) => Self::Failed(problem()),
            None if ready.reason == "PartialTriggerError" => Self::Partial(problem()),
            None => Self::Unchecked,
        }
    }
}
