//! Checksums of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::cannot;

/// The file with the checksums, in the form that `sha256sum --check` reads.
pub(super) const FILE: &str = "SHA256SUMS";

/// Writes the checksums of all files below a folder, sorted by path.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    let mut text = String::new();
    for path in paths {
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let bytes = fs::read(&path).with_context(|| cannot("read", &path))?;
        text += &format!("{}  {}\n", of(&bytes), name.display());
    }
    let path = folder.join(FILE);
    fs::write(&path, text).with_context(|| cannot("write", &path))
}

/// SHA-256 in hexadecimal digits.
pub(super) fn of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| cannot("read", folder))?;
    for entry in entries {
        let path = entry.with_context(|| cannot("read", folder))?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
