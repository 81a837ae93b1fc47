//! `asya status`.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use crate::cli::{Status, StatusForm};
use crate::inputs::live_objects;
use crate::printer::Printer;
use crate::status::{ActorState, json, states, trees};

use super::{ExitStatus, refuse};

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
            Err(error) => {
                refuse(&error, printer);
                return Ok(ExitStatus::Error);
            }
        };
        let mut states = states(&objects);
        if !query.names.is_empty() {
            states.retain(|state| query.names.contains(&state.name));
        }
        if states.is_empty() && !is_watching {
            printer.note("there are no actors");
        }
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
            return Ok(status(&states));
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
