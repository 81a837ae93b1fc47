//! `asya render`.

use std::io;

use crate::cli::Render;
use crate::inputs;
use crate::printer::Printer;
use pipeline::{EngineError, Include, Inputs, RenderError, Rendered, render};

use super::{ExitStatus, each, functions, refuse};

pub(super) fn run(arguments: Render, printer: &Printer) -> io::Result<ExitStatus> {
    let include = Include {
        full_composite: arguments.include_full_xr,
        events: arguments.include_function_results,
        context: arguments.include_context,
    };
    let loaded = match inputs::load(&arguments.arguments()) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(refuse(&error, printer)),
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let Some(functions) = functions(printer) else {
        return Ok(ExitStatus::Error);
    };
    let cases = loaded.cases.into_iter().map(|it| (it.name, it.inputs));
    each(cases, printer, |name, inputs| {
        match render(&inputs, &functions) {
            Ok(rendered) => show(name, &inputs, rendered, include, printer),
            Err(error) => Ok(fail(name, &inputs, &error, printer)),
        }
    })
}

fn show(
    name: &str,
    inputs: &Inputs,
    rendered: Rendered,
    include: Include,
    printer: &Printer,
) -> io::Result<ExitStatus> {
    for resource in &rendered.deleted {
        printer.note(format_args!(
            "{name}: observed {resource:?} is no longer desired: Crossplane would delete it"
        ));
    }
    let documents = rendered.documents(&inputs.composite, include);
    match actor::yaml::write_stream(&documents) {
        Ok(text) => printer.data(&text).map(|()| ExitStatus::Success),
        Err(error) => {
            printer.error(format_args!("{name}: {error}"));
            Ok(ExitStatus::Error)
        }
    }
}

/// Writes why an XR cannot be rendered.
pub(super) fn fail(
    name: &str,
    inputs: &Inputs,
    error: &RenderError,
    printer: &Printer,
) -> ExitStatus {
    for line in error.lines() {
        printer.error(format_args!("{name}: {line}"));
    }
    match error {
        RenderError::Engine(EngineError::UnknownFunction { .. }) => {
            printer.hint("`crossplane composition render` runs other functions");
        }
        RenderError::Engine(EngineError::Fatal { .. }) if inputs.required.is_empty() => {
            printer.hint("flavors and the platform's settings are given with -e");
        }
        _ => {}
    }
    ExitStatus::Failure
}
