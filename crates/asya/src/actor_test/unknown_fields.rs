//! Unknown fields of actors that cases contain.
//!
//! The API server refuses an actor with an unknown field, and no step reads it. So a case with such
//! an actor proves nothing.

use std::path::PathBuf;

use actor::yaml::{Position, Positions};
use merge::FieldPath;
use pipeline::Object;

use crate::lint::{Check, Code, Document, Linter};

/// The actor that a case contains.
#[derive(Debug, Clone, PartialEq)]
pub struct InlineActor {
    /// The actor.
    pub object: Object,
    /// True if the case contains only its spec.
    pub is_spec: bool,
    /// Positions of the fields of what the case contains.
    pub positions: Positions,
}

/// An unknown field.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownField {
    /// Its position in the file of the case.
    pub position: Position,
    /// Message, remedy and code, in one line.
    pub message: String,
}

/// The unknown fields of each actor, by the rules of `asya lint`.
pub fn unknown_fields(actors: &[&InlineActor], linter: &Linter<'_>) -> Vec<Vec<UnknownField>> {
    let documents: Vec<Document> = actors
        .iter()
        .enumerate()
        .map(|(index, actor)| {
            let mut object = actor.object.clone();
            // The linter runs no step on an actor without a name: only fields are checked.
            object.map_mut(&["metadata"]).remove("name");
            Document {
                file: PathBuf::from(index.to_string()),
                object,
                positions: actor.positions.clone(),
                bare_keys: Vec::new(),
            }
        })
        .collect();
    let mut found: Vec<Vec<UnknownField>> = actors.iter().map(|_| Vec::new()).collect();
    for finding in linter.lint(&documents) {
        let is_unknown = finding.check == Check::Schema && finding.code == Code::UnknownField;
        let index = finding.place.file.to_str().and_then(|it| it.parse().ok());
        let index: Option<usize> = index.filter(|_| is_unknown);
        if let Some(index) = index {
            found[index].push(UnknownField {
                position: actors[index].position(&finding.place.path),
                message: finding.text(),
            });
        }
    }
    found
}

impl InlineActor {
    /// The position of a field of the actor.
    fn position(&self, path: &FieldPath) -> Position {
        let skipped = usize::from(self.is_spec);
        let inside = path.segments().iter().skip(skipped).cloned();
        self.positions.of(&inside.collect())
    }
}
