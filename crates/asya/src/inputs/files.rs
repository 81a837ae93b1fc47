//! Text and YAML from files, folders and standard input.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::InputError;

/// The path that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The text of a file, or of standard input.
pub(super) fn read(file: &Path) -> Result<String, InputError> {
    let text = if file == Path::new(STANDARD_INPUT) {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    text.map_err(|source| unreadable(file, source))
}

/// The YAML files (`.yaml`, `.yml`) directly in a folder, sorted; with `recursive` also those in
/// folders below it. Hidden folders are skipped.
pub(super) fn yaml_files(folder: &Path, recursive: bool) -> Result<Vec<PathBuf>, InputError> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            if recursive && !is_hidden(&entry) {
                files.extend(yaml_files(&entry, recursive)?);
            }
        } else if has_extension(&entry, &["yaml", "yml"]) {
            files.push(entry);
        }
    }
    Ok(files)
}

/// The JSON files below a folder, sorted.
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

/// Time of change and size of a file; none if it cannot be read.
pub type FileState = Option<(SystemTime, u64)>;

/// The state of each file that a command reads from these paths.
pub fn fingerprint(paths: &[PathBuf], recursive: bool) -> BTreeMap<PathBuf, FileState> {
    let state = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    let mut states = BTreeMap::new();
    for path in paths {
        if path.is_dir() {
            let files = yaml_files(path, recursive).unwrap_or_default();
            states.extend(files.into_iter().map(|file| {
                let found = state(&file);
                (file, found)
            }));
        } else {
            states.insert(path.clone(), state(path));
        }
    }
    states
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

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with('.'))
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
