//! `asya install`.

use std::io;

use function_kit::report;

use crate::cli::Install;
use crate::install::{Stage, stages};
use crate::printer::Printer;

use super::ExitStatus;

pub(super) fn run(arguments: &Install, printer: &Printer) -> io::Result<ExitStatus> {
    let stages = match stages(&arguments.wanted()) {
        Ok(stages) => stages,
        Err(error) => {
            printer.error(&error);
            if let Some(hint) = error.hint() {
                printer.hint(hint);
            }
            return Ok(ExitStatus::Error);
        }
    };
    if arguments.apply {
        return apply(arguments, &stages, printer);
    }
    let texts: Vec<&str> = stages.iter().map(|stage| stage.text.as_str()).collect();
    printer.data(&texts.join("---\n"))?;
    Ok(ExitStatus::Success)
}

/// Applies the parts in their order, each when what it needs is there.
fn apply(arguments: &Install, stages: &[Stage], printer: &Printer) -> io::Result<ExitStatus> {
    let kubectl = arguments.kubectl();
    let mut awaited: &[Vec<String>] = &[];
    for stage in stages {
        if stage.part.needs_packages() && !awaited.is_empty() {
            printer.note("waiting until the packages are healthy, up to 5 minutes");
            for call in awaited {
                match kubectl.wait(call) {
                    Ok(said) => printer.data(&said)?,
                    Err(error) => {
                        printer.error(report(&error));
                        printer.hint("kubectl describe tells what keeps a package from being healthy; what is applied already stays");
                        return Ok(ExitStatus::Error);
                    }
                }
            }
            awaited = &[];
        }
        match kubectl.apply(&stage.text) {
            Ok(said) => printer.data(&said)?,
            Err(error) => {
                let part = stage.part.name();
                printer.error(format_args!("part {part:?}: {}", report(&error)));
                return Ok(ExitStatus::Error);
            }
        }
        if !stage.then.is_empty() {
            awaited = &stage.then;
        }
    }
    Ok(ExitStatus::Success)
}
