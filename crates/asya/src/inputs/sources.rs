//! Input of `asya lint`: documents with the positions of their fields.

use std::path::{Path, PathBuf};

use actor::yaml::{Position, YamlError};
use merge::FieldPath;

use super::InputError;
use super::compositions::both_built_in;
use super::documents::{self, Documents, names_standard_input_twice, position_of};
use super::error::io_problem;
use super::files::STANDARD_INPUT;
use super::summary::Summary;
use crate::lint::{Check, Code, Document, Finding, Place, Role, Severity};
use pipeline::Composition;

/// Documents to check.
#[derive(Debug, Default)]
pub struct Sources {
    /// Documents that belong together: those of one folder with `xr.yaml`, or of all other files.
    pub groups: Vec<Vec<Document>>,
    /// Errors of files that cannot be read as objects.
    pub findings: Vec<Finding>,
    /// Files that cannot be read at all.
    pub errors: Vec<InputError>,
    /// Counts of what was read.
    pub summary: Summary,
}

/// Reads files and folders. A folder with `xr.yaml` is checked with its own flavors and settings,
/// and with those of the files outside of such folders, which win.
///
/// # Errors
/// When there is nothing to check.
pub fn sources(paths: &[PathBuf], recursive: bool) -> Result<Sources, InputError> {
    if names_standard_input_twice(paths.iter()) {
        return Err(InputError::SeveralStandardInputs);
    }
    let Documents {
        shared,
        groups,
        errors,
        misnamed,
        summary,
        ..
    } = Documents::read(paths, recursive);
    let mut sources = Sources {
        summary,
        ..Sources::default()
    };
    for error in errors {
        if matches!(error, InputError::NameNotText { .. }) {
            continue; // a finding of its document
        }
        match finding(&error) {
            Some(finding) => sources.findings.push(finding),
            None => sources.errors.push(error),
        }
    }
    let others = shared.documents.into_iter().chain(misnamed);
    let others: Vec<Document> = others.map(document).collect();
    let common = |document: &&Document| document.role() != Role::Actor;
    for group in groups {
        let mut own: Vec<Document> = group.documents.into_iter().map(document).collect();
        own.extend(others.iter().filter(common).cloned());
        sources.groups.push(own);
    }
    sources.groups.push(others);
    let mut documents = sources.groups.iter().flatten();
    if sources.findings.is_empty() && documents.all(|document| document.role() == Role::None) {
        if let Some(error) = sources.errors.pop() {
            return Err(error);
        }
        let shown = paths.iter().map(|path| path.display().to_string());
        return Err(InputError::NothingToLint {
            files: shown.collect::<Vec<_>>().join(", "),
            found: summary,
        });
    }
    Ok(sources)
}

fn document(found: documents::Document) -> Document {
    Document {
        file: found.file,
        object: found.object,
        positions: found.positions,
        bare_keys: found.bare_keys,
    }
}

/// The built-in Compositions: of an `AsyncActor`, and of an `XAsyncActor`.
///
/// # Errors
/// When this program is broken.
pub fn compositions_of_actors() -> Result<[Composition; 2], InputError> {
    both_built_in()
}

/// The finding about a file that cannot be read, is no YAML or has no objects; none for other errors.
fn finding(error: &InputError) -> Option<Finding> {
    match error {
        InputError::Yaml { path, source } => {
            let problem = match source {
                YamlError::Read { problem, .. } => format!("cannot read YAML: {problem}"),
                YamlError::Write(_) => source.to_string(),
            };
            Some(unreadable(path, position_of(source), &problem))
        }
        InputError::NoObject { path, position } => {
            let problem = "expected a Kubernetes object, found a document without kind";
            Some(unreadable(path, *position, problem))
        }
        // A path at which there is nothing is an error of the command line.
        InputError::Read { path, source } if is_present(path) => {
            let position = Position { line: 1, column: 1 };
            let problem = format!("cannot read the file: {}", io_problem(source));
            Some(unreadable(path, position, &problem))
        }
        _ => None,
    }
}

/// Returns whether there is a file, or a link to a missing one.
fn is_present(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT) || path.symlink_metadata().is_ok()
}

fn unreadable(file: &Path, position: Position, message: &str) -> Finding {
    Finding {
        place: Place {
            file: file.to_owned(),
            position,
            path: FieldPath::default(),
            source: None,
        },
        severity: Severity::Error,
        code: Code::InvalidYaml,
        related: Vec::new(),
        message: message.to_owned(),
        help: None,
        actor: None,
        check: Check::Document,
    }
}
