//! Output of test programs as it arrives, and its totals.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::cannot;
use crate::workspace::shown;

/// Names the file to which a test that is skipped appends a line: the missing component, a tab, and
/// what the test is about.
pub(crate) const SKIPPED_VARIABLE: &str = "ASYA_SKIPPED_TESTS";

/// Stream of a command that has the lines with the results of its tests.
#[derive(Clone, Copy)]
pub(crate) enum Results {
    /// The command runs no tests.
    None,
    /// `test result: ok. 3 passed; …` of Rust's test harness.
    Stdout,
    /// `Ran 3 tests in 0.1s` and `OK` of Python's unittest.
    Stderr,
}

/// Numbers of tests by result, over all programs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Tests of Python that need another system.
    skipped_by_python: u64,
}

impl Totals {
    /// Adds what a line sums up; other lines add nothing.
    fn add(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
            self.ignored += number_before(counts, " ignored");
        } else if let Some(count) = line.strip_prefix("Ran ") {
            if line.contains(" test") && line.contains(" in ") {
                self.passed += leading_number(count);
            }
        } else if let Some(counts) = line.strip_prefix("FAILED (") {
            let failed = number_after(counts, "failures=") + number_after(counts, "errors=");
            let skipped = number_after(counts, "skipped=");
            self.passed = self.passed.saturating_sub(failed + skipped);
            self.failed += failed;
            self.skipped_by_python += skipped;
        } else if let Some(counts) = line.strip_prefix("OK (") {
            let skipped = number_after(counts, "skipped=");
            self.passed = self.passed.saturating_sub(skipped);
            self.skipped_by_python += skipped;
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            ignored,
            skipped_by_python,
        } = self;
        write!(
            formatter,
            "{passed} tests passed, {failed} failed, {ignored} are run by other commands only"
        )?;
        match skipped_by_python {
            0 => Ok(()),
            skipped => write!(formatter, ", {skipped} of Python need another system"),
        }
    }
}

fn leading_number(text: &str) -> u64 {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

fn number_after(text: &str, mark: &str) -> u64 {
    text.split_once(mark)
        .map_or(0, |(_, rest)| leading_number(rest))
}

fn number_before(text: &str, mark: &str) -> u64 {
    let before = text.split_once(mark).map_or("", |(before, _)| before);
    let last = before.rsplit(' ').next().unwrap_or_default();
    last.parse().unwrap_or(0)
}

/// Runs a command, shows what it prints as it comes, and adds up its tests.
/// Returns whether it succeeded.
pub(crate) fn stream(
    command: &mut Command,
    kind: Results,
    totals: &mut Totals,
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
        copy(stdout, totals, out)?;
    }
    if let Some(stderr) = child.stderr.take() {
        copy(stderr, totals, out)?;
    }
    let status = child
        .wait()
        .with_context(|| format!("cannot wait for `{name}`"))?;
    Ok(status.success())
}

fn copy(from: impl Read, totals: &mut Totals, out: &mut impl Write) -> Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        totals.add(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(())
}

/// A line of the record of skipped tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    /// The real component that is missing, or what stands for all of them.
    pub(crate) component: String,
    /// Name of the test.
    pub(crate) what: String,
}

/// The record of skipped tests, a file that they append to.
pub(crate) struct SkippedTests {
    path: PathBuf,
}

impl SkippedTests {
    /// An empty record in a folder, which is made if it is missing.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let path = folder.join("skipped-tests");
        fs::create_dir_all(folder).with_context(|| cannot("create", folder))?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| cannot("remove", &path))
            }
            _ => Ok(Self { path }),
        }
    }

    /// Returns its path, for [`SKIPPED_VARIABLE`].
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reasons of skipped tests, with their counts.
    pub(crate) fn read(&self) -> Result<BTreeMap<Skipped, usize>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| cannot("read", &self.path)),
        };
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let (component, what) = line.split_once('\t').unwrap_or(("", line));
            let skipped = Skipped {
                component: component.to_owned(),
                what: what.to_owned(),
            };
            *counts.entry(skipped).or_default() += 1;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(lines: &[&str]) -> (u64, u64, u64) {
        let mut totals = Totals::default();
        for line in lines {
            totals.add(line);
        }
        (totals.passed, totals.failed, totals.ignored)
    }

    #[test]
    fn result_lines_are_added_up_and_other_output_is_not() {
        let tail = "0 measured; 0 filtered out; finished in 0.00s";
        let cases = [
            (
                format!("test result: ok. 3 passed; 0 failed; 0 ignored; {tail}"),
                (3, 0, 0),
            ),
            (
                format!("test result: FAILED. 12 passed; 1 failed; 2 ignored; {tail}"),
                (12, 1, 2),
            ),
            ("Ran 12 tests in 0.345s".to_owned(), (12, 0, 0)),
            ("Ran 1 test in 0.345s".to_owned(), (1, 0, 0)),
            ("OKAY".to_owned(), (0, 0, 0)),
            ("test tests::a_name ... ok".to_owned(), (0, 0, 0)),
            ("Ran the migration".to_owned(), (0, 0, 0)),
        ];
        for (line, expected) in cases {
            assert_eq!(totals(&[&line]), expected, "{line:?}");
        }
    }

    #[test]
    fn failed_and_skipped_python_tests_are_not_counted_as_passed() {
        let ran = "Ran 12 tests in 0.345s";
        assert_eq!(totals(&[ran, "OK"]), (12, 0, 0));
        assert_eq!(totals(&[ran, "OK (skipped=1)"]), (11, 0, 0));
        assert_eq!(totals(&[ran, "FAILED (failures=1, errors=2)"]), (9, 3, 0));
        let failed = "FAILED (failures=1, errors=2, skipped=3)";
        assert_eq!(totals(&[ran, failed]), (6, 3, 0));
    }

    #[test]
    fn skipped_python_tests_are_named_in_the_summary() {
        let mut totals = Totals::default();
        for line in ["Ran 12 tests in 0.345s", "OK (skipped=2)"] {
            totals.add(line);
        }
        assert_eq!(
            totals.to_string(),
            "10 tests passed, 0 failed, 0 are run by other commands only, 2 of Python need another system"
        );
    }

    #[test]
    fn output_is_copied_and_its_tests_are_counted() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo 'Ran 2 tests in 1s'; exit 3"]);
        let (mut totals, mut out) = (Totals::default(), Vec::new());
        let succeeded = stream(&mut command, Results::Stdout, &mut totals, &mut out).unwrap();
        assert!(!succeeded);
        assert_eq!(out, b"one\nRan 2 tests in 1s\n");
        assert_eq!(totals.passed, 2);
    }

    #[test]
    fn skipped_tests_are_counted_by_component_and_forgotten_by_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let record = SkippedTests::new(folder.path()).unwrap();
        assert_eq!(record.read().unwrap(), BTreeMap::new());
        fs::write(
            record.path(),
            "keda-operator\tscaling\nkeda-operator\tscaling\n",
        )
        .unwrap();
        let scaling = Skipped {
            component: "keda-operator".to_owned(),
            what: "scaling".to_owned(),
        };
        assert_eq!(record.read().unwrap(), BTreeMap::from([(scaling, 2)]));
        let record = SkippedTests::new(folder.path()).unwrap();
        assert_eq!(record.read().unwrap(), BTreeMap::new());
    }
}
