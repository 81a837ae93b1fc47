//! `asya status`.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use crate::cli::{Status, StatusForm};
use crate::inputs::{Summary, live_objects};
use crate::nearest::nearest;
use crate::printer::Printer;
use crate::status::{ActorState, Health, json, states, table, trees};

use super::{ExitStatus, refuse_all, unusable};

/// Time between two reads of `--watch`.
const INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn run(arguments: &Status, printer: &Printer) -> io::Result<ExitStatus> {
    let (form, is_watching) = (arguments.output, arguments.watch);
    let flavor = arguments.flavor.clone();
    let (only_problems, wanted) = (arguments.problems, arguments.status.clone());
    let query = arguments.actors.query();
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
            hint_at_names(&query.names, &states, printer);
            states.retain(|state| query.names.contains(&state.name));
        }
        if let Some(name) = &flavor {
            hint_at_flavor(name, &states, printer);
        }
        let (total, verdict) = (states.len(), status(&states));
        states.retain(|state| {
            let is_wanted = wanted.is_empty() || wanted.contains(&state.status);
            let has_flavor = flavor
                .as_ref()
                .is_none_or(|name| state.flavors.contains(name));
            is_wanted && has_flavor && !(only_problems && state.health == Health::Good)
        });
        let summary = Summary {
            actors: total,
            files: objects.files,
            ..Summary::default()
        };
        let text = match text(&states, form, printer.width()) {
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
            if total == 0 {
                printer.error("there are no actors");
                return Ok(ExitStatus::Error);
            }
            printer.summary(summary);
            return Ok(verdict.max(unread));
        }
        sleep(INTERVAL);
    }
}

/// Names that no actor has, each with the nearest that one has.
pub(super) fn hint_at_names(names: &[String], states: &[ActorState], printer: &Printer) {
    let known = || states.iter().map(|state| state.name.as_str());
    for name in names
        .iter()
        .filter(|name| known().all(|it| it != name.as_str()))
    {
        printer.warning(format_args!("there is no actor {name:?}"));
        if let Some(meant) = nearest(name, known()) {
            printer.hint(format_args!("did you mean {meant:?}?"));
        }
    }
}

/// A flavor that no actor uses, with the nearest that one uses.
fn hint_at_flavor(name: &str, states: &[ActorState], printer: &Printer) {
    let used = || {
        let flavors = states.iter().flat_map(|state| &state.flavors);
        flavors.map(String::as_str)
    };
    if states.is_empty() || used().any(|it| it == name) {
        return;
    }
    printer.warning(format_args!("no actor uses flavor {name:?}"));
    if let Some(meant) = nearest(name, used()) {
        printer.hint(format_args!("did you mean {meant:?}?"));
    }
}

fn text(
    states: &[ActorState],
    form: StatusForm,
    width: Option<usize>,
) -> serde_json::Result<String> {
    match form {
        StatusForm::Table if states.is_empty() => Ok(String::new()),
        StatusForm::Table => Ok(table(states, width)),
        StatusForm::Tree => Ok(trees(states)),
        StatusForm::Json => serde_json::to_string_pretty(&json(states)).map(|text| text + "\n"),
    }
}

fn status(states: &[ActorState]) -> ExitStatus {
    if states.iter().all(|state| state.health == Health::Good) {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    }
}
