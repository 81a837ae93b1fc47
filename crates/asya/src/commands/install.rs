//! `asya install`.

use std::io;

use function_kit::report;

use crate::apply::{Answer, ApplyError};
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
                let progress = printer.progress("waiting for the packages");
                let answer = kubectl.wait(call);
                drop(progress);
                if let Err(error) = told(answer, printer)? {
                    printer.error(report(&error));
                    printer.hint("kubectl describe tells what keeps a package from being healthy; what is applied already stays");
                    return Ok(ExitStatus::Error);
                }
            }
            awaited = &[];
        }
        let part = stage.part.name();
        let progress = printer.progress(&format!("applying part {part:?}"));
        let answer = kubectl.apply(&stage.text);
        drop(progress);
        if let Err(error) = told(answer, printer)? {
            printer.error(format_args!("part {part:?}: {}", report(&error)));
            return Ok(ExitStatus::Error);
        }
        if !stage.then.is_empty() {
            awaited = &stage.then;
        }
    }
    Ok(ExitStatus::Success)
}

/// Tells what kubectl has said; what came of it.
fn told(
    answer: Result<Answer, ApplyError>,
    printer: &Printer,
) -> io::Result<Result<(), ApplyError>> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Ok(Err(error)),
    };
    printer.pass_on(&answer.talk);
    printer.data(&answer.output)?;
    Ok(answer.outcome)
}
