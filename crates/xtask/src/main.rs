//! The project's own tasks, started as `cargo xtask <task>` from anywhere in the checkout.
//!
//! - `real` builds the real Crossplane programs that tests judge our output with;
//! - `generate` writes the files that follow from the Rust types, or checks that they are fresh;
//! - `package` makes images and Crossplane packages;
//! - `release` makes everything that a release holds, and checks it by installing it;
//! - `tidy` enforces what neither the compiler nor clippy can;
//! - `deny` judges licences and sources of everything in the dependency graph;
//! - `bench` measures the functions against a stock echo function;
//! - `fuzz` runs the property tests with any number of cases;
//! - `test` runs every test, and installs or builds what they need;
//! - `e2e` plays the life of an actor on real parts, KEDA's operator among them;
//! - `loss` counts messages that are lost or doubled while things break;
//! - `rabbitmq-4` runs the tests that use a broker on RabbitMQ 4;
//! - `scale` measures what a thousand actors cost;
//! - `cluster` runs a real Kubernetes of one node with everything in it.
//!
//! Exit code 0: done, or everything holds; 1: a check found something; 2: the task itself failed.

mod bench;
mod cluster;
mod deny;
mod e2e;
mod fuzz;
mod generate;
mod inventory;
mod loss;
mod package;
mod rabbitmq_4;
mod real;
mod reference;
mod release;
mod scale;
mod test;
mod tidy;
mod workspace;

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The project's own tasks"
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the real Crossplane programs that tests use, at their pinned versions
    Real(real::Options),
    /// Write the generated files
    Generate {
        /// Write nothing; exit 1 if a file on disk differs from what would be written
        #[arg(long)]
        check: bool,
    },
    /// Make images and Crossplane packages of everything that is installed
    Package(package::Options),
    /// Make everything that a release holds, and install it from a registry on loopback
    Release(release::Options),
    /// Check the project's invariants and report every violation
    Tidy,
    /// Check licences, bans and sources of the dependency graph against deny.toml
    Deny(deny::Options),
    /// Measure every function against a stock echo function, and print tables in Markdown
    Bench(bench::Options),
    /// Send arbitrary and mutated requests through every function
    Fuzz(fuzz::Options),
    /// Run every test: Rust, documentation, runtime script
    Test(test::Options),
    /// Play the life of an actor on real parts, KEDA among them, and print how long things take
    ///
    /// Our packages are installed from a registry of the test's own, and all have the rights that
    /// users give them. Nothing runs pods: functions and provider are processes of the test.
    E2e(e2e::Options),
    /// Send messages through actors while things break, and print how many are lost and doubled
    Loss(loss::Options),
    /// Run the tests that use a broker on RabbitMQ 4, from Debian 13 in the components' cache
    #[command(name = "rabbitmq-4")]
    RabbitMq4(rabbitmq_4::Options),
    /// Make a thousand actors and change their flavor, and print what it costs core, API server and us
    Scale(scale::Options),
    /// Start, inspect and end a real Kubernetes of one node, with Crossplane, KEDA, RabbitMQ and our packages
    Cluster(cluster::Options),
}

/// Verdict of a task that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// No problem was found.
    Holds,
    /// A check found something, and has printed it.
    Fails,
}

fn main() -> ExitCode {
    match run(Cli::parse().task, &mut io::stdout().lock()) {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Fails) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is nowhere to report to.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(task: Task, out: &mut impl Write) -> Result<Verdict> {
    let root = workspace::root()?;
    match task {
        Task::Real(options) => real::run(&root, &options, out),
        Task::Generate { check } => generate::run(&root, check, out),
        Task::Package(options) => package::run(&root, &options, out),
        Task::Release(options) => release::run(&root, &options, out),
        Task::Tidy => tidy::run(&root, out),
        Task::Deny(options) => deny::run(&root, &options, out),
        Task::Bench(options) => bench::run(&root, &options, out),
        Task::Fuzz(options) => fuzz::run(&root, &options, out),
        Task::Test(options) => test::run(&root, &options, out),
        Task::E2e(options) => e2e::run(&root, &options, out),
        Task::Loss(options) => loss::run(&root, &options, out),
        Task::RabbitMq4(options) => rabbitmq_4::run(&root, &options, out),
        Task::Scale(options) => scale::run(&root, &options, out),
        Task::Cluster(options) => cluster::run(&root, &options, out),
    }
}

/// The start of an error message about a file or folder; the cause follows.
fn cannot(act: &str, path: &Path) -> String {
    format!("cannot {act} `{}`", path.display())
}

/// Returns whether the reader of our output has closed it, as in `cargo xtask real --list | head -1`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
