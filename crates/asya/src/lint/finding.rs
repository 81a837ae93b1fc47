//! Findings and their places.

use std::cmp::Ordering;
use std::path::PathBuf;

use actor::diagnostic::{Code, Severity, Source};
use actor::yaml::Position;
use merge::FieldPath;

/// Finding in a file: an error, or a possible one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its place.
    pub place: Place,
    /// Its severity.
    pub severity: Severity,
    /// The rule that it breaks.
    pub code: Code,
    /// The other fields that are part of it, as far as they are in the files.
    pub related: Vec<Place>,
    /// The problem, in one line.
    pub message: String,
    /// Remedy.
    pub help: Option<String>,
    /// The actor that it was found with.
    pub actor: Option<String>,
    /// Check that found it.
    pub(crate) check: Check,
}

/// A field of a document in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Position in the file.
    pub position: Position,
    /// The field, from the root of its document; empty for the document itself.
    pub path: FieldPath,
    /// Role of the document; none for a file that is not a document.
    pub source: Option<Source>,
}

/// Check that found something. An earlier one is nearer to the document: what it has found is not
/// reported again by a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    /// A field or value against the API's schema.
    Schema,
    /// A document by itself.
    Document,
    /// An actor with everything around it, through the steps.
    Steps,
}

impl Finding {
    /// Message, remedy and code, in one line.
    pub fn text(&self) -> String {
        let help = self.help.iter().map(|help| format!(": {help}"));
        let help: String = help.collect();
        // In another document than the actor's own the reader must know which actor is meant.
        let is_own = self.place.source == Some(Source::Actor);
        let actor = self.actor.iter().filter(|_| !is_own);
        let actor: String = actor.map(|name| format!(" (in actor {name:?})")).collect();
        format!("{}{help}{actor} [{}]", self.message, self.code)
    }

    /// Returns whether this repeats `earlier`: the same code at the same place, or anything about a value of
    /// the wrong type but that another flavor gives it another type. Misnamed settings are no unused flavor.
    pub(super) fn repeats(&self, earlier: &Self) -> bool {
        let same_place =
            earlier.place.file == self.place.file && earlier.place.position == self.place.position;
        let is_invalid =
            earlier.code == Code::InvalidValue && self.code != Code::FlavorTypeMismatch;
        let is_misnamed = earlier.code == Code::PlatformMissing && self.code == Code::FlavorUnused;
        let is_of_later_check =
            earlier.check < self.check && (earlier.code == self.code || is_invalid);
        same_place && (is_misnamed || is_of_later_check)
    }
}

impl Ord for Finding {
    /// By place; at one place what is found without an actor goes first.
    fn cmp(&self, other: &Self) -> Ordering {
        fn key(finding: &Finding) -> impl Ord + '_ {
            (
                &finding.place.file,
                finding.place.position,
                finding.severity,
                finding.code,
                &finding.message,
                &finding.actor,
                &finding.place.path,
            )
        }
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Finding {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
