//! `cargo xtask test`: every test of the project, in the order in which they need each other.
//!
//! Tests find what was built for them through variables: `ASYA_BIN_DIR` has our own binaries,
//! `ASYA_REAL_DIR` the real components in its `bin/`. With `ASYA_SKIP_REAL` set to `1`, tests of real
//! components are skipped. A skipped test appends a line to the file that `ASYA_SKIPPED_TESTS` names.

mod debian;
mod pythons;
pub(crate) mod requirements;
mod results;

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::Result;
use clap::Args;

use self::pythons::Interpreter;
pub(crate) use self::results::{Results, Totals, stream};
use self::results::{SKIPPED_VARIABLE, Skipped, SkippedTests};
use crate::real::Extent;
use crate::workspace::{self, Metadata, shown};
use crate::{Verdict, real};

/// Variable with the folder of our own binaries, for tests.
pub(crate) const BIN_DIR_VARIABLE: &str = "ASYA_BIN_DIR";

/// Set to `1`, tests of the real components are skipped.
pub(crate) const SKIP_REAL_VARIABLE: &str = "ASYA_SKIP_REAL";

/// The number of tests that a program runs at the same time, for Rust's test harness.
const THREADS_VARIABLE: &str = "RUST_TEST_THREADS";

/// Tests of real components wait more than they compute: their number on a machine with fewer
/// processors.
const THREADS: usize = 4;

/// A program that one test needs, which is skipped without it.
const RUBY: &str = "ruby";

/// The right to create control groups, which one test needs. The container of CI has it.
const CONTROL_GROUPS: &str = "control groups";

/// Set on machines of CI.
const CI_VARIABLE: &str = "CI";

/// Tests to run, and whether missing programs are installed.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Skip the tests that need real components, and build none
    #[arg(long)]
    no_real: bool,
    /// Install missing programs with apt-get (Debian, as root); no server is started
    #[arg(long)]
    install_missing: bool,
}

/// Runs `cargo xtask test`: stops at the first step that fails, and ends with totals.
///
/// # Errors
/// If programs that the tests start are missing: before anything is built, all in one message.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let no_real = options.no_real;
    let go_error = if no_real {
        None
    } else {
        real::go_error(root, Extent::Usual)?
    };
    requirements::check(no_real, options.install_missing, go_error.as_deref(), out)?;

    let target = Metadata::read(root)?.target_directory;
    let skipped = SkippedTests::new(&target)?;
    let mut real_dir = None;
    if !no_real {
        heading("real components", out)?;
        real_dir = Some(real::provide_all(root, Extent::Usual, out)?);
    }

    let pythons = pythons::to_test_with();
    let mut pythons_run = 0;
    let mut totals = Totals::default();
    let mut failed = None;
    for (mut command, kind) in steps(&pythons) {
        command
            .current_dir(root)
            .env(BIN_DIR_VARIABLE, target.join("debug"))
            .env(SKIPPED_VARIABLE, skipped.path());
        if env::var_os(THREADS_VARIABLE).is_none() {
            command.env(THREADS_VARIABLE, threads().to_string());
        }
        match &real_dir {
            Some(dir) => command
                .env(real::DIR_VARIABLE, dir)
                .env_remove(SKIP_REAL_VARIABLE),
            None => command.env(SKIP_REAL_VARIABLE, "1"),
        };
        heading(&shown(&command), out)?;
        pythons_run += usize::from(matches!(kind, Results::Stderr));
        if !stream(&mut command, kind, &mut totals, out)? {
            failed = Some(shown(&command));
            break;
        }
    }

    heading("results", out)?;
    writeln!(out, "{totals}")?;
    writeln!(out, "{}", pythons::summary(&pythons[..pythons_run]))?;
    let is_ci = env::var_os(CI_VARIABLE).is_some_and(|value| !value.is_empty());
    let may_be_missing = |component: &str| may_be_missing(component, no_real, is_ci);
    let all_ran = report_skipped(&skipped.read()?, may_be_missing, out)?;
    if let Some(step) = &failed {
        writeln!(out, "failed: {step}")?;
    }
    Ok(if all_ran && failed.is_none() {
        Verdict::Holds
    } else {
        Verdict::Fails
    })
}

/// Returns whether tests of a component may be skipped.
fn may_be_missing(component: &str, no_real: bool, is_ci: bool) -> bool {
    match component {
        RUBY => true,
        CONTROL_GROUPS => !is_ci,
        real => no_real || real::is_optional(real),
    }
}

/// Prints how many tests were skipped, and for which components.
/// Returns whether each of these may be missing.
fn report_skipped(
    skipped: &BTreeMap<Skipped, usize>,
    may_be_missing: impl Fn(&str) -> bool,
    out: &mut impl Write,
) -> Result<bool> {
    let count: usize = skipped.values().sum();
    writeln!(out, "{count} skipped")?;
    let mut all_may = true;
    for (Skipped { component, what }, count) in skipped {
        let is_failure = !may_be_missing(component);
        let mark = if is_failure {
            " (failed: it should exist)"
        } else {
            ""
        };
        writeln!(out, "  {count} x {what}: without {component}{mark}")?;
        all_may &= !is_failure;
    }
    Ok(all_may)
}

