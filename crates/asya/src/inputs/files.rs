//! Text and YAML from files, folders and standard input.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::InputError;

/// The path that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The text of a file, or of standard input.
pub(super) fn read(file: &Path) -> Result<String, InputError> {
    let text = bytes_of(file).and_then(|bytes| {
        let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
        String::from_utf8(bytes).map_err(not_text)
    });
    text.map_err(|source| unreadable(file, source))
}

/// The content of a file, or of standard input. A pipe is read if the command line names it: in a folder
/// nothing may ever write to it.
pub(super) fn read_input(file: &Path, is_named: bool) -> Result<Vec<u8>, InputError> {
    let bytes = if is_named {
        bytes_of(file)
    } else {
        regular(file).and_then(|()| bytes_of(file))
    };
    bytes.map_err(|source| unreadable(file, source))
}

fn bytes_of(file: &Path) -> io::Result<Vec<u8>> {
    if file == Path::new(STANDARD_INPUT) {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    }
}

fn regular(file: &Path) -> io::Result<()> {
    if fs::metadata(file)?.is_file() {
        Ok(())
    } else {
        let problem =
            "it is a pipe, socket or device, which is read only if the command line names it";
        Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
    }
}

/// Files of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderFiles {
    /// The files, sorted.
    pub(super) files: Vec<PathBuf>,
    /// Folders that cannot be read.
    pub(super) errors: Vec<InputError>,
}

/// The YAML files (`.yaml`, `.yml`) directly in a folder; with `recursive` also those in folders below
/// it. Hidden folders are skipped. A folder is read once, whatever links lead to it.
pub(super) fn yaml_files(folder: &Path, recursive: bool) -> FolderFiles {
    let is_entered = |folder: &Path| recursive && !is_hidden(folder);
    files_below(folder, &["yaml", "yml"], is_entered)
}

/// The JSON files below a folder, sorted.
pub(super) fn json_files(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let FolderFiles { files, errors } = files_below(folder, &["json"], |_| true);
    errors.into_iter().next().map_or(Ok(files), Err)
}

fn files_below(
    folder: &Path,
    extensions: &[&str],
    is_entered: impl Fn(&Path) -> bool,
) -> FolderFiles {
    let mut found = FolderFiles::default();
    let mut read: BTreeSet<PathBuf> = BTreeSet::new();
    // Links last: what they lead to is named by its own path if it is below the folder.
    let (mut folders, mut links) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop().or_else(|| links.pop()) {
        let identity = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if !read.insert(identity) {
            continue;
        }
        let entries = match entries(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                found.errors.push(error);
                continue;
            }
        };
        for entry in entries {
            if !entry.is_dir() {
                if has_extension(&entry, extensions) {
                    found.files.push(entry);
                }
            } else if is_entered(&entry) {
                let list = if entry.is_symlink() {
                    &mut links
                } else {
                    &mut folders
                };
                list.push(entry);
            }
        }
    }
    found.files.sort();
    found
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
            let files = yaml_files(path, recursive).files;
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
