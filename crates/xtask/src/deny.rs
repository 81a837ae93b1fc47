//! Licences, sources and double versions of everything in the dependency graph, judged by
//! `cargo-deny` after `deny.toml`.
//!
//! The program is built once, at a pinned version, and kept beside the real components of tests.
//! Known vulnerabilities are looked up only when asked for: their database is a git repository,
//! which a machine with package registries alone cannot reach.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::Verdict;
use crate::real::Cache;
use crate::workspace::{self, shown};

const VERSION: &str = "0.20.2";

/// Checks of `deny.toml` that need no database.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Checks to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Look for known vulnerabilities too, in the database that is fetched from its git repository
    #[arg(long)]
    advisories: bool,
}

/// Runs `cargo xtask deny`.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let program = provide(&Cache::from_environment()?, out)?;
    let mut command = check(&program, options);
    out.flush()?;
    let status = command
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot start `{}`", shown(&command)))?;
    if !options.advisories {
        writeln!(out, "known vulnerabilities: not looked up (--advisories)")?;
    }
    Ok(if status.success() {
        Verdict::Holds
    } else {
        Verdict::Fails
    })
}

fn check(program: &Path, options: &Options) -> Command {
    let mut command = Command::new(program);
    command.args(["--locked", "--all-features", "check"]);
    command.args(CHECKS);
    if options.advisories {
        command.arg("advisories");
    }
    command
}

/// The program, built where it is not there yet.
fn provide(cache: &Cache, out: &mut impl Write) -> Result<PathBuf> {
    let folder = cache.dir().join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if program.is_file() {
        return Ok(program);
    }
    let _lock = cache.lock(out)?;
    // Another run may have built it while this one waited.
    if !program.is_file() {
        writeln!(out, "building cargo-deny {VERSION} (minutes)")?;
        out.flush()?;
        let mut command = install(&folder);
        let status = command
            .status()
            .with_context(|| format!("cannot start `{}`", shown(&command)))?;
        if !status.success() {
            bail!("`{}` ended with {status}", shown(&command));
        }
    }
    Ok(program)
}

/// Optimised little: it runs for seconds, and is built in half the time.
fn install(folder: &Path) -> Command {
    let mut command = Command::new(workspace::cargo());
    command
        .args(["install", "cargo-deny", "--quiet", "--locked"])
        .args(["--version", VERSION, "--root"])
        .arg(folder)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        // What is built for it is of no use to anybody else.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET_DIR");
    command
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_database_of_vulnerabilities_is_asked_only_on_demand() {
        let cases = [
            (
                false,
                "cargo-deny --locked --all-features check bans licenses sources",
            ),
            (
                true,
                "cargo-deny --locked --all-features check bans licenses sources advisories",
            ),
        ];
        for (advisories, expected) in cases {
            let command = check(Path::new("/cache/bin/cargo-deny"), &Options { advisories });
            assert_eq!(shown(&command), expected);
        }
    }

    #[test]
    fn an_existing_program_is_not_rebuilt() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let bin = folder.path().join(format!("cargo-deny-{VERSION}/bin"));
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("cargo-deny"), "").unwrap();
        let mut out = Vec::new();
        assert_eq!(provide(&cache, &mut out).unwrap(), bin.join("cargo-deny"));
        assert_eq!(out, b"");
    }
}
