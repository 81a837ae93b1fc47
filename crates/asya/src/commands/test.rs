//! `asya test`.

use std::io;

use merge::FieldPath;

use crate::actor_test::{
    InlineActor, InvalidCase, Results, json, junit, lines, run as run_test, unknown_fields,
};
use crate::cli::{Test, TestForm};
use crate::inputs::{LoadedTest, actor_tests, files_of_tests};
use crate::lint::Linter;
use crate::ordered;
use crate::printer::Printer;

use super::watch::repeat;
use super::{ExitStatus, failed, functions, linter, refuse, unusable};

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
    let Some(linter) = linter(&functions, &arguments.namespace, printer) else {
        return Ok(ExitStatus::Error);
    };
    let mut results = Results::default();
    for (case, error) in loaded.unread {
        refuse(&error, printer);
        results.invalid.push(case);
    }
    let mut tests = loaded.tests;
    let part = arguments.filter.as_deref().unwrap_or_default();
    tests.retain(|test| test.test.name.contains(part));
    let tests = with_known_fields(tests, &linter, printer, &mut results.invalid);
    let progress = printer.progress("running the cases");
    let work = |LoadedTest { test, inputs, .. }| match inputs {
        Ok(inputs) => Ok(run_test(test, &inputs, &functions)),
        Err(error) => Err(Box::new((test, error))),
    };
    let ran = ordered::all(tests, work);
    drop(progress);
    for result in ran {
        match result {
            Ok(outcome) => results.outcomes.push(outcome),
            Err(refused) => {
                let (test, error) = *refused;
                let message = format!("{}: {}: {error}", test.file.display(), test.name);
                printer.error(&message);
                if let Some(hint) = error.hint() {
                    printer.hint(hint);
                }
                results.invalid.push(InvalidCase {
                    position: Some(test.positions.of(&FieldPath::default())),
                    name: test.name,
                    file: Some(test.file),
                    message,
                });
            }
        }
    }
    if results.outcomes.is_empty() && results.invalid.is_empty() {
        printer.error("no case has a name that contains the text of --filter");
        return Ok(ExitStatus::Error);
    }
    let text = match arguments.output {
        TestForm::Text => Ok(lines(&results)),
        TestForm::Junit => Ok(junit(&results)),
        TestForm::Json => serde_json::to_string_pretty(&json(&results)).map(|text| text + "\n"),
    };
    match text {
        Ok(text) => {
            printer.data(&text)?;
            printer.summary(loaded.summary);
            Ok(status(&results))
        }
        Err(error) => Ok(failed("JSON", &error, printer)),
    }
}

/// 1 means that a case failed.
fn status(results: &Results) -> ExitStatus {
    let mut outcomes = results.outcomes.iter();
    if !results.invalid.is_empty() {
        ExitStatus::Error
    } else if outcomes.any(|outcome| !outcome.failures.is_empty()) {
        ExitStatus::Failure
    } else {
        ExitStatus::Success
    }
}

/// The cases whose actors have only known fields; the others are invalid.
fn with_known_fields(
    tests: Vec<LoadedTest>,
    linter: &Linter<'_>,
    printer: &Printer,
    invalid: &mut Vec<InvalidCase>,
) -> Vec<LoadedTest> {
    let inline: Vec<&InlineActor> = tests.iter().filter_map(|it| it.inline.as_ref()).collect();
    let mut found = unknown_fields(&inline, linter).into_iter();
    let mut known = Vec::new();
    for test in tests {
        let unknown = test.inline.as_ref().and_then(|_| found.next());
        let unknown = unknown.unwrap_or_default();
        if unknown.is_empty() {
            known.push(test);
            continue;
        }
        let file = test.test.file.display().to_string();
        let mut messages = Vec::new();
        let mut first = None;
        for field in unknown {
            first.get_or_insert(field.position);
            let (line, column) = (field.position.line, field.position.column);
            let message = format!("{file}:{line}:{column}: {}", field.message);
            printer.error(&message);
            messages.push(message);
        }
        invalid.push(InvalidCase {
            name: test.test.name,
            file: Some(test.test.file),
            position: first,
            message: messages.join("; "),
        });
    }
    known
}
