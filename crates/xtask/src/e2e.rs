//! The life of an actor on real parts, KEDA's operator among them.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::test::{BIN_DIR_VARIABLE, Results, SKIP_REAL_VARIABLE, heading, stream};
use crate::workspace::{self, Metadata, shown};
use crate::{Verdict, real};

/// Runs `cargo xtask e2e`: builds what is missing, real components first, then plays the story, whose
/// times are printed as it goes.
pub(crate) fn run(root: &Path, out: &mut impl Write) -> Result<Verdict> {
    let metadata = Metadata::read(root)?;
    let bin_dir = metadata.target_directory.join("debug");
    heading("real components", out)?;
    let real_dir = real::provide_all(root, real::Extent::Whole, out)?;
    for (mut command, kind) in stages() {
        command
            .current_dir(root)
            .env(BIN_DIR_VARIABLE, &bin_dir)
            .env(real::DIR_VARIABLE, &real_dir)
            .env_remove(SKIP_REAL_VARIABLE);
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
    let test = ["test", "--workspace", "--all-features"];
    let programs = ["--test", "keda", "--test", "story"];
    let story = ["--", "--nocapture"];
    [
        (cargo(&build), Results::None),
        (
            cargo(&[&test[..], &programs, &story].concat()),
            Results::Stdout,
        ),
    ]
}
