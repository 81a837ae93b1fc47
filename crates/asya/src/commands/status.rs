//! `asya status`.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use crate::cli::{Status, StatusForm};
use crate::inputs::{Summary, live_objects};
use crate::printer::Printer;
use crate::status::{ActorState, json, states, trees};

use super::{ExitStatus, refuse_all, unusable};

/// Time between two reads of `--watch`.
const INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn run(arguments: Status, printer: &Printer) -> io::Result<ExitStatus> {
    let (form, is_watching) = (arguments.output, arguments.watch);
    let query = arguments.query();
    let mut shown = None;
    loop {
        let progress = printer.progress("reading the cluster");
        let objects = live_objects(&query);
        drop(progress);
        let objects = match objects {
            Ok(objects) => objects,
            // 1 means that an actor is not ready.
            Err(error) => return Ok(unusable(&error, printer)),
        };
        let unread = refuse_all(&objects.errors, printer);
        let mut states = states(&objects.objects);
        if !query.names.is_empty() {
            states.retain(|state| query.names.contains(&state.name));
        }
        let summary = Summary {
            actors: states.len(),
            files: objects.files,
            ..Summary::default()
        };
        let text = match text(&states, form) {
            Ok(text) => text,
            Err(error) => {
                printer.error(format_args!("cannot write JSON: {error}"));
                return Ok(ExitStatus::Error);
            }
        };
        if shown.as_ref() != Some(&text) {
            if shown.is_some() {
                printer.data("\n")?;
            }
            printer.data(&text)?;
            shown = Some(text);
        }
        if !is_watching {
            if states.is_empty() {
                printer.error("there are no actors");
                return Ok(ExitStatus::Error);
            }
            printer.summary(summary);
            return Ok(status(&states).max(unread));
        }
        sleep(INTERVAL);
    }
}

fn text(states: &[ActorState], form: StatusForm) -> serde_json::Result<String> {
    match form {
        StatusForm::Tree => Ok(trees(states)),
        StatusForm::Json => serde_json::to_string_pretty(&json(states)).map(|text| text + "\n"),
    }
}

fn status(states: &[ActorState]) -> ExitStatus {
    use crate::status::Health;
    if states.iter().all(|state| state.health == Health::Good) {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    }
}
