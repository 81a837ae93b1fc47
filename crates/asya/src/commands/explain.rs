//! `asya explain`.

use std::io;

use actor::diagnostic::{Code, Entry, Severity};
use serde_json::json;

use crate::cli::{Explain, Form};
use crate::explain::{Explanation, document, explain, table};
use crate::inputs::{self, InputError};
use crate::ordered;
use crate::printer::Printer;
use crate::visible::yaml_stream;
use pipeline::Inputs;

use super::foreign::{Skipped, with_foreign};
use super::render::fail;
use super::{ExitStatus, functions, refuse, refuse_all, unusable};

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
    let mut skipped = Skipped::callable();
    let mut progress = Some(printer.progress(&format!("explaining {} actors", loaded.cases.len())));
    let cases = loaded.cases.into_iter().map(|it| {
        let complete = |inputs| skipped.without_unknown(inputs, &functions, printer);
        (it.name, it.inputs.map(complete))
    });
    let work = |(name, inputs): (String, Result<Inputs, InputError>)| {
        let explained = inputs.map(|inputs: Inputs| (explain(&inputs, &functions), inputs));
        (name, explained)
    };
    let mut status = ExitStatus::Success;
    let mut output = Output::new(form, all, printer.width());
    let ended = ordered::ordered(cases, work, |(name, explained)| {
        // A progress line and output would overwrite each other.
        progress = None;
        let (text, of_case) = match explained {
            Err(error) => (Ok(String::new()), refuse(&error, printer)),
            Ok((Err(error), inputs)) => (Ok(String::new()), fail(&name, &inputs, &error, printer)),
            Ok((Ok(explanation), _)) => {
                let of_case = report(&name, &explanation, printer);
                (output.text(&explanation), of_case)
            }
        };
        status = status.max(of_case);
        printer.data(&text.map_err(Unwritten::Form)?)?;
        Ok::<(), Unwritten>(())
    });
    match ended {
        Ok(()) => {}
        Err(Unwritten::Output(error)) => return Err(error),
        Err(Unwritten::Form(error)) => {
            printer.error(error);
            return Ok(ExitStatus::Error);
        }
    }
    printer.data(output.end())?;
    printer.summary(summary);
    Ok(status.max(unread))
}

/// Reason for which an explanation is not written.
enum Unwritten {
    /// The output is closed.
    Output(io::Error),
    /// It cannot be written in that format.
    Form(String),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes the diagnostics of an explanation; the status of its actor.
fn report(name: &str, explanation: &Explanation, printer: &Printer) -> ExitStatus {
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
    if explanation.errors().next().is_none() {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    }
}

/// Explanations as text, one after the other.
struct Output {
    form: Form,
    all: bool,
    width: Option<usize>,
    count: usize,
}

impl Output {
    fn new(form: Form, all: bool, width: Option<usize>) -> Self {
        Self {
            form,
            all,
            width,
            count: 0,
        }
    }

    /// The text of the next explanation; empty for a table without content.
    fn text(&mut self, explanation: &Explanation) -> Result<String, String> {
        let is_first = self.count == 0;
        let has_content = !(explanation.fields.is_empty() && explanation.conflicts.is_empty());
        self.count += usize::from(has_content || self.form != Form::Table);
        match self.form {
            Form::Table if !has_content => Ok(String::new()),
            Form::Table => {
                let begin = if is_first { "" } else { "\n" };
                Ok(format!(
                    "{begin}{}",
                    table(explanation, self.width, self.all)
                ))
            }
            Form::Json => {
                let begin = if is_first { "[" } else { "," };
                // An item of a list, as serde_json writes it.
                serde_json::to_string_pretty(&document(explanation, self.all))
                    .map(|text| format!("{begin}\n  {}", text.replace('\n', "\n  ")))
                    .map_err(|error| format!("cannot write JSON: {error}"))
            }
            Form::Yaml => {
                yaml_stream(&[document(explanation, self.all)]).map_err(|error| error.to_string())
            }
        }
    }

    /// The text after the last explanation.
    fn end(&self) -> &'static str {
        match (self.form, self.count) {
            (Form::Json, 0) => "[]\n",
            (Form::Json, _) => "\n]\n",
            _ => "",
        }
    }
}
