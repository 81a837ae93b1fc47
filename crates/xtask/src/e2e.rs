//! The life of an actor on real parts, KEDA's operator among them.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clap::Args;

use crate::test::{heading, run_on_real_parts};
use crate::{Verdict, real};

/// Parts of the story.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Crossplane core at this version, such as v2.0.2, which is built once
    #[arg(long, value_name = "VERSION")]
    crossplane: Option<String>,
}

/// The test programs, and that their times are to be seen.
const STORY: [&str; 6] = ["--test", "keda", "--test", "story", "--", "--nocapture"];

/// Runs `cargo xtask e2e`: builds what is missing, real components first, then plays the story, whose
/// times are printed as it goes.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let mut core = None;
    if let Some(version) = &options.crossplane {
        heading(&format!("Crossplane {version}"), out)?;
        let folder = real::provide_core(root, version, out)?;
        core = Some(folder.display().to_string());
    }
    let settings = [(real::CORE_VARIABLE, core)];
    let extent = real::Extent::With(&["keda-operator"]);
    run_on_real_parts(root, extent, &STORY, &settings, out)
}
