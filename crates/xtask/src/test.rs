//! Every test of the project, in the order in which they need each other.
//!
//! The tests find what was built for them through variables: `ASYA_BIN_DIR` has our own binaries,
//! `ASYA_REAL_DIR` the real components in its `bin/`, and `ASYA_SKIP_REAL` set to `1` asks those
//! that need real components to say so and do nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::workspace::{self, Metadata, shown};
use crate::{Verdict, real};

/// Where the tests find our own binaries.
pub(crate) const BIN_DIR_VARIABLE: &str = "ASYA_BIN_DIR";

/// Set to `1`, tests of the real components do nothing.
pub(crate) const SKIP_REAL_VARIABLE: &str = "ASYA_SKIP_REAL";

/// Which stream of a command has the lines that sum up its tests.
#[derive(Clone, Copy)]
pub(crate) enum Results {
    /// The command runs no tests.
    None,
    /// `test result: ok. 3 passed; …` of Rust's test harness.
    Stdout,
    /// `Ran 3 tests in 0.1s` and `OK` of Python's unittest.
    Stderr,
}

/// Runs `cargo xtask test`: stops at the first stage that fails, and ends with the result lines of
/// all test programs that ran.
pub(crate) fn run(root: &Path, no_real: bool, out: &mut impl Write) -> Result<Verdict> {
    let metadata = Metadata::read(root)?;
    let bin_dir = metadata.target_directory.join("debug");
    let mut real_dir = None;
    if !no_real {
        heading("real components", out)?;
        real_dir = Some(real::provide_all(root, real::Extent::Usual, out)?);
    }

    let mut results = Vec::new();
    let mut failed = None;
    for (mut command, kind) in stages() {
        command.current_dir(root).env(BIN_DIR_VARIABLE, &bin_dir);
        match &real_dir {
            Some(dir) => command
                .env(real::DIR_VARIABLE, dir)
                .env_remove(SKIP_REAL_VARIABLE),
            None => command.env(SKIP_REAL_VARIABLE, "1"),
        };
        heading(&shown(&command), out)?;
        if !stream(&mut command, kind, &mut results, out)? {
            failed = Some(shown(&command));
            break;
        }
    }

    heading("results", out)?;
    for line in &results {
        writeln!(out, "{line}")?;
    }
    if let Some(stage) = failed {
        writeln!(out, "failed: {stage}")?;
        return Ok(Verdict::Fails);
    }
    if no_real {
        writeln!(
            out,
            "tests of the real components were left out (--no-real)"
        )?;
    }
    writeln!(out, "every test passed")?;
    Ok(Verdict::Holds)
}

/// Binaries first: tests of other packages start them.
/// With the same features in all of them, so that Cargo builds our crates once.
fn stages() -> [(Command, Results); 4] {
    let cargo = |subcommand: &str, targets: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args([subcommand, "--workspace", "--all-features"])
            .args(targets);
        command
    };
    let mut python = Command::new("python3");
    python.args(["-m", "unittest", "discover", "-s", "runtime/tests"]);
    [
        (cargo("build", &["--bins"]), Results::None),
        (
            // All programs, so that one run tells everything that fails.
            cargo("test", &["--lib", "--bins", "--tests", "--no-fail-fast"]),
            Results::Stdout,
        ),
        (cargo("test", &["--doc"]), Results::Stdout),
        (python, Results::Stderr),
    ]
}

/// Builds real components to that extent, and all programs; then runs the test programs that `args` of
/// `cargo test` name, with the variables of `settings`.
///
/// With the features that `cargo xtask test` builds with, so that nothing is built twice.
pub(crate) fn run_on_real_parts(
    root: &Path,
    extent: real::Extent,
    args: &[&str],
    settings: &[(&str, Option<String>)],
    out: &mut impl Write,
) -> Result<Verdict> {
    let bin_dir = Metadata::read(root)?.target_directory.join("debug");
    heading("real components", out)?;
    let real_dir = real::provide_all(root, extent, out)?;
    let cargo = |subcommand: &str, args: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args([subcommand, "--workspace", "--all-features"])
            .args(args)
            .env(BIN_DIR_VARIABLE, &bin_dir)
            .env(real::DIR_VARIABLE, &real_dir)
            .env_remove(SKIP_REAL_VARIABLE);
        for (name, value) in settings {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    };
    run_in_order(
        root,
        [
            (cargo("build", &["--bins"]), Results::None),
            (cargo("test", args), Results::Stdout),
        ],
        out,
    )
}

