//! `asya explain`.

use std::io;

use actor::diagnostic::{Code, Entry, Severity};
use serde_json::{Value, json};

use crate::cli::{Explain, Form};
use crate::explain::{Explanation, document, explain, table};
use crate::inputs;
use crate::printer::Printer;
use crate::visible::yaml_stream;
use pipeline::Inputs;

use super::foreign::{Skipped, with_foreign};
use super::render::fail;
use super::{ExitStatus, each, functions, refuse_all, unusable};

/// Prints what a code means.
fn explain_code(text: &str, form: Form, printer: &Printer) -> io::Result<ExitStatus> {
    let code: Code = match text.parse() {
        Ok(code) => code,
        Err(error) => {
            printer.error(error);
            let near = Code::near(text);
            let codes = if near.is_empty() { Code::ALL } else { &near };
            let ids: Vec<&str> = codes.iter().map(|code| code.id()).collect();
            printer.hint(format_args!("there are {}", ids.join(", ")));
            return Ok(ExitStatus::Failure);
        }
    };
    let Entry {
        title,
        cause,
        example,
        fix,
    } = code.entry();
    let document = json!({
        "code": code, "title": title, "cause": cause, "example": example, "fix": fix,
    });
    let text = match form {
        Form::Table => Ok(format!(
            "{code}: {title}\n\n{cause}\n\nExample:\n    {example}\n\nFix: {fix}\n"
        )),
        Form::Json => serde_json::to_string_pretty(&document)
            .map(|text| text + "\n")
            .map_err(|error| format!("cannot write JSON: {error}")),
        Form::Yaml => actor::yaml::write(&document).map_err(|error| error.to_string()),
    };
    match text {
        Ok(text) => printer.data(&text).map(|()| ExitStatus::Success),
        Err(error) => {
            printer.error(error);
            Ok(ExitStatus::Error)
        }
    }
}

pub(super) fn run(arguments: Explain, printer: &Printer) -> io::Result<ExitStatus> {
    let (form, all) = (arguments.output, arguments.all);
    if let Some(code) = arguments.code() {
        return explain_code(code, form, printer);
    }
    let addresses = arguments.function_addresses().to_vec();
    let loaded = match inputs::load(&arguments.arguments()) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(unusable(&error, printer)),
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let unread = refuse_all(&loaded.errors, printer);
    let summary = loaded.summary;
    let functions = functions(printer);
    let Some(functions) = functions.and_then(|own| with_foreign(own, &addresses, printer)) else {
        return Ok(ExitStatus::Error);
    };
    let mut skipped = Skipped::default();
    let progress = printer.progress(&format!("explaining {} actors", loaded.cases.len()));
    let mut explained = |inputs: Inputs| {
        let inputs = skipped.without_unknown(inputs, &functions, printer);
        (explain(&inputs, &functions), inputs)
    };
    let cases: Vec<_> = loaded
        .cases
        .into_iter()
        .map(|it| (it.name, it.inputs.map(&mut explained)))
        .collect();
    drop(progress);
    let mut explanations = Vec::new();
    let status = each(cases, printer, |name, (explained, inputs)| {
        Ok(match explained {
            Err(error) => fail(name, &inputs, &error, printer),
            Ok(explanation) => {
                for diagnostic in &explanation.diagnostics {
                    let line = format_args!("{name}: {diagnostic}");
                    match diagnostic.severity {
                        Severity::Error => printer.error(line),
                        Severity::Warning => printer.warning(line),
                        Severity::Info => printer.note(line),
                    }
                }
                if !explanation.conflicts.is_empty() {
                    printer.hint("keep the field in one of the flavors, or set it in the actor");
                }
                let status = if explanation.errors().next().is_none() {
                    ExitStatus::Success
                } else {
                    ExitStatus::Failure
                };
                explanations.push(explanation);
                status
            }
        })
    })?;
    match text(&explanations, form, all, printer.width()) {
        Ok(text) => {
            printer.data(&text)?;
            printer.summary(summary);
            Ok(status.max(unread))
        }
        Err(error) => {
            printer.error(error);
            Ok(ExitStatus::Error)
        }
    }
}

/// The explanations as text, without those that contain nothing.
fn text(
    explanations: &[Explanation],
    form: Form,
    all: bool,
    width: Option<usize>,
) -> Result<String, String> {
    let document = |explanation: &Explanation| document(explanation, all);
    let has_content = |explanation: &&Explanation| {
        !(explanation.fields.is_empty() && explanation.conflicts.is_empty())
    };
    match form {
        Form::Table => {
            let tables: Vec<_> = explanations
                .iter()
                .filter(has_content)
                .map(|explanation| table(explanation, width, all))
                .collect();
            Ok(tables.join("\n"))
        }
        Form::Json => {
            let documents = Value::Array(explanations.iter().map(document).collect());
            serde_json::to_string_pretty(&documents)
                .map(|text| text + "\n")
                .map_err(|error| format!("cannot write JSON: {error}"))
        }
        Form::Yaml => {
            let documents: Vec<_> = explanations.iter().map(document).collect();
            yaml_stream(&documents).map_err(|error| error.to_string())
        }
    }
}
