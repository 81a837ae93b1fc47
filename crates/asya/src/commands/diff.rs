//! `asya diff`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use function_kit::report;

use crate::cli::{Diff, DiffForm};
use crate::diff::{Comparison, Source, Version, compare, json, table, unified};
use crate::inputs::{compositions_of_actors, sides};
use crate::printer::Printer;
use crate::remote::{RemoteError, RemoteProgram};

use super::foreign::Skipped;
use super::{ExitStatus, functions, refuse_all};

/// Actors that a warning names before it only counts.
const NAMED_MAX: usize = 3;

pub(super) fn run(arguments: Diff, printer: &Printer) -> io::Result<ExitStatus> {
    let form = arguments.output;
    let Some((versions, programs)) = versions(&arguments, printer) else {
        return Ok(ExitStatus::Error);
    };
    let progress = printer.progress("reading both sides");
    let loaded = sides(&arguments.arguments(), versions);
    drop(progress);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(errors) => {
            refuse_all(&errors, printer);
            // As with diff(1), 1 means that something differs.
            return Ok(ExitStatus::Error);
        }
    };
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let mut skipped = Skipped::uncallable();
    for side in [&mut loaded.old, &mut loaded.new] {
        let functions = Arc::clone(&side.functions);
        for composition in [&mut side.composition, &mut side.legacy_composition] {
            *composition = skipped.known_steps(composition.clone(), &functions, printer);
        }
    }
    let actors = loaded.old.actors.len().max(loaded.new.actors.len());
    let progress = printer.progress(&format!("comparing {actors} actors"));
    let comparison = compare(&loaded.old, &loaded.new);
    drop(progress);
    if let Some(error) = programs.iter().find_map(RemoteProgram::lost) {
        printer.error(report(&error));
        return Ok(ExitStatus::Error);
    }
    remarks(&comparison, printer);
    let text = match form {
        DiffForm::Table => Ok(table(&comparison, printer.width())),
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
    printer.summary(loaded.summary);
    Ok(
        match (comparison.is_empty(), comparison.unknown.is_empty()) {
            (false, _) => ExitStatus::Failure,
            (true, true) => ExitStatus::Success,
            // Whether something changes is unknown.
            (true, false) => ExitStatus::Error,
        },
    )
}

/// The version of each side and the programs that run for them; none after an error message.
fn versions(arguments: &Diff, printer: &Printer) -> Option<([Version; 2], Vec<RemoteProgram>)> {
    let own = Version {
        functions: Arc::new(functions(printer)?),
        compositions: compositions_of_actors()
            .inspect_err(|error| printer.error(error))
            .ok()?,
    };
    let mut programs = Vec::new();
    let mut version = |program: Option<&Path>| -> Result<Version, RemoteError> {
        let Some(program) = program else {
            return Ok(own.clone());
        };
        let program = RemoteProgram::start(program)?;
        let version = program.version();
        programs.push(program);
        Ok(version)
    };
    let [old, new] = arguments.programs();
    match version(old).and_then(|old| Ok([old, version(new)?])) {
        Ok(versions) => Some((versions, programs)),
        Err(error) => {
            printer.error(report(&error));
            if let Some(hint) = error.hint() {
                printer.hint(hint);
            }
            None
        }
    }
}

/// Writes notes and warnings that are not part of the comparison.
fn remarks(comparison: &Comparison, printer: &Printer) {
    for it in comparison.sources.iter().filter(|it| !it.is_used) {
        if let Source::Flavor(name) = &it.source {
            printer.note(format_args!(
                "flavor {name:?} differs, but no actor among the files names it"
            ));
        }
    }
    let unknown = &comparison.unknown;
    if let Some((_, errors)) = unknown.first() {
        let names = unknown.iter().take(NAMED_MAX).map(|(id, _)| id.to_string());
        let names: Vec<String> = names.collect();
        let more = match unknown.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = errors.first().map(ToString::to_string);
        printer.warning(format_args!(
            "{}{more}: refused on both sides, so their changes are unknown: {}",
            names.join(", "),
            reason.unwrap_or_default()
        ));
    }
}
