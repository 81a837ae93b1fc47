//! The program `asya`: see [`asya::cli`] for what can be typed.

use std::process::ExitCode;

use asya::cli::{Program, candidates};
use asya::commands;
use asya::printer::Printer;
use clap_complete::CompleteEnv;

fn main() -> ExitCode {
    if Program::completes_for_kubectl() {
        let words = std::env::args_os().skip(1);
        let printer = Printer::default();
        return match printer.data(&candidates::for_kubectl(words)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    // Answers shells that ask for candidates through the environment, and then ends.
    CompleteEnv::with_factory(|| Program::called().command()).complete();
    commands::run(Program::called().parse(), &Printer::default()).into()
}
