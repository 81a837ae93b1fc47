//! Ending the pipeline.

use std::error::Error;

use actor::spec::FormError;
use actor::status::{ConditionType, Word};
use actor::timeout::TimeoutError;
use actor::transport::TransportError;

use crate::report;

/// Why the pipeline ends here. What runs keeps running; a new actor gets
/// nothing. Each message is one line, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) word: Word,
    pub(crate) condition: Option<(ConditionType, String)>,
    pub(crate) messages: Vec<String>,
}

impl Fault {
    /// A fault with the word for the STATUS column.
    pub fn new(word: Word, message: impl Into<String>) -> Self {
        Self::all(word, vec![message.into()])
    }

    /// Several faults of one kind: one Fatal result each.
    pub fn all(word: Word, messages: Vec<String>) -> Self {
        Self {
            word,
            condition: None,
            messages,
        }
    }

    /// The spec is invalid.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Word::ConfigError, message)
    }

    /// There is no usable transport.
    pub fn transport(error: &dyn Error) -> Self {
        Self::new(Word::TransportError, report(error))
            .on(ConditionType::TransportReady, "TransportError")
    }

    /// The condition that is False for this reason; unless named, only
    /// `ActorReady` is.
    #[must_use]
    pub fn on(mut self, condition: ConditionType, reason: impl Into<String>) -> Self {
        self.condition = Some((condition, reason.into()));
        self
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
