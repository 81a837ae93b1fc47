//! What rendering notices on its way.

use std::collections::BTreeMap;

use actor::status::{ConditionType, StatusReason};
use function_kit::{Call, Fault};
use merge::{FieldPath, Segment};

use crate::list::Place;

/// Faults, which end the pipeline together, and notes, which do not.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    faults: Vec<String>,
    notes: Vec<(ConditionType, String)>,
}

impl Findings {
    /// A rule of the pod is broken.
    pub(crate) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    /// A value of the spec is invalid.
    pub(crate) fn fault_at(&mut self, call: &Call, path: &FieldPath, fault: &str) {
        let origin = call.origin(path);
        self.fault(format!("spec.{path}: {fault} (set by {origin})"));
    }

    /// Several items share a key that only one may have. `what` is the item as a
    /// message names it, such as `volume`.
    pub(crate) fn repeated<'a>(
        &mut self,
        call: &Call,
        what: &str,
        items: impl IntoIterator<Item = (&'a str, &'a Place)>,
    ) {
        let mut places: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
        for (key, first, later) in actor::pod::repeated(items) {
            places.entry(key).or_insert_with(|| vec![first]).push(later);
        }
        for (key, places) in places {
            let places: Vec<String> = places.into_iter().map(|place| place.say(call)).collect();
            let places = places.join(" and by ");
            self.fault(format!(
                "{what} {key:?} is given more than once, by {places}: keep one of them"
            ));
        }
    }

    /// Something that a user should know.
    pub(crate) fn note(&mut self, condition: ConditionType, message: impl Into<String>) {
        self.notes.push((condition, message.into()));
    }

    /// The notes.
    ///
    /// # Errors
    /// All faults, where there are any.
    pub(crate) fn into_notes(self) -> Result<Vec<(ConditionType, String)>, Fault> {
        if self.faults.is_empty() {
            return Ok(self.notes);
        }
        Err(Fault::all(StatusReason::ConfigError, self.faults)
            .on(ConditionType::WorkloadReady, "ConfigError"))
    }
}

/// A path and one step further.
pub(crate) fn below(path: &FieldPath, segment: impl Into<Segment>) -> FieldPath {
    let mut segments = path.segments().to_vec();
    segments.push(segment.into());
    FieldPath::from(segments)
}
