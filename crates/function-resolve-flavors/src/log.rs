//! The log line about an actor: its resolved spec, or why there is none. Crossplane reconciles every
//! actor again and again, so a line is logged when it differs from the last one of the actor.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{LazyLock, Mutex, PoisonError};

use actor::names::FlavorName;
use function_kit::{Code, Diagnostic, Redacted, StepError, Subject};
use serde_json::{Map, Value};

/// Most actors whose last line is remembered, at about 50 bytes each; with more of them all are
/// forgotten, and their lines are logged once more.
const MAX_ACTORS: usize = 10_000;

static WRITTEN: LazyLock<Mutex<Written>> = LazyLock::new(Mutex::default);

/// Logs what the flavors of an actor give, if that is new.
pub(crate) fn applied(actor: &Subject, flavors: &[FlavorName], resolved: &Map<String, Value>) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let flavors: Vec<&str> = flavors.iter().map(FlavorName::as_str).collect();
    let name = hash(&(&actor.namespace, &actor.actor));
    let content = hash(&(&flavors, resolved));
    let is_due = WRITTEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_due(name, content);
    if is_due {
        let spec = serde_json::to_string(&Redacted(resolved)).unwrap_or_default();
        tracing::info!(
            actor = actor.actor,
            namespace = actor.namespace,
            flavors = flavors.join(", "),
            spec,
            "Flavors applied"
        );
    }
}

/// Logs why an actor is refused, if that is new: invalid flavors, conflicts, no usable transport. A
/// missing flavor has a line of its own.
pub(crate) fn refused(actor: &Subject, error: &StepError) {
    let diagnostics = error.diagnostics();
    let is_waiting = |diagnostic: &Diagnostic| diagnostic.code == Code::FlavorMissing;
    if diagnostics.iter().all(is_waiting) {
        return;
    }
    let text = error.to_string();
    let name = hash(&(&actor.namespace, &actor.actor));
    let is_due = WRITTEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .is_due(name, hash(&text));
    if is_due {
        tracing::warn!(
            actor = actor.actor,
            namespace = actor.namespace,
            error = text,
            "Flavors not applied"
        );
    }
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The last line of each actor, as hashes.
#[derive(Debug, Default)]
struct Written(HashMap<u64, u64>);

impl Written {
    /// Returns whether the line is to be written now; it then counts as written.
    fn is_due(&mut self, name: u64, content: u64) -> bool {
        let last = self.0.get(&name);
        if last == Some(&content) {
            return false;
        }
        if self.0.len() >= MAX_ACTORS && last.is_none() {
            self.0.clear();
        }
        self.0.insert(name, content);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_due_when_it_differs_from_the_last_one_of_the_actor() {
        let mut written = Written::default();
        let cases = [
            (1, 7, true, "the first"),
            (1, 7, false, "the same"),
            (2, 7, true, "another actor"),
            (1, 8, true, "another line"),
            (1, 7, true, "the first one again"),
        ];
        for (name, content, is_due, reason) in cases {
            assert_eq!(written.is_due(name, content), is_due, "{reason}");
        }
    }

    #[test]
    fn number_of_remembered_actors_is_bounded() {
        let mut written = Written::default();
        for name in 0..=MAX_ACTORS as u64 {
            assert!(written.is_due(name, 0));
        }
        assert_eq!(written.0.len(), 1);
    }
}
