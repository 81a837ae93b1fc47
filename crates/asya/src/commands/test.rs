//! `asya test`.

use std::io;

use crate::actor_test::{Outcome, json, junit, lines, run as run_test};
use crate::cli::{Test, TestForm};
use crate::inputs::{LoadedTest, actor_tests, files_of_tests};
use crate::ordered;
use crate::printer::Printer;

use super::watch::repeat;
use super::{ExitStatus, failed, functions, refuse_all, unusable};

pub(super) fn run(arguments: &Test, printer: &Printer) -> io::Result<ExitStatus> {
    if !arguments.watch {
        return once(arguments, printer);
    }
    let mut files = arguments.files.clone();
    files.extend(files_of_tests(&arguments.files, arguments.recursive));
    repeat(&files, arguments.recursive, printer, || {
        once(arguments, printer)
    })
}

fn once(arguments: &Test, printer: &Printer) -> io::Result<ExitStatus> {
    let loaded = actor_tests(&arguments.files, arguments.recursive, &arguments.namespace);
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return Ok(unusable(&error, printer)),
    };
    let Some(functions) = functions(printer) else {
        return Ok(ExitStatus::Error);
    };
    let is_asked_for = |test: &LoadedTest| {
        let part = arguments.filter.as_deref().unwrap_or_default();
        test.test.name.contains(part)
    };
    // 1 means that a case failed.
    let mut status = match refuse_all(&loaded.errors, printer) {
        ExitStatus::Success => ExitStatus::Success,
        _ => ExitStatus::Error,
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    let progress = printer.progress("running the cases");
    let work = |LoadedTest { test, inputs }| match inputs {
        Ok(inputs) => Ok(run_test(test, &inputs, &functions)),
        Err(error) => Err(Box::new((test, error))),
    };
    let ran = ordered::all(loaded.tests.into_iter().filter(is_asked_for), work);
    drop(progress);
    for result in ran {
        match result {
            Ok(outcome) => {
                if !outcome.failures.is_empty() {
                    status = status.max(ExitStatus::Failure);
                }
                outcomes.push(outcome);
            }
            Err(refused) => {
                let (test, error) = *refused;
                printer.error(format_args!(
                    "{}: {}: {error}",
                    test.file.display(),
                    test.name
                ));
                if let Some(hint) = error.hint() {
                    printer.hint(hint);
                }
                status = ExitStatus::Error;
            }
        }
    }
    if outcomes.is_empty() {
        if status == ExitStatus::Success {
            printer.error("no case has a name that contains the text of --filter");
        }
        return Ok(ExitStatus::Error);
    }
    let text = match arguments.output {
        TestForm::Text => Ok(lines(&outcomes)),
        TestForm::Junit => Ok(junit(&outcomes)),
        TestForm::Json => serde_json::to_string_pretty(&json(&outcomes)).map(|text| text + "\n"),
    };
    match text {
        Ok(text) => {
            printer.data(&text)?;
            printer.summary(loaded.summary);
            Ok(status)
        }
        Err(error) => Ok(failed("JSON", &error, printer)),
    }
}
