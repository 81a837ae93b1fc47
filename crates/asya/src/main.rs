//! The program `asya`: see [`asya::cli`] for what can be typed.

use std::process::ExitCode;

use asya::cli::Cli;
use asya::commands;
use asya::printer::Printer;
use clap::Parser as _;

fn main() -> ExitCode {
    commands::run(Cli::parse(), &Printer::default()).into()
}
