//! Cost of a thousand actors, on real parts.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::test::{BIN_DIR_VARIABLE, Results, SKIP_REAL_VARIABLE, heading, run_in_order};
use crate::workspace::{self, Metadata};
use crate::{Verdict, real};

/// Measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Number of actors
    #[arg(long, default_value_t = 1000)]
    actors: usize,
    /// Measure the Composition of one step alone
    #[arg(long, conflicts_with = "six_steps")]
    one_step: bool,
    /// Measure the Composition of six steps alone
    #[arg(long)]
    six_steps: bool,
}

impl Options {
    /// Filter: a part of the names of the tests to run.
    fn filter(&self) -> &'static str {
        match (self.one_step, self.six_steps) {
            (true, _) => "one_step",
            (_, true) => "six_steps",
            (false, false) => "actors_of",
        }
    }
}

/// Runs `cargo xtask scale`: builds what is missing, real components first, and what is measured as it
/// is shipped; then makes the actors, and prints tables in Markdown.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let programs = Metadata::read(root)?.target_directory.join("dist");
    heading("real components", out)?;
    let real_dir = real::provide_all(root, real::Extent::Usual, out)?;
    let mut build = Command::new(workspace::cargo());
    build
        .args(["build", "--profile", "dist", "--bins"])
        .args(
            workspace::FUNCTIONS
                .map(|name| ["--package", name])
                .as_flattened(),
        )
        .args(["--package", "provider-asya"]);
    let mut measure = Command::new(workspace::cargo());
    measure
        .args(["test", "--workspace", "--all-features", "--test", "scale"])
        .arg("--")
        // One at a time: they share the processors.
        .args(["--ignored", "--nocapture", "--test-threads", "1"])
        .arg(options.filter())
        .env(BIN_DIR_VARIABLE, &programs)
        .env(real::DIR_VARIABLE, &real_dir)
        .env_remove(SKIP_REAL_VARIABLE)
        .env("ASYA_SCALE_ACTORS", options.actors.to_string());
    let commands = [(build, Results::None), (measure, Results::Stdout)];
    run_in_order(root, commands, out)
}
