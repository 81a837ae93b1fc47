//! `asya diff`.

use std::io;

use crate::cli::{Diff, DiffForm};
use crate::diff::{Comparison, Source, compare, json, table, unified};
use crate::inputs::sides;
use crate::printer::Printer;

use super::{ExitStatus, functions, refuse};

/// Actors that a warning names before it only counts.
const NAMED_MAX: usize = 3;

pub(super) fn run(arguments: Diff, printer: &Printer) -> io::Result<ExitStatus> {
    let form = arguments.output;
    let loaded = match sides(&arguments.arguments()) {
        Ok(loaded) => loaded,
        // As with diff(1), 1 says that something differs.
        Err(error) => {
            refuse(&error, printer);
            return Ok(ExitStatus::Error);
        }
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let Some(functions) = functions(printer) else {
        return Ok(ExitStatus::Error);
    };
    let comparison = compare(&loaded.old, &loaded.new, &functions);
    tell(&comparison, printer);
    let text = match form {
        DiffForm::Table => Ok(table(&comparison)),
        DiffForm::Diff => unified(&comparison).map_err(|error| error.to_string()),
        DiffForm::Json => serde_json::to_string_pretty(&json(&comparison))
            .map(|text| text + "\n")
            .map_err(|error| format!("cannot write JSON: {error}")),
    };
    match text {
        Ok(text) => printer.data(&text)?,
        Err(error) => {
            printer.error(error);
            return Ok(ExitStatus::Error);
        }
    }
    Ok(if comparison.is_empty() {
        ExitStatus::Success
    } else {
        ExitStatus::Failure
    })
}

/// Tells what the comparison does not show.
fn tell(comparison: &Comparison, printer: &Printer) {
    for it in comparison.sources.iter().filter(|it| !it.is_used) {
        if let Source::Flavor(name) = &it.source {
            printer.note(format_args!(
                "flavor {name:?} differs, and no actor among the files names it"
            ));
        }
    }
    let unknown = &comparison.unknown;
    if let Some((_, reason)) = unknown.first() {
        let names = unknown.iter().take(NAMED_MAX).map(|(id, _)| id.to_string());
        let names: Vec<String> = names.collect();
        let more = match unknown.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        printer.warning(format_args!(
            "nothing is known of {}{more}, refused before and after: {reason}",
            names.join(", ")
        ));
    }
}
