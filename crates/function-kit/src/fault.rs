//! Ending the pipeline.

use std::borrow::Cow;
use std::error::Error;

use actor::spec::FormError;
use actor::status::{ConditionType, StatusReason};
use actor::timeout::TimeoutError;
use actor::transport::TransportError;

use crate::report;

/// Most results of one answer, beside the one that says how many more there would be.
const MOST_RESULTS: usize = 256;

/// Why the pipeline ends here. What runs keeps running; a new actor gets
/// nothing. Each message is one line, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) word: StatusReason,
    pub(crate) condition: Option<(ConditionType, String)>,
    pub(crate) messages: Vec<String>,
}

impl Fault {
    /// A fault with the word for the STATUS column.
    pub fn new(word: StatusReason, message: impl Into<String>) -> Self {
        Self::all(word, vec![message.into()])
    }

    /// Several faults of one kind: one Fatal result each.
    pub fn all(word: StatusReason, messages: Vec<String>) -> Self {
        Self {
            word,
            condition: None,
            messages,
        }
    }

    /// The spec is invalid.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(StatusReason::ConfigError, message)
    }

    /// There is no usable transport.
    pub fn transport(error: &dyn Error) -> Self {
        Self::new(StatusReason::TransportError, report(error))
            .on(ConditionType::TransportReady, "TransportError")
    }

    /// The condition that is False for this reason; unless named, only
    /// `ActorReady` is.
    #[must_use]
    pub fn on(mut self, condition: ConditionType, reason: impl Into<String>) -> Self {
        self.condition = Some((condition, reason.into()));
        self
    }

    /// The messages that become results. Crossplane shows the first of them and takes no answer of
    /// more than 4 MB, so that not all of very many are told.
    pub(crate) fn told(&self) -> Vec<Cow<'_, str>> {
        let told = self.messages.iter().take(MOST_RESULTS);
        let mut told: Vec<Cow<'_, str>> = told.map(Into::into).collect();
        let left = self.messages.len() - told.len();
        if left > 0 {
            told.push(format!("{left} more faults are not told: correct these first").into());
        }
        told
    }

    /// All messages, joined.
    pub fn text(&self) -> String {
        self.messages.join("; ")
    }
}

impl From<TransportError> for Fault {
    fn from(error: TransportError) -> Self {
        Self::transport(&error)
    }
}

impl From<TimeoutError> for Fault {
    fn from(error: TimeoutError) -> Self {
        Self::config(report(&error)).on(ConditionType::WorkloadReady, "ConfigError")
    }
}

impl From<FormError> for Fault {
    fn from(error: FormError) -> Self {
        Self::config(report(&error)).on(ConditionType::WorkloadReady, "ConfigError")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_faults_some_are_told_and_the_others_counted() {
        let fault = |count: usize| {
            let messages = (0..count).map(|index| index.to_string()).collect();
            Fault::all(StatusReason::ConfigError, messages)
        };
        assert_eq!(fault(MOST_RESULTS).told().len(), MOST_RESULTS);
        let many = fault(MOST_RESULTS + 3);
        let told = many.told();
        assert_eq!(told.len(), MOST_RESULTS + 1);
        assert_eq!(
            told.last().map(AsRef::as_ref),
            Some("3 more faults are not told: correct these first")
        );
    }
}
