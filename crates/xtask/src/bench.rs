//! The functions beside a stock echo function, measured by the package `bench`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::Verdict;
use crate::test::{Results, run_in_order};
use crate::workspace::{self, Metadata};

/// Every program that is measured.
const PROGRAMS: [&str; 8] = [
    "bench-echo",
    "function-asya",
    "function-inject-sidecar",
    "function-render-deployment",
    "function-render-queue",
    "function-render-scaledobject",
    "function-report-status",
    "function-resolve-flavors",
];

/// What is handed on to the package.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Given to the measuring program as they are: `cargo xtask bench -- --help`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// Runs `cargo xtask bench`: builds everything for release, then measures.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let programs = Metadata::read(root)?.target_directory.join("release");
    let build = |names: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command
            .args(["build", "--release", "--bins"])
            .args(names.iter().flat_map(|name| ["--package", name]));
        command
    };
    // Apart, so that what is measured is built as it is shipped, without what the client needs.
    let functions = build(&PROGRAMS);
    let client = build(&["bench"]);
    let mut measure = Command::new(programs.join("bench"));
    measure
        .arg("--programs")
        .arg(&programs)
        .args(&options.options);
    let commands = [functions, client, measure];
    run_in_order(root, commands.map(|command| (command, Results::None)), out)
}
