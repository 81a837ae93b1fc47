//! `asya diff`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use function_kit::report;

use crate::cli::{Diff, DiffForm};
use crate::diff::{Comparison, Source, Version, compare, json, table, unified};
use crate::inputs::{compositions_of_actors, sides};
use crate::peer::{Peer, PeerError};
use crate::printer::Printer;

use super::{ExitStatus, functions, refuse};

/// Actors that a warning names before it only counts.
const NAMED_MAX: usize = 3;

pub(super) fn run(arguments: Diff, printer: &Printer) -> io::Result<ExitStatus> {
    let form = arguments.output;
    let Some((versions, peers)) = versions(&arguments, printer) else {
        return Ok(ExitStatus::Error);
    };
    let progress = printer.progress("reading both sides");
    let loaded = sides(&arguments.arguments(), versions);
    drop(progress);
    let loaded = match loaded {
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
    let actors = loaded.old.actors.len().max(loaded.new.actors.len());
    let progress = printer.progress(&format!("comparing {actors} actors"));
    let comparison = compare(&loaded.old, &loaded.new);
    drop(progress);
    if let Some(error) = peers.iter().find_map(Peer::lost) {
        printer.error(report(&error));
        return Ok(ExitStatus::Error);
    }
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

/// What renders each side, with the programs that run for it; none where one does not run,
/// which is told.
fn versions(arguments: &Diff, printer: &Printer) -> Option<([Version; 2], Vec<Peer>)> {
    let own = Version {
        functions: Arc::new(functions(printer)?),
        compositions: compositions_of_actors()
            .inspect_err(|error| printer.error(error))
            .ok()?,
    };
    let mut peers = Vec::new();
    let mut version = |program: Option<&Path>| -> Result<Version, PeerError> {
        let Some(program) = program else {
            return Ok(own.clone());
        };
        let peer = Peer::start(program)?;
        let version = peer.version();
        peers.push(peer);
        Ok(version)
    };
    let [old, new] = arguments.programs();
    match version(old).and_then(|old| Ok([old, version(new)?])) {
        Ok(versions) => Some((versions, peers)),
        Err(error) => {
            printer.error(report(&error));
            if let Some(hint) = error.hint() {
                printer.hint(hint);
            }
            None
        }
    }
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
