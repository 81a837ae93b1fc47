//! Changes of files below folders, found by their times and sizes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More files are not watched: a folder above everything was given.
const LIMIT: usize = 20_000;

/// Folders that no handler is in.
const SKIPPED: [&str; 4] = ["__pycache__", "node_modules", "target", "venv"];

/// The files that matter, as they were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Snapshot {
    /// YAML and Python files at these paths: files, and folders with all folders below them. Hidden
    /// folders are skipped.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut files = BTreeMap::new();
        for path in paths {
            add(path, true, &mut files);
        }
        Self(files)
    }

    /// The files that are new, changed or deleted in the later snapshot.
    pub fn changes<'a>(&'a self, later: &'a Self) -> Vec<&'a Path> {
        let changed = later
            .0
            .iter()
            .filter(|(path, state)| self.0.get(*path) != Some(state));
        let deleted = self.0.keys().filter(|path| !later.0.contains_key(*path));
        changed
            .map(|(path, _)| path)
            .chain(deleted)
            .map(PathBuf::as_path)
            .collect()
    }
}

fn add(path: &Path, is_given: bool, files: &mut BTreeMap<PathBuf, (Option<SystemTime>, u64)>) {
    let Ok(metadata) = fs::metadata(path) else {
        return;
    };
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if metadata.is_dir() {
        if !is_given && (name.starts_with('.') || SKIPPED.contains(&name)) {
            return;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            add(&entry.path(), false, files);
        }
        return;
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_of_interest = is_given || matches!(extension, Some("py" | "yaml" | "yml"));
    if is_of_interest && files.len() < LIMIT {
        files.insert(path.to_owned(), (metadata.modified().ok(), metadata.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_and_deleted_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let snapshot = || Snapshot::of([folder.path()]);
        fs::create_dir(path("__pycache__")).unwrap();
        fs::write(path("a.py"), "1").unwrap();
        fs::write(path("b.yaml"), "1").unwrap();
        let before = snapshot();
        assert_eq!(before.changes(&snapshot()), Vec::<&Path>::new());
        fs::write(path("a.py"), "22").unwrap();
        fs::write(path("c.yml"), "1").unwrap();
        fs::remove_file(path("b.yaml")).unwrap();
        fs::write(path("d.txt"), "1").unwrap();
        fs::write(path("__pycache__/a.pyc"), "1").unwrap();
        let after = snapshot();
        let changes = before.changes(&after);
        assert_eq!(changes, [path("a.py"), path("c.yml"), path("b.yaml")]);
    }
}
