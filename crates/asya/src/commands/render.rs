//! `asya render`.

use std::io;

use actor::yaml::YamlError;
use serde_json::Value;

use crate::cli::{Render, RenderForm};
use crate::inputs::{self, InputError};
use crate::ordered;
use crate::printer::Printer;
use crate::visible::yaml_stream;
use pipeline::{EngineError, Include, Inputs, RenderError, Rendered, render};

use super::foreign::{Skipped, with_foreign};
use super::watch::repeat;
use super::{ExitStatus, failed, functions, refuse, refuse_all, unusable};

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
    let mut skipped = Skipped::callable();
    let cases = loaded.cases.into_iter().map(|it| {
        let inputs = it
            .inputs
            .map(|inputs| skipped.without_unknown(inputs, &functions, printer));
        (it.name, inputs)
    });
    let work = |(name, inputs): (String, Result<Inputs, InputError>)| {
        let result = inputs.map(|inputs| {
            let rendered = render(&inputs, &functions);
            let output = rendered.map(|rendered| Output::of(&inputs, rendered, include, form));
            (inputs, output)
        });
        (name, result)
    };
    let mut list = Vec::new();
    let mut status = ExitStatus::Success;
    ordered::ordered(cases, work, |(name, result)| {
        let of_case = match result {
            Ok((_, Ok(output))) => output.write(&name, &mut list, printer)?,
            Ok((inputs, Err(error))) => fail(&name, &inputs, &error, printer),
            Err(error) => refuse(&error, printer),
        };
        status = status.max(of_case);
        Ok::<(), io::Error>(())
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

/// The output of one XR.
struct Output {
    /// Observed resources that are no longer desired.
    deleted: Vec<String>,
    content: Content,
}

enum Content {
    Yaml(Result<String, YamlError>),
    Json(Vec<Value>),
}

impl Output {
    fn of(inputs: &Inputs, rendered: Rendered, include: Include, form: RenderForm) -> Self {
        let deleted = rendered.deleted.clone();
        let documents = rendered.documents(&inputs.composite, include);
        let content = match form {
            RenderForm::Yaml => Content::Yaml(yaml_stream(&documents)),
            RenderForm::Json => Content::Json(documents),
        };
        Self { deleted, content }
    }

    /// Writes YAML; JSON is added to the list.
    fn write(self, name: &str, list: &mut Vec<Value>, printer: &Printer) -> io::Result<ExitStatus> {
        for resource in &self.deleted {
            printer.note(format_args!(
                "{name}: observed {resource:?} is no longer desired: Crossplane would delete it"
            ));
        }
        match self.content {
            Content::Yaml(Ok(text)) => printer.data(&text)?,
            Content::Yaml(Err(error)) => {
                printer.error(format_args!("{name}: {error}"));
                return Ok(ExitStatus::Error);
            }
            Content::Json(documents) => list.extend(documents),
        }
        Ok(ExitStatus::Success)
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
