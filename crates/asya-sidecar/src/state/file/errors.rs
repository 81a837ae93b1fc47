//! File system errors as state errors.

use std::io::{self, ErrorKind};

use crate::state::{Key, StateError};

/// The error of an operation on a value.
pub(super) fn of(error: &io::Error, key: &Key) -> StateError {
    of_path(error, key.as_str())
}

/// The error of a directory that is listed.
pub(super) fn of_directory(error: &io::Error, directory: &str) -> StateError {
    of_path(error, directory)
}

fn of_path(error: &io::Error, key: &str) -> StateError {
    let text = || format!("{key:?}: {error}");
    match error.kind() {
        // A part of the path is a file, and so nothing is below it.
        ErrorKind::NotFound | ErrorKind::NotADirectory => StateError::NotFound(key.to_owned()),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StateError::Denied(text()),
        ErrorKind::InvalidFilename => StateError::InvalidKey {
            key: key.to_owned(),
            reason: "is too long for the file system",
        },
        ErrorKind::FileTooLarge => StateError::TooLarge(text()),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StateError::Full(text()),
        ErrorKind::TimedOut => StateError::Timeout(text()),
        ErrorKind::StaleNetworkFileHandle | ErrorKind::HostUnreachable => {
            StateError::Unavailable(text())
        }
        _ => StateError::Failed(text()),
    }
}
