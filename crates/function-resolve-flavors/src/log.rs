//! The log line of a resolved spec.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actor::names::FlavorName;
use function_kit::{Redacted, Subject};
use serde_json::{Map, Value};

/// How long the line is not repeated for a spec that stays as it is. Crossplane makes a pass of
/// every actor each minute, and writing a whole spec costs as much as merging it.
const QUIET: Duration = Duration::from_hours(1);
/// Actors that are remembered, at some 50 bytes each; with more of them all are forgotten.
const MOST: usize = 10_000;

static WRITTEN: LazyLock<Mutex<Written>> = LazyLock::new(Mutex::default);

/// Logs what the flavors of an actor give, as often as it is new and each hour.
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
        .is_due(name, content, Instant::now());
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

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What was written last for whom, as hashes, and when.
#[derive(Debug, Default)]
struct Written(HashMap<u64, (u64, Instant)>);

impl Written {
    /// Whether the line is to be written now; it then counts as written.
    fn is_due(&mut self, name: u64, content: u64, now: Instant) -> bool {
        let last = self.0.get(&name);
        if last.is_some_and(|(last, at)| *last == content && now.duration_since(*at) < QUIET) {
            return false;
        }
        if self.0.len() >= MOST && last.is_none() {
            self.0.clear();
        }
        self.0.insert(name, (content, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_written_when_it_says_something_new_and_each_hour() {
        let begin = Instant::now();
        let mut written = Written::default();
        let cases = [
            (1, 7, 0, true, "the first"),
            (1, 7, 60, false, "the same, a minute later"),
            (2, 7, 60, true, "another actor"),
            (1, 8, 120, true, "another spec"),
            (1, 7, 180, true, "the first one again"),
            (1, 7, 3779, false, "not yet an hour"),
            (1, 7, 3780, true, "an hour"),
        ];
        for (name, content, seconds, is_due, reason) in cases {
            let now = begin + Duration::from_secs(seconds);
            assert_eq!(written.is_due(name, content, now), is_due, "{reason}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let now = Instant::now();
        let mut written = Written::default();
        for name in 0..=MOST as u64 {
            assert!(written.is_due(name, 0, now));
        }
        assert_eq!(written.0.len(), 1);
    }
}
