//! Keys in a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Directory, PRIVATE, errors};
use crate::state::{Key, Listing, Prefix, StateError};

/// The keys that begin with a prefix. Names that are not UTF-8 cannot be keys and are left out.
pub(super) fn list(
    directory: &Directory,
    prefix: &Prefix,
    descend: bool,
) -> Result<Listing, StateError> {
    let (parent, beginning) = prefix.split();
    let (mut keys, mut prefixes) = (BTreeSet::new(), BTreeSet::new());
    let start = match parent {
        "" => Ok(directory.root.clone()),
        _ => Key::new(parent).and_then(|key| directory.existing(&key)),
    };
    let start = match start {
        Ok(start) => start,
        Err(StateError::NotFound(_)) => return Ok(Listing::default()),
        Err(error) => return Err(error),
    };
    let key_of = |parent: &str, name: &str| match parent {
        "" => name.to_owned(),
        _ => format!("{parent}/{name}"),
    };
    let mut left: Vec<(String, PathBuf, String)> = Vec::new();
    left.push((parent.to_owned(), start, beginning.to_owned()));
    while let Some((parent, path, beginning)) = left.pop() {
        for (name, path) in names(&path, &parent)? {
            let is_private = parent.is_empty() && name == PRIVATE;
            if is_private || !name.starts_with(&beginning) {
                continue;
            }
            let key = key_of(&parent, &name);
            // As far as links lead anywhere in the store.
            let Ok(target) = path.canonicalize() else {
                continue;
            };
            let Ok(found) = fs::metadata(&target) else {
                continue;
            };
            if !target.starts_with(&directory.root) {
                continue;
            }
            if !found.is_dir() {
                keys.insert(key);
            } else if descend && path.is_symlink() {
                // Its values have keys of their own, and it may lead in a circle.
            } else if descend {
                left.push((key, path, String::new()));
            } else {
                prefixes.insert(key + "/");
            }
        }
    }
    Ok(Listing {
        keys: keys.into_iter().collect(),
        prefixes: prefixes.into_iter().collect(),
    })
}

fn names(path: &Path, parent: &str) -> Result<Vec<(String, PathBuf)>, StateError> {
    let found = match fs::read_dir(path) {
        Ok(found) => found,
        // Deleted meanwhile, or a value.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(errors::of_directory(&error, parent)),
    };
    let mut names = Vec::new();
    for one in found {
        let one = one.map_err(|error| errors::of_directory(&error, parent))?;
        if let Ok(name) = one.file_name().into_string() {
            names.push((name, one.path()));
        }
    }
    Ok(names)
}
