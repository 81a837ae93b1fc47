//! Callgrind, which counts the instructions of a process.

use std::path::PathBuf;
use std::{env, fs, process};

use anyhow::{Context as _, Result};

/// Said where it does not start.
pub(crate) const MISSING: &str = "callgrind is part of Debian's package valgrind";

/// The file that callgrind writes when a process ends.
pub(crate) struct Report {
    file: PathBuf,
}

impl Report {
    /// A file of this process, one at a time.
    pub(crate) fn new() -> Self {
        let file = env::temp_dir().join(format!("asya-bench-{}.callgrind", process::id()));
        Self { file }
    }

    /// The arguments before a program.
    pub(crate) fn command(&self) -> [String; 3] {
        [
            "valgrind".to_owned(),
            "--tool=callgrind".to_owned(),
            format!("--callgrind-out-file={}", self.file.display()),
        ]
    }

    /// All instructions of the process, which has ended.
    pub(crate) fn instructions(self) -> Result<u64> {
        let text = fs::read_to_string(&self.file).context("callgrind wrote nothing")?;
        fs::remove_file(&self.file).context("cannot remove what callgrind wrote")?;
        let total = text.lines().find_map(|line| line.strip_prefix("summary: "));
        let total = total.or_else(|| text.lines().find_map(|line| line.strip_prefix("totals: ")));
        total
            .context("callgrind counted nothing")?
            .trim()
            .parse()
            .context("callgrind's sum is not a number")
    }
}
