//! The life of an actor on real parts, KEDA's operator among them.

use std::io::Write;
use std::path::Path;

use anyhow::Result;

use crate::test::run_on_real_parts;
use crate::{Verdict, real};

/// The test programs, and that their times are to be seen.
const STORY: [&str; 6] = ["--test", "keda", "--test", "story", "--", "--nocapture"];

/// Runs `cargo xtask e2e`: builds what is missing, real components first, then plays the story, whose
/// times are printed as it goes.
pub(crate) fn run(root: &Path, out: &mut impl Write) -> Result<Verdict> {
    let extent = real::Extent::With(&["keda-operator"]);
    run_on_real_parts(root, extent, &STORY, &[], out)
}
