//! `asya lint`.

use std::io;

use actor::names::PLATFORM;

use crate::cli::{Lint, LintForm};
use crate::inputs::sources;
use crate::lint::{Document, Finding, Role, Severity, github, json, lines, sarif};
use crate::printer::Printer;

use super::watch::repeat;
use super::{ExitStatus, failed, functions, linter, refuse_all, unusable};

pub(super) fn run(arguments: &Lint, printer: &Printer) -> io::Result<ExitStatus> {
    if !arguments.watch {
        return once(arguments, printer);
    }
    let files = arguments.files.clone();
    repeat(&files, arguments.recursive, printer, || {
        once(arguments, printer)
    })
}

fn once(arguments: &Lint, printer: &Printer) -> io::Result<ExitStatus> {
    let sources = match sources(&arguments.files, arguments.recursive) {
        Ok(sources) => sources,
        Err(error) => return Ok(unusable(&error, printer)),
    };
    let Some(functions) = functions(printer) else {
        return Ok(ExitStatus::Error);
    };
    let Some(linter) = linter(&functions, &arguments.namespace, printer) else {
        return Ok(ExitStatus::Error);
    };
    if sources.groups.iter().any(|group| lacks_platform(group)) {
        printer.note(format_args!(
            "the platform's settings (EnvironmentConfig {PLATFORM:?}) are not among the files: transports, names of queues and limits of the platform are not checked"
        ));
    }
    let progress = printer.progress("checking");
    let mut findings = sources.findings;
    for group in &sources.groups {
        findings.extend(linter.lint(group));
    }
    drop(progress);
    findings.sort();
    findings.dedup();
    match text(&findings, arguments.output) {
        Ok(text) => printer.data(&text)?,
        Err(error) => return Ok(failed("JSON", &error, printer)),
    }
    let unread = refuse_all(&sources.errors, printer);
    printer.summary(sources.summary);
    Ok(unread.max(status(&findings, arguments.strict)))
}

fn lacks_platform(documents: &[Document]) -> bool {
    let has = |role| documents.iter().any(|document| document.role() == role);
    has(Role::Actor) && !has(Role::Platform)
}

fn text(findings: &[Finding], form: LintForm) -> serde_json::Result<String> {
    match form {
        LintForm::Text => Ok(lines(findings)),
        LintForm::Github => Ok(github(findings)),
        LintForm::Sarif => serde_json::to_string_pretty(&sarif(findings)).map(|text| text + "\n"),
        LintForm::Json => serde_json::to_string_pretty(&json(findings)).map(|text| text + "\n"),
    }
}

fn status(findings: &[Finding], strict: bool) -> ExitStatus {
    let fails = |finding: &Finding| match finding.severity {
        Severity::Error => true,
        Severity::Warning => strict,
        Severity::Info => false,
    };
    if findings.iter().any(fails) {
        ExitStatus::Failure
    } else {
        ExitStatus::Success
    }
}
