//! The moment at which a value is replaced or deleted.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tempfile::TempPath;

use super::{Directory, entry, errors, outside};
use crate::state::{Condition, Key, StateError};

/// Number of locks. Values that share one wait for each other's rename.
const LOCKS: usize = 64;

/// Attempts to create a directory that a deletion elsewhere removes as empty.
const ATTEMPTS: usize = 10;

/// Locks of values, between threads and between pods.
#[derive(Debug)]
pub(super) struct Locks {
    folder: PathBuf,
    threads: [Mutex<()>; LOCKS],
}

/// A lock that is held. The file's is released when it is closed.
pub(super) struct Held<'a> {
    _file: Option<File>,
    _thread: MutexGuard<'a, ()>,
}

impl Locks {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            threads: std::array::from_fn(|_| Mutex::new(())),
        }
    }

    /// Waits for the lock of a key.
    fn hold(&self, key: &Key) -> Result<Held<'_>, StateError> {
        // The same in all pods, whatever their version.
        let place = usize::from(Sha256::digest(key.as_str())[0]) % LOCKS;
        let thread = self.threads[place]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let file = self.open(place).map_err(|error| errors::of(&error, key))?;
        let file = match file.lock() {
            Ok(()) => Some(file),
            // Then the lock between threads is all there is.
            Err(error) if error.kind() == ErrorKind::Unsupported => None,
            Err(error) => return Err(errors::of(&error, key)),
        };
        Ok(Held {
            _file: file,
            _thread: thread,
        })
    }

    fn open(&self, place: usize) -> io::Result<File> {
        let path = self.folder.join(place.to_string());
        let options = || {
            let mut options = File::options();
            options.read(true);
            options
        };
        // A lock needs no right to write, which a file of another user's pod may not give.
        match options().open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path),
            found => found,
        }
    }
}

impl Directory {
    /// Puts a written file in the place of a value, if the condition holds.
    pub(super) fn commit(
        &self,
        key: &Key,
        file: &File,
        mut path: TempPath,
        condition: &Condition,
    ) -> Result<(), StateError> {
        let target = self.path(key)?;
        let _held = self.locks.hold(key)?;
        let failed = |error: io::Error| errors::of(&error, key);
        let mut attempt = 1;
        loop {
            self.make_parent(key, &target)?;
            let current = match fs::symlink_metadata(&target) {
                Ok(found) => Some(found),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(failed(error)),
            };
            check(key, current.as_ref(), condition)?;
            file.set_modified(later_than(current.as_ref()))
                .map_err(failed)?;
            match path.persist(&target) {
                Ok(()) => break,
                Err(error) if error.error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    path = error.path;
                    attempt += 1;
                }
                Err(error) => return Err(failed(error.error)),
            }
        }
        // Otherwise a crash of the node could bring the old value back.
        if let Some(parent) = target.parent() {
            drop(File::open(parent).and_then(|parent| parent.sync_all()));
        }
        Ok(())
    }

    fn make_parent(&self, key: &Key, target: &Path) -> Result<(), StateError> {
        let parent = target.parent().unwrap_or(&self.root);
        // Before anything is made: a link in the path must not lead out of the store.
        let existing = parent.ancestors().find_map(|path| path.canonicalize().ok());
        if !existing.is_some_and(|path| path.starts_with(&self.root)) {
            return Err(outside(key));
        }
        fs::create_dir_all(parent).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                StateError::Exists(format!("a part of {:?} is a value", key.as_str()))
            }
            _ => errors::of(&error, key),
        })
    }

    /// Deletes a value, and the directories that are empty without it.
    pub(super) fn delete(&self, key: &Key) -> Result<(), StateError> {
        let target = self.path(key)?;
        // Not the link's target: what is deleted is what the key names.
        let parent = target.parent().unwrap_or(&self.root).canonicalize();
        let parent = parent.map_err(|error| errors::of(&error, key))?;
        if !parent.starts_with(&self.root) {
            return Err(outside(key));
        }
        let _held = self.locks.hold(key)?;
        let found = fs::symlink_metadata(&target).map_err(|error| errors::of(&error, key))?;
        if found.is_dir() {
            let text = format!("{:?} is a directory", key.as_str());
            return Err(StateError::Denied(text));
        }
        fs::remove_file(&target).map_err(|error| errors::of(&error, key))?;
        for parent in target.ancestors().skip(1) {
            if parent == self.root || fs::remove_dir(parent).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn check(key: &Key, current: Option<&Metadata>, condition: &Condition) -> Result<(), StateError> {
    let exists = |what| StateError::Exists(format!("{what} {:?} exists", key.as_str()));
    match (condition, current) {
        (_, Some(found)) if found.is_dir() => Err(exists("directory")),
        (Condition::Absent, Some(_)) => Err(exists("value")),
        (Condition::Matches(_), None) => Err(StateError::Changed(key.to_string())),
        (Condition::Matches(etag), Some(found)) if entry(found).etag != *etag => {
            Err(StateError::Changed(key.to_string()))
        }
        _ => Ok(()),
    }
}

/// The present, or a moment after the last write: the clock of a file system stands still for
/// milliseconds.
fn later_than(current: Option<&Metadata>) -> SystemTime {
    let now = SystemTime::now();
    let last = current.and_then(|found| found.modified().ok());
    match last {
        Some(last) if last >= now => last + Duration::from_nanos(1),
        _ => now,
    }
}
