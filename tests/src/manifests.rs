//! Manifests in the documentation, with their positions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::page::{Page, shown};
use crate::program::repository;

/// Every manifest of a folder's pages and YAML files, with where it stands. Documents without a
/// kind are parts of something else.
///
/// # Panics
/// When one is not YAML.
pub fn manifests_in(folder: &str) -> Vec<(String, Value)> {
    let mut manifests = Vec::new();
    for file in files_below(&repository().join(folder)) {
        let path = shown(&file);
        let texts: Vec<(String, String)> =
            match file.extension().and_then(|extension| extension.to_str()) {
                Some("yaml") => {
                    let text = fs::read_to_string(&file).expect("a manifest can be read");
                    vec![(path, text)]
                }
                Some("md") => Page::read(&path)
                    .blocks()
                    .into_iter()
                    .filter(|block| block.language == "yaml")
                    .map(|block| (block.place, block.text))
                    .collect(),
                _ => Vec::new(),
            };
        for (place, text) in texts {
            let documents = actor::yaml::documents(&text)
                .unwrap_or_else(|error| panic!("{place}: {error}"))
                .into_iter()
                .filter(|document| document["kind"].is_string());
            manifests.extend(documents.map(|document| (place.clone(), document)));
        }
    }
    manifests
}

/// Every file below a folder, by path; of a file, itself.
///
/// # Panics
/// When the folder cannot be read.
pub fn files_below(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).expect("a folder can be read");
    let paths = entries.map(|entry| entry.expect("its entries too").path());
    let mut files: Vec<PathBuf> = paths.flat_map(|path| files_below(&path)).collect();
    files.sort();
    files
}