fn threads() -> usize {
    thread::available_parallelism().map_or(THREADS, |processors| processors.get().max(THREADS))
}

/// Binaries first: tests of other packages start them.
/// With the same features in all of them, so that Cargo builds our crates once.
fn steps(pythons: &[Interpreter]) -> Vec<(Command, Results)> {
    let cargo = |subcommand: &str, targets: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args([subcommand, "--workspace", "--all-features"])
            .args(targets);
        command
    };
    let pythons = pythons.iter().map(|python| {
        let mut command = Command::new(&python.path);
        command.args([
            "-W",
            "error",
            "-m",
            "unittest",
            "discover",
            "-s",
            "runtime/tests",
        ]);
        (command, Results::Stderr)
    });
    let of_cargo = [
        (cargo("build", &["--bins"]), Results::None),
        (
            // All programs, so that one run shows everything that fails.
            cargo("test", &["--lib", "--bins", "--tests", "--no-fail-fast"]),
            Results::Stdout,
        ),
        (cargo("test", &["--doc"]), Results::Stdout),
    ];
    of_cargo.into_iter().chain(pythons).collect()
}

/// Builds real components to that extent, and all programs; then runs the test programs that `args` of
/// `cargo test` name, with the variables of `settings`. A test that is skipped without need is a failure.
///
/// With the features that `cargo xtask test` builds with, so that nothing is built twice.
pub(crate) fn run_on_real_parts(
    root: &Path,
    extent: Extent,
    args: &[&str],
    settings: &[(&str, Option<String>)],
    out: &mut impl Write,
) -> Result<Verdict> {
    let go_error = real::go_error(root, extent)?;
    requirements::check(false, false, go_error.as_deref(), out)?;
    let target = Metadata::read(root)?.target_directory;
    let skipped = SkippedTests::new(&target)?;
    heading("real components", out)?;
    let real_dir = real::provide_all(root, extent, out)?;
    let cargo = |subcommand: &str, args: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args([subcommand, "--workspace", "--all-features"])
            .args(args)
            .env(BIN_DIR_VARIABLE, target.join("debug"))
            .env(SKIPPED_VARIABLE, skipped.path())
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
    let verdict = run_in_order(
        root,
        [
            (cargo("build", &["--bins"]), Results::None),
            (cargo("test", args), Results::Stdout),
        ],
        out,
    )?;
    let may_be_missing = |component: &str| extent == Extent::Usual && real::is_optional(component);
    let all_ran = report_skipped(&skipped.read()?, may_be_missing, out)?;
    Ok(if all_ran { verdict } else { Verdict::Fails })
}

/// Runs commands in `root`, each under its heading, until one fails.
pub(crate) fn run_in_order(
    root: &Path,
    commands: impl IntoIterator<Item = (Command, Results)>,
    out: &mut impl Write,
) -> Result<Verdict> {
    for (mut command, kind) in commands {
        heading(&shown(&command), out)?;
        if !stream(command.current_dir(root), kind, &mut Totals::default(), out)? {
            writeln!(out, "failed: {}", shown(&command))?;
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}

pub(crate) fn heading(title: &str, out: &mut impl Write) -> Result<()> {
    Ok(writeln!(out, "\n== {title}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_optional_components_may_be_missing() {
        // Component, without real components, in CI, and whether it may be missing.
        let cases = [
            ("rabbitmq", false, false, false),
            ("rabbitmq", true, false, true),
            ("keda-operator", false, true, true),
            (RUBY, false, true, true),
            (CONTROL_GROUPS, false, false, true),
            (CONTROL_GROUPS, false, true, false),
            (CONTROL_GROUPS, true, true, false),
        ];
        for (component, no_real, is_ci, expected) in cases {
            assert_eq!(
                may_be_missing(component, no_real, is_ci),
                expected,
                "{component}, no_real {no_real}, CI {is_ci}"
            );
        }
    }

    #[test]
    fn one_test_that_should_have_run_fails_the_run() {
        let skipped = |components: &[&str]| -> BTreeMap<Skipped, usize> {
            let of = |component: &&str| Skipped {
                component: (*component).to_owned(),
                what: "a test".to_owned(),
            };
            components
                .iter()
                .map(|component| (of(component), 2))
                .collect()
        };
        let cases: [(&[&str], bool, &str); 4] = [
            (&[], true, "0 skipped\n"),
            (
                &["optional"],
                true,
                "2 skipped\n  2 x a test: without optional\n",
            ),
            (
                &["etcd"],
                false,
                "2 skipped\n  2 x a test: without etcd (failed: it should exist)\n",
            ),
            (
                &["etcd", "optional"],
                false,
                "4 skipped\n  2 x a test: without etcd (failed: it should exist)\n  \
                 2 x a test: without optional\n",
            ),
        ];
        for (components, expected, text) in cases {
            let mut out = Vec::new();
            let is_optional = |component: &str| component == "optional";
            let all_ran = report_skipped(&skipped(components), is_optional, &mut out).unwrap();
            assert_eq!(all_ran, expected, "{components:?}");
            assert_eq!(String::from_utf8(out).unwrap(), text, "{components:?}");
        }
    }
}
