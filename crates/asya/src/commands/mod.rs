//! One file for each command.

mod completion;
mod diff;
mod explain;
mod foreign;
mod graph;
mod init;
mod install;
mod lint;
mod logs;
mod operate;
mod reference;
mod render;
mod run_actors;
mod serve_functions;
mod status;
mod test;
mod top;
mod watch;

use std::io;
use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::inputs::{InputError, compositions_of_actors};
use crate::lint::Linter;
use crate::printer::Printer;
use crate::steps;
use function_kit::report;
use pipeline::Functions;

/// Exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// 0: done.
    Success,
    /// 1: the input is invalid, or the result is negative.
    Failure,
    /// 2: the program failed.
    Error,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Failure => Self::FAILURE,
            ExitStatus::Error => Self::from(2),
        }
    }
}

/// Runs a command.
pub fn run(cli: Cli, printer: &Printer) -> ExitStatus {
    let done = match cli.command {
        Command::Render(arguments) => render::run(arguments, printer),
        Command::Explain(arguments) => explain::run(arguments, printer),
        Command::Diff(arguments) => diff::run(arguments, printer),
        Command::Test(arguments) => test::run(&arguments, printer),
        Command::Init(arguments) => init::run(&arguments, printer),
        Command::Completion(arguments) => completion::run(&arguments, printer),
        Command::Status(arguments) => status::run(&arguments, printer),
        Command::Top(arguments) => top::run(&arguments, printer),
        Command::Graph(arguments) => graph::run(&arguments, printer),
        Command::Lint(arguments) => lint::run(&arguments, printer),
        Command::Install(arguments) => install::run(&arguments, printer),
        Command::Docs(arguments) => reference::field(&arguments, printer),
        Command::Schema(arguments) => reference::schema(&arguments, printer),
        Command::Version(arguments) => reference::version(arguments, printer),
        Command::Run(arguments) => run_actors::run(&arguments, printer),
        Command::Send(arguments) => operate::send(&arguments, printer),
        Command::DeadLetters(arguments) => operate::dead(&arguments, printer),
        Command::Logs(arguments) => logs::run(&arguments, printer),
        Command::ServeFunctions => Ok(serve_functions::run(printer)),
    };
    match done {
        Ok(status) => status,
        // The reader closed the pipe: `asya render … | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitStatus::Success,
        Err(error) => {
            printer.error(format_args!("cannot write to standard output: {error}"));
            ExitStatus::Error
        }
    }
}

/// Writes an error of the input with its remedy.
fn refuse(error: &InputError, printer: &Printer) -> ExitStatus {
    printer.error(error);
    if let Some(hint) = error.hint() {
        printer.hint(hint);
    }
    ExitStatus::Failure
}

/// Writes errors of single files; the others are used all the same.
fn refuse_all(errors: &[InputError], printer: &Printer) -> ExitStatus {
    let statuses = errors.iter().map(|error| refuse(error, printer));
    statuses.max().unwrap_or(ExitStatus::Success)
}

/// Writes why there is nothing to do.
fn unusable(error: &InputError, printer: &Printer) -> ExitStatus {
    refuse(error, printer);
    ExitStatus::Error
}

/// Writes that the output cannot be written in that format.
fn failed(format: &str, error: &impl std::fmt::Display, printer: &Printer) -> ExitStatus {
    printer.error(format_args!("cannot write {format}: {error}"));
    ExitStatus::Error
}

/// The functions of Asya's pipeline; none after an error message.
fn functions(printer: &Printer) -> Option<Functions> {
    steps::functions()
        .inspect_err(|error| printer.error(report(error)))
        .ok()
}

/// The linter with the package's Compositions; none after an error message.
fn linter<'a>(
    functions: &'a Functions,
    namespace: &'a str,
    printer: &Printer,
) -> Option<Linter<'a>> {
    let compositions = compositions_of_actors().inspect_err(|error| printer.error(error));
    let [composition, legacy_composition] = compositions.ok()?;
    Some(Linter {
        functions,
        composition,
        legacy_composition,
        namespace,
    })
}
