//! `asya render`.

use std::io;

use serde_json::Value;

use crate::cli::{Render, RenderForm};
use crate::inputs;
use crate::printer::Printer;
use crate::visible::yaml_stream;
use pipeline::{EngineError, Include, Inputs, RenderError, Rendered, render};

use super::foreign::{Skipped, with_foreign};
use super::watch::repeat;
use super::{ExitStatus, each, failed, functions, refuse_all, unusable};

pub(super) fn run(arguments: Render, printer: &Printer) -> io::Result<ExitStatus> {
    if !arguments.watch {
        return once(arguments, printer);
    }
    let Ok((_, input)) = arguments.clone().arguments() else {
        return once(arguments, printer);
    };
    let mut files = input.files.clone();
    files.extend(input.required.iter().chain(&input.observed).cloned());
    repeat(&files, input.recursive, printer, || {
        once(arguments.clone(), printer)
    })
}

fn once(arguments: Render, printer: &Printer) -> io::Result<ExitStatus> {
    let addresses = arguments.function_addresses().to_vec();
    let include = Include {
        full_composite: arguments.include_full_xr,
        events: arguments.include_function_results,
        context: arguments.include_context,
    };
    let (form, arguments) = match arguments.arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            printer.error(&error);
            printer.hint(error.hint());
            return Ok(ExitStatus::Error);
        }
    };
    let loaded = match inputs::load(&arguments) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(unusable(&error, printer)),
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let unread = refuse_all(&loaded.errors, printer);
    let functions = functions(printer);
    let Some(functions) = functions.and_then(|own| with_foreign(own, &addresses, printer)) else {
        return Ok(ExitStatus::Error);
    };
    let mut skipped = Skipped::default();
    let cases = loaded.cases.into_iter().map(|it| {
        let inputs = it
            .inputs
            .map(|inputs| skipped.without_unknown(inputs, &functions, printer));
        (it.name, inputs)
    });
    let mut list = Vec::new();
    let mut status = each(cases, printer, |name, inputs| {
        let documents = match render(&inputs, &functions) {
            Ok(rendered) => documents(name, &inputs, rendered, include, printer),
            Err(error) => return Ok(fail(name, &inputs, &error, printer)),
        };
        match form {
            RenderForm::Yaml => write(name, &documents, printer),
            RenderForm::Json => {
                list.extend(documents);
                Ok(ExitStatus::Success)
            }
        }
    })?;
    if form == RenderForm::Json {
        match serde_json::to_string_pretty(&list) {
            Ok(text) => printer.data(&(text + "\n"))?,
            Err(error) => status = failed("JSON", &error, printer),
        }
    }
    printer.summary(loaded.summary);
    Ok(status.max(unread))
}

fn documents(
    name: &str,
    inputs: &Inputs,
    rendered: Rendered,
    include: Include,
    printer: &Printer,
) -> Vec<Value> {
    for resource in &rendered.deleted {
        printer.note(format_args!(
            "{name}: observed {resource:?} is no longer desired: Crossplane would delete it"
        ));
    }
    rendered.documents(&inputs.composite, include)
}

fn write(name: &str, documents: &[Value], printer: &Printer) -> io::Result<ExitStatus> {
    match yaml_stream(documents) {
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
            printer.hint("--function-address NAME=HOST:PORT calls a function that is not Asya's");
        }
        RenderError::Engine(EngineError::Fatal { .. }) if inputs.required.is_empty() => {
            printer.hint("give flavors and the platform's settings as well");
        }
        _ => {}
    }
    ExitStatus::Failure
}
