//! Diagnostics of the rendering.

use std::collections::BTreeMap;

use actor::status::{ConditionType, StatusReason};
use function_kit::{Call, Code, Diagnostic, Location, StepError};
use merge::{FieldPath, Segment};

use crate::place::Place;

/// Errors, which end the pipeline together, and notes, which do not.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<Diagnostic>,
    notes: Vec<(ConditionType, Diagnostic)>,
}

impl Findings {
    /// A rule of the pod is broken.
    pub(crate) fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    /// A value of the spec is invalid; the message begins with its path.
    pub(crate) fn error_at(&mut self, call: &Call, code: Code, path: &FieldPath, problem: &str) {
        let location = call.locate(path);
        let message = format!("spec.{path}: {problem}");
        self.error(Diagnostic::error(code, location, message));
    }

    /// [`Findings::error_at`] with who set the value.
    pub(crate) fn error_with_origin(
        &mut self,
        call: &Call,
        code: Code,
        path: &FieldPath,
        problem: &str,
    ) {
        let location = call.locate(path);
        let message = format!("spec.{path}: {problem} (set by {})", location.source);
        self.error(Diagnostic::error(code, location, message));
    }

    /// Several items share a key that only one may have. `what` is the item as a message names
    /// it, such as `volume`. The last one is wrong, those before it are related.
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
            let mut locations: Vec<Location> = places
                .iter()
                .filter_map(|place| place.locate(call))
                .collect();
            let places: Vec<String> = places.iter().map(|place| place.describe(call)).collect();
            let places = places.join(" and by ");
            let location = locations.pop();
            let location = location.unwrap_or_else(|| Location::actor(["spec"]));
            let message = format!("{what} {key:?} is given more than once, by {places}");
            self.error(
                Diagnostic::error(Code::DuplicateName, location, message)
                    .related(locations)
                    .help("keep one of them"),
            );
        }
    }

    /// Adds a note for the user.
    pub(crate) fn note(&mut self, condition: ConditionType, diagnostic: Diagnostic) {
        self.notes.push((condition, diagnostic));
    }

    /// The notes.
    ///
    /// # Errors
    /// All errors, where there are any.
    pub(crate) fn into_notes(self) -> Result<Vec<(ConditionType, Diagnostic)>, StepError> {
        if self.errors.is_empty() {
            return Ok(self.notes);
        }
        Err(StepError::all(StatusReason::ConfigError, self.errors)
            .on(ConditionType::WorkloadReady, "ConfigError"))
    }
}

/// A path and one step further.
pub(crate) fn below(path: &FieldPath, segment: impl Into<Segment>) -> FieldPath {
    let mut segments = path.segments().to_vec();
    segments.push(segment.into());
    FieldPath::from(segments)
}
