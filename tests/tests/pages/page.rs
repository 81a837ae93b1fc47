//! Pages, and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use tests::program::repository;

/// Folders and files with pages for readers.
const PAGES: [&str; 5] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs",
    "install",
];

/// A page.
pub(crate) struct Page {
    /// Its path in the repository.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Page and line.
    pub(crate) place: String,
    /// What stands behind the fence.
    pub(crate) language: String,
    /// What is in it.
    pub(crate) text: String,
    /// Whether nothing but empty lines is between it and the block before.
    pub(crate) follows: bool,
}

impl Block {
    /// What its first line says after `# <key>: `.
    pub(crate) fn note(&self, key: &str) -> Option<&str> {
        let first = self.text.lines().next()?;
        first
            .strip_prefix("# ")?
            .strip_prefix(key)?
            .strip_prefix(": ")
    }
}

/// Every page, by path.
pub(crate) fn pages() -> Vec<Page> {
    let root = repository();
    let mut files = Vec::new();
    for name in PAGES {
        collect(&root.join(name), &mut files);
    }
    let pages: Vec<Page> = files
        .iter()
        .map(|file| Page {
            path: file.strip_prefix(&root).unwrap().display().to_string(),
            text: fs::read_to_string(file).unwrap(),
        })
        .collect();
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    pages
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for entry in entries {
            collect(&entry, files);
        }
    } else if path.extension().is_some_and(|extension| extension == "md") {
        files.push(path.to_owned());
    }
}

impl Page {
    /// Its blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
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
    pub(crate) fn prose(&self) -> impl Iterator<Item = &str> {
        let mut is_inside = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.starts_with("```");
            is_inside ^= is_fence;
            !is_inside && !is_fence
        })
    }
}
