//! Position and problems of a check.

use actor::diagnostic::Code;
use merge::{FieldPath, Segment};

/// Extent to which the checked value is a whole pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// A part that others may complete: maps of a flavor, or of a template.
    Partial,
    /// A whole field.
    Field,
    /// A rendered workload.
    Workload,
}

/// Problem for which the API server rejects a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The field, from the checked value.
    pub(crate) path: FieldPath,
    /// The rule that it breaks.
    pub(crate) code: Code,
    /// Description of the problem.
    pub(crate) text: String,
    /// Remedy, if there is one.
    pub(crate) help: Option<String>,
}

impl Problem {
    /// Returns the problem in one line, for the field at `path` of a document.
    pub(crate) fn message(&self, path: &FieldPath) -> String {
        if self.code != Code::UnknownField {
            return format!("{path}: {}", self.text);
        }
        match path.segments().split_last() {
            Some((Segment::Key(key), [])) => format!("unknown field {key:?}"),
            Some((Segment::Key(key), parents)) => {
                let parents: FieldPath = parents.iter().cloned().collect();
                format!("unknown field {key:?} in {parents}")
            }
            _ => "unknown field".to_owned(),
        }
    }
}

/// Position in the value that is being checked, and the problems found so far. Rules report into it.
pub(super) struct Walk {
    /// Path of the current value.
    pub(super) path: Vec<Segment>,
    /// Extent to which the maps on the way are whole; items of lists always are.
    pub(super) depth: Depth,
    /// Names of the StatefulSet's volume claims, which its pods can mount.
    pub(super) claims: Vec<String>,
    /// Found so far.
    pub(super) problems: Vec<Problem>,
}

impl Walk {
    /// Begins at `path`.
    pub(super) fn new(path: &[Segment], depth: Depth) -> Self {
        Self {
            path: path.to_vec(),
            depth,
            claims: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The keys on the way to the value.
    pub(super) fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.path.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
    }

    /// Reports a problem of the field at `inside`, seen from the current value.
    pub(super) fn report(&mut self, inside: &[Segment], code: Code, text: impl Into<String>) {
        let path = self.path.iter().chain(inside).cloned().collect();
        self.problems.push(Problem {
            path,
            code,
            text: text.into(),
            help: None,
        });
    }

    /// The same, with a remedy.
    pub(super) fn report_with(
        &mut self,
        inside: &[Segment],
        code: Code,
        text: String,
        help: impl Into<String>,
    ) {
        self.report(inside, code, text);
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help.into());
        }
    }

    /// Returns whether a missing field is an error: the map is not completed by others.
    pub(super) fn is_whole(&self) -> bool {
        self.depth != Depth::Partial
    }

    /// Returns whether the StatefulSet has a volume claim of that name.
    pub(super) fn is_claimed(&self, name: &str) -> bool {
        self.claims.iter().any(|claim| claim == name)
    }
}
