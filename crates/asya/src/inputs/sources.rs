//! Input of `asya lint`: documents with the positions of their fields.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use actor::yaml::{Position, YamlError};
use merge::FieldPath;
use serde_json::Value;

use super::InputError;
use super::compositions::both_built_in;
use super::example::Example;
use super::files::{located, yaml_files};
use crate::lint::{Check, Code, Document, Finding, Place, Role, Severity};
use pipeline::{Composition, Object};

/// Documents to check.
#[derive(Debug, Default)]
pub struct Sources {
    /// Documents that belong together: those of one example, or of all other files.
    pub groups: Vec<Vec<Document>>,
    /// Errors of files that cannot be read as objects.
    pub findings: Vec<Finding>,
}

/// Reads files, the YAML files directly in folders, and examples. To an example's own
/// flavors and settings come those of the other files, which go before.
///
/// # Errors
/// When a file cannot be read, or there is nothing to check.
pub fn sources(paths: &[PathBuf]) -> Result<Sources, InputError> {
    let mut sources = Sources::default();
    let mut examples = Vec::new();
    let mut files = BTreeSet::new();
    for path in paths {
        match Example::at(path) {
            Some(example) => {
                let files = std::iter::once(example.xr()).chain(example.required());
                examples.push(sources.read(files)?);
            }
            None => files.extend(yaml_files(path)?),
        }
    }
    let others = sources.read(files)?;
    let shared = |document: &&Document| document.role() != Role::Actor;
    for mut example in examples {
        example.extend(others.iter().filter(shared).cloned());
        sources.groups.push(example);
    }
    sources.groups.push(others);
    let mut documents = sources.groups.iter().flatten();
    if sources.findings.is_empty() && documents.all(|document| document.role() == Role::None) {
        let shown = paths.iter().map(|path| path.display().to_string());
        return Err(InputError::NothingToLint {
            files: shown.collect::<Vec<_>>().join(", "),
        });
    }
    Ok(sources)
}

/// The built-in Compositions: of an `AsyncActor`, and of an `XAsyncActor`.
///
/// # Errors
/// When this program is broken.
pub fn compositions_of_actors() -> Result<[Composition; 2], InputError> {
    both_built_in()
}

impl Sources {
    fn read(
        &mut self,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Vec<Document>, InputError> {
        let mut documents = Vec::new();
        for file in files {
            match located(&file) {
                Ok(found) => {
                    for (document, bare_keys) in found {
                        match document.value {
                            Value::Object(map) if map.contains_key("kind") => {
                                documents.push(Document {
                                    file: file.clone(),
                                    object: Object::from(map),
                                    positions: document.positions,
                                    bare_keys,
                                });
                            }
                            _ => {
                                let place = document.positions.of(&FieldPath::default());
                                let fault =
                                    "expected a Kubernetes object, found a document without kind";
                                self.findings.push(unreadable(&file, place, fault));
                            }
                        }
                    }
                }
                Err(InputError::Yaml {
                    source: YamlError::Read { fault, position },
                    ..
                }) => {
                    let place = position.unwrap_or(Position { line: 1, column: 1 });
                    let fault = format!("cannot read YAML: {fault}");
                    self.findings.push(unreadable(&file, place, &fault));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(documents)
    }
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
