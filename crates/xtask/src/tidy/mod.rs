//! Invariants that neither the compiler nor clippy can hold, checked by reading the tree.
//!
//! Every violation is reported, one line each, so that one run is enough to see them all.

mod dependencies;
mod text;

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace::{self, Metadata};
use crate::{Verdict, cannot};

/// Violation of an invariant.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    /// A path relative to the repository root, with a line where one is known.
    place: String,
    /// The problem and its remedy.
    message: String,
}

impl Violation {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

/// Runs `cargo xtask tidy`.
pub(crate) fn run(root: &Path, out: &mut impl Write) -> Result<Verdict> {
    let mut violations = Vec::new();
    let files = workspace::files(root)?;
    for path in &files {
        let full = root.join(path);
        // A listed file may be deleted but not yet staged, or be a link to a folder.
        if full.is_file() {
            let bytes = fs::read(&full).with_context(|| cannot("read", &full))?;
            violations.extend(text::check(path, &String::from_utf8_lossy(&bytes)));
        }
    }
    let metadata = Metadata::read(root)?;
    violations.extend(dependencies::check(&metadata));

    for violation in &violations {
        writeln!(out, "{violation}")?;
    }
    if violations.is_empty() {
        writeln!(
            out,
            "tidy: {} files and every crate keep the invariants",
            files.len()
        )?;
        return Ok(Verdict::Holds);
    }
    writeln!(out, "tidy: {} violations", violations.len())?;
    Ok(Verdict::Fails)
}