/// Runs commands in `root`, each under its heading, until one fails.
pub(crate) fn run_in_order(
    root: &Path,
    commands: impl IntoIterator<Item = (Command, Results)>,
    out: &mut impl Write,
) -> Result<Verdict> {
    for (mut command, kind) in commands {
        heading(&shown(&command), out)?;
        if !stream(command.current_dir(root), kind, &mut Vec::new(), out)? {
            writeln!(out, "failed: {}", shown(&command))?;
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}

pub(crate) fn heading(title: &str, out: &mut impl Write) -> Result<()> {
    Ok(writeln!(out, "\n== {title}")?)
}

/// Runs a command, shows what it prints as it comes, and keeps its result lines.
/// Says whether it succeeded.
pub(crate) fn stream(
    command: &mut Command,
    kind: Results,
    results: &mut Vec<String>,
    out: &mut impl Write,
) -> Result<bool> {
    let name = shown(command);
    match kind {
        Results::None => {}
        Results::Stdout => drop(command.stdout(Stdio::piped())),
        Results::Stderr => drop(command.stderr(Stdio::piped())),
    }
    out.flush()?;
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start `{name}`"))?;
    // At most one of the two is piped.
    if let Some(stdout) = child.stdout.take() {
        copy(stdout, results, out)?;
    }
    if let Some(stderr) = child.stderr.take() {
        copy(stderr, results, out)?;
    }
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for `{name}`"))?;
    Ok(status.success())
}

fn copy(from: impl Read, results: &mut Vec<String>, out: &mut impl Write) -> Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        let text = String::from_utf8_lossy(&line);
        if is_result(text.trim_end()) {
            results.push(text.trim_end().to_owned());
        }
        line.clear();
    }
    Ok(())
}

/// Whether a line sums up the tests of one program; one that had no tests has nothing to say.
fn is_result(line: &str) -> bool {
    if let Some(counts) = line.strip_prefix("test result: ") {
        return !counts.contains(" 0 passed; 0 failed; 0 ignored;");
    }
    let is_verdict = ["OK", "FAILED"]
        .iter()
        .filter_map(|word| line.strip_prefix(word))
        .any(|rest| rest.is_empty() || rest.starts_with(" ("));
    let is_count = line.starts_with("Ran ") && line.contains(" test") && line.contains(" in ");
    is_verdict || is_count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_told_from_other_output() {
        let tail = "0 measured; 0 filtered out; finished in 0.00s";
        let cases = [
            (
                format!("test result: ok. 3 passed; 0 failed; 0 ignored; {tail}"),
                true,
            ),
            (
                format!("test result: FAILED. 2 passed; 1 failed; 0 ignored; {tail}"),
                true,
            ),
            (
                format!("test result: ok. 0 passed; 0 failed; 2 ignored; {tail}"),
                true,
            ),
            (
                format!("test result: ok. 0 passed; 0 failed; 0 ignored; {tail}"),
                false,
            ),
            (
                format!("test result: ok. 10 passed; 0 failed; 0 ignored; {tail}"),
                true,
            ),
            ("Ran 12 tests in 0.345s".to_owned(), true),
            ("Ran 1 test in 0.345s".to_owned(), true),
            ("OK".to_owned(), true),
            ("OK (skipped=1)".to_owned(), true),
            ("FAILED (failures=1)".to_owned(), true),
            ("OKAY".to_owned(), false),
            ("test tests::a_name ... ok".to_owned(), false),
            ("Ran the migration".to_owned(), false),
        ];
        for (line, expected) in cases {
            assert_eq!(is_result(&line), expected, "{line:?}");
        }
    }

    #[test]
    fn output_passes_through_and_results_are_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo OK; exit 3"]);
        let (mut results, mut out) = (Vec::new(), Vec::new());
        let succeeded = stream(&mut command, Results::Stdout, &mut results, &mut out).unwrap();
        assert!(!succeeded);
        assert_eq!(out, b"one\nOK\n");
        assert_eq!(results, ["OK"]);
    }
}
