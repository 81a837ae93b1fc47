//! `asya completion`.

use std::io;

use crate::cli::{Completion, Program};
use crate::printer::Printer;

use super::ExitStatus;

pub(super) fn run(arguments: &Completion, printer: &Printer) -> io::Result<ExitStatus> {
    let program = Program::called();
    let mut script = Vec::new();
    // A shell completes the name of a file, also where kubectl is what users type.
    let mut command = program.command().bin_name(program.binary());
    clap_complete::generate(arguments.shell, &mut command, program.binary(), &mut script);
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Success)
}
