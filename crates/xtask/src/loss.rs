//! Messages lost and doubled while things break, on real parts.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::test::{BIN_DIR_VARIABLE, Results, SKIP_REAL_VARIABLE, heading, stream};
use crate::workspace::{self, Metadata, shown};
use crate::{Verdict, real};

/// What is measured.
#[derive(Args)]
pub(crate) struct Options {
    /// How many messages are sent for each fault
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// One fault alone: nothing, kill-runtime, kill-sidecar, scale-in, kill-broker, reapply or
    /// change-flavor
    #[arg(long)]
    fault: Option<String>,
}

/// Runs `cargo xtask loss`: builds what is missing, real components first, then sends the messages, and
/// prints a row for each fault as soon as it is over.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let metadata = Metadata::read(root)?;
    let bin_dir = metadata.target_directory.join("debug");
    heading("real components", out)?;
    let real_dir = real::provide_all(root, real::Extent::Usual, out)?;
    for (mut command, kind) in stages() {
        command
            .current_dir(root)
            .env(BIN_DIR_VARIABLE, &bin_dir)
            .env(real::DIR_VARIABLE, &real_dir)
            .env("ASYA_LOSS_MESSAGES", options.messages.to_string())
            .env_remove("ASYA_LOSS_FAULT")
            .env_remove(SKIP_REAL_VARIABLE);
        if let Some(fault) = &options.fault {
            command.env("ASYA_LOSS_FAULT", fault);
        }
        heading(&shown(&command), out)?;
        if !stream(&mut command, kind, &mut Vec::new(), out)? {
            writeln!(out, "failed: {}", shown(&command))?;
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}

/// With the features that `cargo xtask test` builds with, so that nothing is built twice.
fn stages() -> [(Command, Results); 2] {
    let cargo = |args: &[&str]| {
        let mut command = Command::new(workspace::cargo());
        command.args(args);
        command
    };
    let build = ["build", "--workspace", "--all-features", "--bins"];
    let test = ["test", "--workspace", "--all-features", "--test", "loss"];
    let measure = ["--", "--ignored", "--nocapture"];
    [
        (cargo(&build), Results::None),
        (cargo(&[&test[..], &measure].concat()), Results::Stdout),
    ]
}
