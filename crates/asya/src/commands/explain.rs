//! `asya explain`.
use std::io;
use super::ExitStatus;
use crate::cli::Explain;
use crate::printer::Printer;
pub(super) fn run(_arguments: Explain, _printer: &Printer) -> io::Result<ExitStatus> {
    Ok(ExitStatus::Success)
}
