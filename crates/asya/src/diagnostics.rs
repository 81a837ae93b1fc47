//! Diagnostics of a render: those of its errors, and their form in JSON.

use actor::diagnostic::{Code, Diagnostic, Location};
use function_kit::{Facts, Note};
use merge::FieldPath;
use pipeline::{EngineError, RenderError};
use serde_json::{Value, json};

/// The diagnostics of an error: those that the step reported, or one for each line where nothing
/// else is known, such as for a function of another vendor.
pub(crate) fn of_error(error: &RenderError) -> Vec<Diagnostic> {
    let (mut diagnostics, code) = match error {
        RenderError::Engine(EngineError::Fatal { left, .. }) => {
            let facts = Facts::from_context(left.context.as_ref());
            let errors = facts.errors().map(|note| note.diagnostic.clone());
            (errors.collect::<Vec<_>>(), Code::FunctionFailed)
        }
        _ => (Vec::new(), Code::NotRenderable),
    };
    // A step reports each diagnostic as one result. It cuts a long list, and its last result is then
    // the number of those left out.
    let unreported = error.lines().into_iter().skip(diagnostics.len());
    let whole_actor = || Location::actor(FieldPath::default());
    diagnostics.extend(unreported.map(|line| Diagnostic::error(code, whole_actor(), line)));
    diagnostics
}

/// A diagnostic for programs. Its severity is always written.
pub(crate) fn document(diagnostic: &Diagnostic) -> Value {
    let mut document = json!(diagnostic);
    document["severity"] = json!(diagnostic.severity);
    document
}

/// A diagnostic for programs, with the condition that shows it.
pub(crate) fn note_document(note: &Note) -> Value {
    let mut document = document(&note.diagnostic);
    document["condition"] = json!(note.condition);
    document
}

/// The line for people: `Condition: message: help [CODE]`.
pub(crate) fn note_line(note: &Note) -> String {
    format!("{}: {}", note.condition, note.diagnostic)
}
