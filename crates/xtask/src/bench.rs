//! The functions beside a stock echo function, measured by the package `bench`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::Verdict;
use crate::test::{Results, run_in_order};
use crate::workspace::{self, Metadata};

/// Arguments for the package.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Given to the measuring program as they are: `cargo xtask bench -- --help`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// Runs `cargo xtask bench`: builds everything with profile `dist`, then measures.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let target = Metadata::read(root)?.target_directory;
    let programs = target.join("dist");
    let build = |profile: &str, names: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args(["build", "--profile", profile, "--bins"])
            .args(names.iter().flat_map(|name| ["--package", name]));
        command
    };
    // Apart, so that what is measured is built as it is shipped, without what the client needs.
    let functions = build("dist", &workspace::FUNCTIONS);
    let client = build("dist", &["bench"]);
    // As cargo builds a function whose author has set nothing.
    let echo = build("stock", &["bench-echo"]);
    let mut measure = Command::new(programs.join("bench"));
    measure
        .arg("--programs")
        .arg(&programs)
        .arg("--echo")
        .arg(target.join("stock/bench-echo"))
        .args(&options.options);
    let commands = [functions, client, echo, measure];
    run_in_order(root, commands.map(|command| (command, Results::None)), out)
}
