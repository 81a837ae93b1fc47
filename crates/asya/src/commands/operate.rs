//! `asya send` and `asya dead-letters`.

use std::io;

use serde_json::{Value, json};

use crate::cli::{
    DeadLetters, DeadLettersCommand, JobOptions, OperateForm, Peek, Selected, Send, payload,
};
use crate::inputs::workloads_of;
use crate::kubectl::Kubectl;
use crate::operate::{RunError, dead_letters, job, run_job, table};
use crate::printer::Printer;
use crate::serde_message::json_problem;
use crate::table::columns;
use crate::visible::{visible, visible_line, yaml};

use super::{ExitStatus, unusable};

/// Output of a Job, or the status with which the command ends.
type Output = Result<String, ExitStatus>;

pub(super) fn send(arguments: &Send, printer: &Printer) -> io::Result<ExitStatus> {
    let text = payload(&arguments.payload).and_then(|text| {
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        parsed
            .map(|_| text)
            .map_err(|error| format!("the payload is no JSON: {}", json_problem(&error)))
    });
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            printer.error(error);
            return Ok(ExitStatus::Error);
        }
    };
    let mut order = vec!["send".to_owned()];
    order.extend(arguments.id.iter().map(|id| format!("--id={id}")));
    if !arguments.next.is_empty() {
        order.push(format!("--next={}", arguments.next.join(",")));
    }
    order.extend(["--".to_owned(), arguments.actor.clone(), text]);
    let id = match execute(&arguments.actor, order, &arguments.job, printer)? {
        Ok(output) => output.trim().to_owned(),
        Err(status) => return Ok(status),
    };
    match arguments.job.output {
        OperateForm::Text => printer.data(&format!("{}\n", visible_line(&id)))?,
        OperateForm::Json => {
            let sent = json!({"id": id, "actor": arguments.actor});
            printer.data(&format!("{sent}\n"))?;
        }
    }
    Ok(ExitStatus::Success)
}

pub(super) fn dead(arguments: &DeadLetters, printer: &Printer) -> io::Result<ExitStatus> {
    match &arguments.command {
        DeadLettersCommand::List(peek) => list(peek, true, printer),
        DeadLettersCommand::Peek(peek) => list(peek, false, printer),
        DeadLettersCommand::Requeue(selected) => change(selected, "requeue", printer),
        DeadLettersCommand::Drop(selected) => change(selected, "drop", printer),
    }
}

fn list(peek: &Peek, is_table: bool, printer: &Printer) -> io::Result<ExitStatus> {
    let order = vec![
        "peek".to_owned(),
        "--dead".to_owned(),
        format!("--count={}", peek.count),
    ];
    let output = match execute(&peek.actor, order, &peek.job, printer)? {
        Ok(output) => output,
        Err(status) => return Ok(status),
    };
    let mut letters = dead_letters(&output);
    if !peek.id.is_empty() {
        letters.retain(|letter| peek.id.contains(&letter.id));
        if letters.is_empty() {
            printer.error(format_args!(
                "actor {:?} has no such dead letter",
                peek.actor
            ));
            return Ok(ExitStatus::Failure);
        }
    }
    let text = match (peek.job.output, is_table) {
        (OperateForm::Text, true) if letters.is_empty() => "no dead letters\n".to_owned(),
        (OperateForm::Text, true) => {
            let rows = table(&letters).into_iter();
            let mut rows = rows.map(|row| row.map(|cell| visible_line(&cell).into_owned()));
            let head = rows.next().unwrap_or_default();
            let mut text = String::new();
            columns(
                head.each_ref().map(String::as_str),
                rows,
                printer.width(),
                &mut text,
            );
            text.trim_start().to_owned()
        }
        (OperateForm::Text, false) => {
            let lines = letters.iter().map(|letter| format!("{}\n", letter.message));
            lines.collect()
        }
        (OperateForm::Json, is_table) => {
            let value = |letter: &crate::operate::DeadLetter| {
                if is_table {
                    letter.json()
                } else {
                    letter.message.clone()
                }
            };
            pretty(&letters.iter().map(value).collect())
        }
    };
    printer.data(&text)?;
    Ok(ExitStatus::Success)
}

fn change(selected: &Selected, verb: &str, printer: &Printer) -> io::Result<ExitStatus> {
    let order = selected.arguments(verb);
    let output = match execute(&selected.actor, order, &selected.job, printer)? {
        Ok(output) => output,
        Err(status) => return Ok(status),
    };
    match selected.job.output {
        OperateForm::Text => printer.data(&visible(&output))?,
        OperateForm::Json => printer.data(&pretty(&output.lines().map(Value::from).collect()))?,
    }
    Ok(ExitStatus::Success)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Runs a command of the sidecar in a Job, or prints the Job.
fn execute(
    actor: &str,
    arguments: Vec<String>,
    options: &JobOptions,
    printer: &Printer,
) -> io::Result<Output> {
    let cluster = options.cluster();
    let workloads = match workloads_of(&cluster, actor) {
        Ok(workloads) => workloads,
        Err(error) => return Ok(Err(unusable(&error, printer))),
    };
    let job = match job(actor, &workloads, &options.order(arguments)) {
        Ok(job) => job,
        Err(error) => {
            printer.error(&error);
            printer.hint(error.hint());
            return Ok(Err(ExitStatus::Failure));
        }
    };
    if options.dry_run {
        let text = match options.output {
            OperateForm::Json => Ok(pretty(&job.manifest)),
            OperateForm::Text => yaml(&job.manifest),
        };
        return Ok(Err(match text {
            Ok(text) => {
                printer.data(&text)?;
                ExitStatus::Success
            }
            Err(error) => super::failed("YAML", &error, printer),
        }));
    }
    let kubectl = Kubectl {
        context: cluster.context,
    };
    let progress = printer.progress("waiting for the Job");
    let result = run_job(&kubectl, &job, options.deadline());
    drop(progress);
    Ok(result.map_err(|error| {
        printer.error(&error);
        if let Some(hint) = error.hint() {
            printer.hint(hint);
        }
        match error {
            RunError::Failed(_) => ExitStatus::Failure,
            _ => ExitStatus::Error,
        }
    }))
}
