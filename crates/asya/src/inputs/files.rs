//! Reading documents from files, folders and the standard input.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use actor::yaml::Located;
use merge::{FieldPath, Segment};
use serde_json::Value;

use super::InputError;
use super::bare_keys::bare_keys;
use pipeline::Object;

/// The path that stands for the standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// A reader of files that collects warnings.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) warnings: Vec<String>,
}

impl Files {
    /// Every object of a file, or of the YAML files directly in a folder.
    pub(super) fn objects(&mut self, path: &Path) -> Result<Vec<Object>, InputError> {
        let mut objects = Vec::new();
        for file in yaml_files(path)? {
            objects.extend(self.objects_of(&file)?);
        }
        Ok(objects)
    }

    /// Every object of one file.
    pub(super) fn objects_of(&mut self, file: &Path) -> Result<Vec<Object>, InputError> {
        let documents = located(file)?;
        let keys: BTreeSet<&Segment> = documents
            .iter()
            .flat_map(|(_, bare_keys)| bare_keys)
            .filter_map(|path| path.segments().last())
            .collect();
        for key in keys {
            if let Segment::Key(key) = key {
                self.warnings
                    .push(format!("{}: {}", file.display(), bare_key(key)));
            }
        }
        documents
            .into_iter()
            .flat_map(|(document, _)| items(document.value))
            .map(|document| match document {
                Value::Object(map) if map.contains_key("kind") => {
                    with_text_names(file, Object::from(map))
                }
                _ => Err(InputError::NoObject {
                    path: file.to_owned(),
                }),
            })
            .collect()
    }
}

/// The objects of a list, as `kubectl get` writes several; else the document itself.
pub(super) fn items(mut document: Value) -> Vec<Value> {
    if document["apiVersion"] == "v1" && document["kind"] == "List" {
        match document["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }
    } else {
        vec![document]
    }
}

/// Every document of one file, with its [`bare_keys`].
pub(super) fn located(file: &Path) -> Result<Vec<(Located, Vec<FieldPath>)>, InputError> {
    let text = read(file)?;
    let documents = actor::yaml::located(&text).map_err(|source| InputError::Yaml {
        path: file.to_owned(),
        source,
    })?;
    Ok(documents
        .into_iter()
        .map(|document| {
            let bare_keys = bare_keys(&text, &document);
            (document, bare_keys)
        })
        .collect())
}

/// The message about a bare key.
pub(crate) fn bare_key(key: &str) -> String {
    format!("Kubernetes tools read the key {key:?} as a boolean: put it in quotes")
}

/// The object, unless its name or namespace is of another type: it would count as
/// not set, and the object as one of the default namespace.
fn with_text_names(file: &Path, object: Object) -> Result<Object, InputError> {
    let is_other = |field: &&str| {
        let value = object.get(&["metadata", field]);
        value.is_some_and(|value| !value.is_string() && !value.is_null())
    };
    match ["name", "namespace"].into_iter().find(is_other) {
        None => Ok(object),
        Some(field) => Err(InputError::NameNotText {
            path: file.to_owned(),
            kind: object.kind().to_owned(),
            field,
        }),
    }
}

/// The text of a file, or of the standard input.
pub(super) fn read(file: &Path) -> Result<String, InputError> {
    let text = if file == Path::new(STANDARD_INPUT) {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    text.map_err(|source| unreadable(file, source))
}

/// The path itself where it is a file, else the YAML files directly in it, sorted.
pub(super) fn yaml_files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = entries(path)?
        .into_iter()
        .filter(|entry| has_extension(entry, &["yaml", "yml"]) && !entry.is_dir());
    let files: Vec<PathBuf> = files.collect();
    if files.is_empty() {
        return Err(InputError::NoYaml {
            folder: path.to_owned(),
        });
    }
    Ok(files)
}

/// Every JSON file below a folder, sorted.
pub(super) fn json_files(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            files.extend(json_files(&entry)?);
        } else if has_extension(&entry, &["json"]) {
            files.push(entry);
        }
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()
    });
    let mut entries = entries.map_err(|source| unreadable(folder, source))?;
    entries.sort();
    Ok(entries)
}

fn has_extension(path: &Path, wanted: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| wanted.contains(&extension))
}

fn unreadable(path: &Path, source: io::Error) -> InputError {
    InputError::Read {
        path: path.to_owned(),
        source,
    }
}
