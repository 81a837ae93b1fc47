//! What keeps the parts of an actor from doing their work.
//!
//! The word and the conditions are two views of these findings, so that they
//! cannot contradict each other.

use actor::binding::reason::NOT_SCALABLE;
use actor::health::{Signal, quote};
use actor::status::{ConditionType, Word};

use crate::observe::{Lack, Observation, Scaler, Seen, State, Trouble};

/// The words that the provider gives to faults of pods.
const POD_WORDS: [Word; 6] = [
    Word::ConfigError,
    Word::VolumeError,
    Word::ImagePullError,
    Word::SidecarError,
    Word::RuntimeError,
    Word::PendingResources,
];

impl Observation {
    /// Why messages cannot come in.
    pub(crate) fn transport_trouble(&self) -> Option<Trouble> {
        self.lack_of(ConditionType::TransportReady)
            .or_else(|| self.queue.there()?.trouble.clone())
            .or_else(|| self.noted_trouble(ConditionType::TransportReady))
    }

    /// Why KEDA cannot scale.
    pub(crate) fn scaling_trouble(&self) -> Option<Trouble> {
        let failed = |scaler: &Seen<Scaler>| match &scaler.there()?.state {
            State::Failed(trouble) if !self.scaler_waits() => Some(trouble.clone()),
            _ => None,
        };
        self.lack_of(ConditionType::ScalingReady)
            .or_else(|| failed(&self.scaler))
            .or_else(|| failed(&self.target_scaler))
            .or_else(|| self.noted_trouble(ConditionType::ScalingReady))
    }

    /// Why the workload makes no pods that work, as far as it is not one of the
    /// six words for pods.
    pub(crate) fn workload_trouble(&self) -> Option<Trouble> {
        self.lack_of(ConditionType::WorkloadReady)
            .or_else(|| self.workload.there()?.trouble.clone())
            .or_else(|| self.target.as_ref()?.trouble.clone())
            .or_else(|| self.loss_of_target())
            .or_else(|| self.pod_trouble(Word::WorkloadError))
            .or_else(|| self.noted_trouble(ConditionType::WorkloadReady))
    }

    /// What an actor that has worked is bound to and is there no longer. Before that, a
    /// target that is not there may only be late.
    fn loss_of_target(&self) -> Option<Trouble> {
        let absence = self.target.as_ref()?.absence.clone()?;
        self.was_ever_ready().then_some(absence)
    }

    /// What keeps every pod of the present revision from working, where `word` is
    /// the word for it.
    pub(crate) fn pod_trouble(&self, word: Word) -> Option<Trouble> {
        let signal = self.health.signal.as_ref()?;
        (word_of(signal) == word && !self.current_pod_is_ready()).then(|| Trouble {
            reason: word.to_string(),
            message: self.pods_without(signal),
        })
    }

    /// The first of the six words for pods that applies.
    pub(crate) fn any_pod_trouble(&self) -> Option<Trouble> {
        POD_WORDS
            .into_iter()
            .find_map(|word| self.pod_trouble(word))
    }

    /// What keeps some pods from working while others do.
    pub(crate) fn degradation(&self) -> Option<String> {
        let signal = self.health.signal.as_ref()?;
        if !self.current_pod_is_ready() {
            return None;
        }
        let word = word_of(signal);
        let extent = match (self.pods_with(signal), self.ready_of_desired()) {
            (Some((pods, total)), _) => format!(" in {pods} of {total}"),
            (None, Some((ready, desired))) => format!(" with {ready} of {desired} pods ready"),
            (None, None) => String::new(),
        };
        let container = signal.container.iter().map(|name| format!("{name}: "));
        let container: String = container.collect();
        Some(format!(
            "{word}{extent}: {container}{}",
            quote(&signal.message)
        ))
    }

    /// Whether KEDA cannot be expected to scale yet: it needs the queue and the
    /// workload, and objects are created in any order.
    pub(crate) fn scaler_waits(&self) -> bool {
        !self.queue_is_ready() || matches!(self.workload, Seen::NotThere)
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

    /// How many of the pods the signal is about. A provider that does not say means
    /// those that fail.
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
    fn lack_of(&self, condition: ConditionType) -> Option<Trouble> {
        let lacks = self.lacks.iter();
        let lacks: Vec<&Lack> = lacks
            .filter(|lack| lack.part.condition() == condition)
            .collect();
        Some(Trouble {
            reason: lacks.first()?.reason().to_owned(),
            message: Lack::message(&lacks),
        })
    }

    /// Whether a step has found that nothing can scale the pods, and KEDA so does not.
    pub(crate) fn is_not_scalable(&self) -> bool {
        let mut reasons = self.notes.iter().filter_map(|note| note.reason.as_deref());
        reasons.any(|reason| reason == NOT_SCALABLE)
    }

    /// What an earlier step has found wrong. That nothing can scale is no fault: the
    /// actor works.
    fn noted_trouble(&self, condition: ConditionType) -> Option<Trouble> {
        let mut notes = self.notes.iter();
        let note = notes.find(|note| {
            let reason = note.reason.as_deref();
            note.condition == condition.as_str()
                && reason.is_some_and(|reason| reason != NOT_SCALABLE)
        })?;
        Some(Trouble {
            reason: note.reason.clone()?,
            message: note.message.clone(),
        })
    }
}

/// The word of a signal. One that is not known here comes from a newer provider.
fn word_of(signal: &Signal) -> Word {
    POD_WORDS
        .into_iter()
        .find(|word| word.as_str() == signal.word)
        .unwrap_or(Word::WorkloadError)
}
