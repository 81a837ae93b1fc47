//! Errors that end the pipeline.

use std::fmt;

use actor::diagnostic::Diagnostic;
use actor::status::{ConditionType, StatusReason};

use crate::Note;

/// Maximum number of results of one answer, besides the one that counts the others. Crossplane
/// shows the first of them, and takes no answer of more than 4 MB.
const MAX_RESULTS: usize = 256;

/// Error of a step that ends the pipeline: at least one diagnostic. Crossplane then changes and deletes
/// nothing, so what runs keeps running, and a new actor gets nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    pub(crate) reason: StatusReason,
    pub(crate) condition: Option<(ConditionType, String)>,
    diagnostics: Vec<Diagnostic>,
}

impl StepError {
    /// An error with the reason of condition `ActorReady`, which is also the actor's status.
    pub fn new(reason: StatusReason, diagnostic: Diagnostic) -> Self {
        Self::all(reason, vec![diagnostic])
    }

    /// Several errors with one reason: one Fatal result each.
    pub fn all(reason: StatusReason, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            reason,
            condition: None,
            diagnostics,
        }
    }

    /// An invalid spec: reason `ConfigError`.
    pub fn config(diagnostic: Diagnostic) -> Self {
        Self::new(StatusReason::ConfigError, diagnostic)
    }

    /// No usable transport: reason `TransportError`, also of condition `TransportReady`.
    pub fn transport(diagnostic: Diagnostic) -> Self {
        Self::new(StatusReason::TransportError, diagnostic)
            .on(ConditionType::TransportReady, "TransportError")
    }

    /// The same with the condition that is False for `reason`. Unless named, only `ActorReady` is.
    #[must_use]
    pub fn on(mut self, condition: ConditionType, reason: impl Into<String>) -> Self {
        self.condition = Some((condition, reason.into()));
        self
    }

    /// The diagnostics; at least one.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The diagnostics without what they are about: for an error that is reported in another one.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }

    /// The messages that become Fatal results.
    pub(crate) fn results(&self) -> Vec<String> {
        let shown = self.diagnostics.iter().take(MAX_RESULTS);
        let mut results: Vec<String> = shown.map(ToString::to_string).collect();
        let left = self.diagnostics.len() - results.len();
        if left > 0 {
            results.push(format!(
                "{left} more errors are not shown: correct these first"
            ));
        }
        results
    }

    /// Notes for the context: as many diagnostics as there are results.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        let (condition, reason) = match &self.condition {
            Some((condition, reason)) => (*condition, reason.as_str()),
            None => (ConditionType::ActorReady, self.reason.as_str()),
        };
        let shown = self.diagnostics.iter().take(MAX_RESULTS);
        shown.map(move |diagnostic| Note {
            condition: condition.to_string(),
            reason: Some(reason.to_owned()),
            diagnostic: diagnostic.clone(),
        })
    }
}

impl fmt::Display for StepError {
    /// All diagnostics in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, diagnostic) in self.diagnostics.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for StepError {}

#[cfg(test)]
mod tests {
    use actor::diagnostic::{Code, Location};

    use super::*;

    #[test]
    fn the_results_of_very_many_errors_are_cut_and_the_rest_counted() {
        let error = |count: usize| {
            let diagnostic =
                Diagnostic::error(Code::InvalidValue, Location::actor(["spec"]), "wrong");
            StepError::all(StatusReason::ConfigError, vec![diagnostic; count])
        };
        assert_eq!(error(MAX_RESULTS).results().len(), MAX_RESULTS);
        let many = error(MAX_RESULTS + 3);
        let results = many.results();
        assert_eq!(results.len(), MAX_RESULTS + 1);
        assert_eq!(
            results.last().map(String::as_str),
            Some("3 more errors are not shown: correct these first")
        );
        assert_eq!(many.notes().count(), MAX_RESULTS);
    }
}
