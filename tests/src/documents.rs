//! What the documents show: manifests and commands, with where they stand.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::repository;

/// A fenced block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The page, relative to the repository, with the line on which the block begins.
    pub place: String,
    /// What stands behind the fence, such as `sh`.
    pub language: String,
    /// Its text.
    pub text: String,
}

/// The blocks of a page, in order.
///
/// # Panics
/// When the page cannot be read, or a block has no end.
pub fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(repository().join(page)).expect("a page can be read");
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let mut inside = String::new();
        loop {
            let (_, line) = lines.next().expect("a block has an end");
            if line == "```" {
                break;
            }
            inside.push_str(line);
            inside.push('\n');
        }
        blocks.push(Block {
            place: format!("{page}:{}", number + 1),
            language: language.to_owned(),
            text: inside,
        });
    }
    blocks
}

/// Every manifest of a folder's pages and YAML files, with where it stands. Documents without a
/// kind are parts of something else.
///
/// # Panics
/// When one is not YAML.
pub fn manifests(folder: &str) -> Vec<(String, Value)> {
    let mut manifests = Vec::new();
    for file in files_below(&repository().join(folder)) {
        let page = file
            .strip_prefix(repository())
            .unwrap_or(&file)
            .display()
            .to_string();
        let texts: Vec<(String, String)> =
            match file.extension().and_then(|extension| extension.to_str()) {
                Some("yaml") => {
                    let text = fs::read_to_string(&file).expect("a manifest can be read");
                    vec![(page, text)]
                }
                Some("md") => blocks(&page)
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

/// Every file below a folder, by path.
///
/// # Panics
/// When the folder cannot be read.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("its entries too").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
