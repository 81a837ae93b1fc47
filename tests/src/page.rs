//! Pages, and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::manifests::files_below;
use crate::program::repository;

/// Folders and files with pages for readers.
const PAGES: [&str; 10] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "install",
    "examples",
    "package",
    "runtime",
    "crates",
];

/// A page.
pub struct Page {
    /// Its path in the repository.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Page and line.
    pub place: String,
    /// Info string of the fence.
    pub language: String,
    /// Content.
    pub text: String,
    /// True if nothing but empty lines is between it and the block before.
    pub follows: bool,
}

impl Block {
    /// The rest of its first line after `# <key>: `.
    pub fn note(&self, key: &str) -> Option<&str> {
        let first = self.text.lines().next()?;
        first
            .strip_prefix("# ")?
            .strip_prefix(key)?
            .strip_prefix(": ")
    }
}

/// Every page, by path.
///
/// # Panics
/// When one cannot be read, or hardly any is found.
pub fn pages() -> Vec<Page> {
    let root = repository();
    let files = PAGES
        .into_iter()
        .flat_map(|name| files_below(&root.join(name)));
    let is_page = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "md");
    let pages: Vec<Page> = files
        .filter(is_page)
        .map(|file| Page::read(&shown(&file)))
        .collect();
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    pages
}

/// A file's path in the repository.
pub(crate) fn shown(file: &Path) -> String {
    let within = file.strip_prefix(repository()).unwrap_or(file);
    within.display().to_string()
}

impl Page {
    /// The page of this path in the repository.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(repository().join(path));
        Self {
            path: path.to_owned(),
            text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
        }
    }

    /// Its blocks, in order.
    ///
    /// # Panics
    /// When one has no end.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open: Option<Block> = None;
        let mut follows = false;
        for (index, line) in self.text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (Some(_), Some(_)) => {
                    blocks.extend(open.take());
                    follows = true;
                }
                (Some(block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, Some(language)) => {
                    open = Some(Block {
                        place: format!("{}:{}", self.path, index + 1),
                        language: language.to_owned(),
                        text: String::new(),
                        follows,
                    });
                }
                (None, None) => follows = follows && line.trim().is_empty(),
            }
        }
        assert!(open.is_none(), "{}: a block has no end", self.path);
        blocks
    }

    /// Its lines outside of blocks.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        let mut is_inside = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            is_inside ^= is_fence;
            !is_inside && !is_fence
        })
    }
}
