//! Corpus of the mutations: the requests of all golden cases.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) struct Corpus {
    /// In the form of `function_kit::cases::form`.
    pub(crate) requests: Vec<Value>,
}

impl Corpus {
    /// Reads the cases of every function.
    pub(crate) fn read() -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let functions = entries(&crates);
        let cases = functions
            .iter()
            .flat_map(|function| entries(&function.join("tests/cases")));
        let requests: Vec<Value> = cases
            .map(|case| case.join("request.yaml"))
            .filter(|file| file.is_file())
            .map(|file| read(&file))
            .collect();
        assert!(requests.len() > 100, "only {} cases", requests.len());
        Self { requests }
    }
}

/// The requests that once failed, by file name.
pub(crate) fn once_failed() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/once-failed");
    let files = entries(&folder).into_iter();
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "yaml"))
        .map(|file| (file.display().to_string(), read(&file)))
        .collect()
}

/// Entries of a folder, sorted; empty if the folder does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

fn read(file: &Path) -> Value {
    let failed = |error: String| format!("{}: {error}", file.display());
    fs::read_to_string(file)
        .map_err(|error| failed(error.to_string()))
        .and_then(|text| actor::yaml::document(&text).map_err(|error| failed(error.to_string())))
        .expect("a case is a YAML document")
}
