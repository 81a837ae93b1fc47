//! `--watch`: a command again when its input changes.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::inputs::fingerprint;
use crate::printer::Printer;

use super::ExitStatus;

/// Interval between checks of the files.
const INTERVAL: Duration = Duration::from_millis(300);

/// Runs a command, and again whenever one of the files changes, appears or disappears. Ends when the
/// command cannot write, or when standard input is among the files.
pub(super) fn repeat(
    paths: &[PathBuf],
    recursive: bool,
    printer: &Printer,
    mut command: impl FnMut() -> io::Result<ExitStatus>,
) -> io::Result<ExitStatus> {
    if paths.iter().any(|path| path == Path::new("-")) {
        printer.error("--watch needs files: standard input (-) is read once");
        return Ok(ExitStatus::Error);
    }
    loop {
        let before = fingerprint(paths, recursive);
        command()?;
        printer.note(format_args!("watching {} files for changes", before.len()));
        let after = loop {
            sleep(INTERVAL);
            let after = fingerprint(paths, recursive);
            if after != before {
                break after;
            }
        };
        let changed = after
            .iter()
            .find(|(path, state)| before.get(*path) != Some(state));
        let removed = before.keys().find(|path| !after.contains_key(*path));
        if let Some(path) = changed.map(|(path, _)| path).or(removed) {
            printer.note(format_args!("{} changed", path.display()));
        }
    }
}
