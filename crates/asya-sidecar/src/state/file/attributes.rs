//! Attributes of a value: what the file system knows, and extended attributes that handlers set.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};
use rustix::io::Errno;

use super::{Directory, entry, errors};
use crate::state::{Key, StateError};

/// The name of an extended attribute begins so. Linux lets programs only set those of users.
const PREFIX: &str = "user.asya.";

/// The longest value or list of names. Source: `XATTR_SIZE_MAX` of Linux.
const MAX_BYTES: usize = 64 << 10;

/// Attributes that cannot be set.
const COMPUTED: [&str; 2] = ["etag", "size"];

/// All attributes of a value.
pub(super) fn all(
    directory: &Directory,
    key: &Key,
) -> Result<BTreeMap<String, Option<String>>, StateError> {
    let path = directory.existing(key)?;
    let found = directory.metadata(key)?;
    if found.is_dir() {
        return Err(StateError::NotFound(key.to_string()));
    }
    let entry = entry(&found);
    let etag = entry.etag.trim_matches('"').to_owned();
    let mut attributes = BTreeMap::from([
        ("etag".to_owned(), Some(etag)),
        ("size".to_owned(), Some(entry.size.to_string())),
    ]);
    let mut names = vec![0; MAX_BYTES];
    let length = match listxattr(&path, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => 0,
        Err(error) => return Err(failed(error, key)),
    };
    for name in names[..length].split(|byte| *byte == 0) {
        let name = std::str::from_utf8(name).unwrap_or_default();
        if let Some(short) = name.strip_prefix(PREFIX)
            && let Some(value) = value(&path, name, key)?
        {
            attributes.insert(short.to_owned(), Some(value));
        }
    }
    Ok(attributes)
}

/// Returns an extended attribute; none if it is missing or not text.
fn value(path: &Path, name: &str, key: &Key) -> Result<Option<String>, StateError> {
    let mut value = vec![0; MAX_BYTES];
    match getxattr(path, name, &mut value[..]) {
        Ok(length) => {
            value.truncate(length);
            Ok(String::from_utf8(value).ok())
        }
        Err(Errno::NODATA) => Ok(None),
        Err(error) => Err(failed(error, key)),
    }
}

/// Sets an attribute of a value.
pub(super) fn set(
    directory: &Directory,
    key: &Key,
    name: &str,
    value: &str,
) -> Result<(), StateError> {
    if COMPUTED.contains(&name) {
        return Err(StateError::Denied(format!(
            "attribute {name:?} is read-only"
        )));
    }
    let path = directory.existing(key)?;
    let set = setxattr(
        path,
        format!("{PREFIX}{name}"),
        value.as_bytes(),
        XattrFlags::empty(),
    );
    set.map_err(|error| failed(error, key))
}

fn failed(error: Errno, key: &Key) -> StateError {
    match error {
        Errno::NOTSUP => {
            let text = "the file system of the store has no extended attributes";
            StateError::Failed(text.to_owned())
        }
        _ => errors::of(&io::Error::from(error), key),
    }
}
