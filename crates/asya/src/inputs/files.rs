//! Reading documents from files, folders and the standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::InputError;
use super::bare_keys::bare_keys;
use crate::pipeline::Object;

/// The path that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// A reader that remembers what it should warn of.
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
        let text = read(file)?;
        let documents = actor::yaml::documents(&text).map_err(|source| InputError::Yaml {
            path: file.to_owned(),
            source,
        })?;
        for key in bare_keys(&text, &documents) {
            self.warnings.push(format!(
                "{}: Kubernetes tools read the key {key:?} as a boolean: put it in quotes",
                file.display()
            ));
        }
        documents
            .into_iter()
            .map(|document| match document {
                Value::Object(map) if map.contains_key("kind") => Ok(Object::from(map)),
                _ => Err(InputError::NoObject {
                    path: file.to_owned(),
                }),
            })
            .collect()
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
