//! Messages lost and doubled while things break, on real parts.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::test::run_on_real_parts;
use crate::{Verdict, real};

/// Measurement.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of messages that are sent for each fault
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// One fault alone: nothing, kill-runtime, kill-sidecar, scale-in, kill-broker, reapply or
    /// change-flavor
    #[arg(long)]
    fault: Option<String>,
}

/// The test program, and that only what takes long is to be run.
const MEASURE: [&str; 5] = ["--test", "loss", "--", "--ignored", "--nocapture"];

/// Runs `cargo xtask loss`: builds what is missing, real components first, then sends the messages, and
/// prints a row for each fault as soon as it is over.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let settings = [
        ("ASYA_LOSS_MESSAGES", Some(options.messages.to_string())),
        ("ASYA_LOSS_FAULT", options.fault.clone()),
    ];
    run_on_real_parts(root, real::Extent::Usual, &MEASURE, &settings, out)
}
