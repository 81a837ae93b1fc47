//! The program `asya`: see [`asya::cli`] for what can be typed.

use std::process::ExitCode;

use asya::cli::Program;
use asya::commands;
use asya::printer::Printer;

fn main() -> ExitCode {
    commands::run(Program::called().parse(), &Printer::default()).into()
}
