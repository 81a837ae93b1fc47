//! `asya top`.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::cli::{Top, TopForm, TopSort};
use crate::inputs::{Summary, live_objects};
use crate::printer::Printer;
use crate::status::states;
use crate::status::top::{Levels, Order, counts, json, levels, table};

use super::status::hint_at_names;
use super::{ExitStatus, failed, refuse_all, unusable};

pub(super) fn run(arguments: &Top, printer: &Printer) -> io::Result<ExitStatus> {
    let query = arguments.actors.query();
    let interval = Duration::from_secs(arguments.interval);
    let order = match arguments.sort {
        TopSort::Name => Order::Name,
        TopSort::Queued => Order::Queued,
        TopSort::Processing => Order::Processing,
        TopSort::Ready => Order::Ready,
        TopSort::Dead => Order::Dead,
    };
    let mut before: Option<(Levels, Instant)> = None;
    loop {
        let progress = printer.progress("reading the cluster");
        let objects = live_objects(&query);
        drop(progress);
        let objects = match objects {
            Ok(objects) => objects,
            Err(error) => return Ok(unusable(&error, printer)),
        };
        let unread = refuse_all(&objects.errors, printer);
        let mut found = states(&objects.objects);
        if !query.names.is_empty() {
            hint_at_names(&query.names, &found, printer);
            found.retain(|state| query.names.contains(&state.name));
        }
        if found.is_empty() {
            printer.error("there are no actors");
            return Ok(ExitStatus::Error);
        }
        let summary = Summary {
            actors: found.len(),
            files: objects.files,
            ..Summary::default()
        };
        let (now, time) = (levels(&found), Instant::now());
        // One read has no rate: the first is shown at once only where there will be no second one.
        if before.is_some() || arguments.actors.is_offline() {
            let earlier = before.as_ref().map(|(levels, read)| (levels, time - *read));
            let counts = counts(found, earlier, order);
            let text = match arguments.output {
                TopForm::Table => table(&counts, printer.width()),
                TopForm::Json => match serde_json::to_string_pretty(&json(&counts)) {
                    Ok(text) => text + "\n",
                    Err(error) => return Ok(failed("JSON", &error, printer)),
                },
            };
            printer.data(&text)?;
            if !arguments.watch {
                printer.summary(summary);
                return Ok(unread);
            }
            printer.data("\n")?;
        }
        before = Some((now, time));
        let progress = printer.progress("waiting for a second read");
        sleep(interval);
        drop(progress);
    }
}
