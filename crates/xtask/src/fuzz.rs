//! The property tests, with more cases than fit into a run of all tests.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::Verdict;
use crate::real::{self, Extent};
use crate::test::{Results, SKIP_REAL_VARIABLE, Totals, heading, stream};
use crate::workspace::{self, shown};

/// Options of `cargo xtask fuzz`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Mutated requests, each of which goes through every function; the other properties get a
    /// tenth each
    #[arg(long, default_value_t = 1_000_000)]
    cases: u64,
}

/// Test programs that send requests through functions, in the order in which they run.
const REQUESTS: [(&str, &str); 1] = [("function-asya", "fuzz")];

/// Test programs with other properties. The second holds our parsers against [`REFERENCE`].
const PROPERTIES: [(&str, &str); 7] = [
    ("merge", "laws"),
    ("actor", "parsers"),
    ("function-resolve-flavors", "any_request"),
    ("function-render-queue", "any_request"),
    ("function-render-deployment", "any_request"),
    ("function-inject-sidecar", "any_request"),
    ("function-render-scaledobject", "any_request"),
];

/// The parsers of Kubernetes and Go.
const REFERENCE: Extent = Extent::Only(&["reference-parsers"]);

/// Runs `cargo xtask fuzz`: stops at the first test program that fails.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let real_dir = real::provide_all(root, REFERENCE, out)?;
    let requests = REQUESTS.iter().map(|target| (target, options.cases));
    let fewer = (options.cases / 10).max(1);
    let properties = PROPERTIES.iter().map(|target| (target, fewer));
    for ((package, program), cases) in requests.chain(properties) {
        let mut command = Command::new(workspace::cargo());
        command
            .args(["test", "--release", "--all-features"])
            .args(["--package", package, "--test", program])
            .env("PROPTEST_CASES", cases.to_string())
            .env(real::DIR_VARIABLE, &real_dir)
            .env_remove(SKIP_REAL_VARIABLE)
            .current_dir(root);
        heading(&format!("{cases} cases: {}", shown(&command)), out)?;
        if !stream(&mut command, Results::Stdout, &mut Totals::default(), out)? {
            writeln!(out, "failed: {}", shown(&command))?;
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}
