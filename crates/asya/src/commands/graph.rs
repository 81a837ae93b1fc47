//! `asya graph`.

use std::io;
use std::sync::Arc;

use actor::platform::{EndActors, Platform};
use pipeline::{Inputs, Object};

use crate::cli::{Graph as Arguments, GraphForm};
use crate::graph::{Actor, Graph, dot, json, live, mermaid, rendered, tree};
use crate::inputs::{self, InputError, Summary, live_objects, routes};
use crate::ordered;
use crate::printer::Printer;

use super::foreign::Skipped;
use super::{ExitStatus, failed, functions, refuse, refuse_all, unusable};

pub(super) fn run(arguments: &Arguments, printer: &Printer) -> io::Result<ExitStatus> {
    let mut all_routes = arguments.routes();
    for file in &arguments.messages {
        match routes(file) {
            Ok(found) => all_routes.extend(found),
            Err(error) => return Ok(unusable(&error, printer)),
        }
    }
    all_routes.sort();
    all_routes.dedup();
    let read = if arguments.cluster {
        of_cluster(arguments, printer)
    } else {
        of_files(arguments, printer)
    };
    let (actors, ends, summary, mut status) = match read {
        Ok(Some(read)) => read,
        Ok(None) => return Ok(ExitStatus::Error),
        Err(error) => return Ok(unusable(&error, printer)),
    };
    let graph = Graph::new(actors, all_routes, ends);
    for name in graph.unknown() {
        printer.warning(format_args!(
            "no actor among the input is called {name:?} in a route"
        ));
        let known = graph.actors.iter().map(|actor| actor.route_name.as_str());
        if let Some(meant) = crate::nearest::nearest(name, known) {
            printer.hint(format_args!("did you mean {meant:?}?"));
        }
        status = status.max(ExitStatus::Failure);
    }
    if graph.actors.iter().any(|actor| actor.problem.is_some()) {
        status = status.max(ExitStatus::Failure);
    }
    let text = match arguments.output {
        GraphForm::Tree => tree(&graph),
        GraphForm::Mermaid => mermaid(&graph),
        GraphForm::Dot => dot(&graph),
        GraphForm::Json => match serde_json::to_string_pretty(&json(&graph)) {
            Ok(text) => text + "\n",
            Err(error) => return Ok(failed("JSON", &error, printer)),
        },
    };
    printer.data(&text)?;
    printer.summary(summary);
    Ok(status)
}

type Read = (Vec<Actor>, EndActors, Summary, ExitStatus);

fn of_files(arguments: &Arguments, printer: &Printer) -> Result<Option<Read>, InputError> {
    let loaded = inputs::load(&arguments.arguments())?;
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    let mut status = refuse_all(&loaded.errors, printer);
    let Some(functions) = functions(printer) else {
        return Ok(None);
    };
    let mut actors = Vec::new();
    let mut ends = None;
    let mut skipped = Skipped::uncallable();
    let cases = loaded.cases.into_iter().map(|case| {
        let inputs = case.inputs;
        inputs.map(|inputs| skipped.without_unknown(inputs, &functions, printer))
    });
    let work = |inputs: Result<Inputs, InputError>| {
        let inputs = inputs?;
        let ends = end_actors(&inputs.required);
        Ok::<_, InputError>((rendered(&inputs, &functions), ends))
    };
    for result in ordered::all(cases, work) {
        match result {
            Ok((actor, own)) => {
                ends = ends.or(own);
                actors.push(actor);
            }
            Err(error) => status = status.max(refuse(&error, printer)),
        }
    }
    Ok(Some((
        actors,
        ends.unwrap_or_default(),
        loaded.summary,
        status,
    )))
}

fn of_cluster(arguments: &Arguments, printer: &Printer) -> Result<Option<Read>, InputError> {
    let progress = printer.progress("reading the cluster");
    let objects = live_objects(&arguments.query());
    drop(progress);
    let actors = live(&objects?.objects);
    if actors.is_empty() {
        printer.error("there are no actors");
        return Ok(None);
    }
    let summary = Summary {
        actors: actors.len(),
        ..Summary::default()
    };
    Ok(Some((
        actors,
        EndActors::default(),
        summary,
        ExitStatus::Success,
    )))
}

/// The end actors of the platform's settings, if these are among the objects.
fn end_actors(objects: &[Arc<Object>]) -> Option<EndActors> {
    let mut settings = objects
        .iter()
        .filter(|object| object.name() == actor::names::PLATFORM);
    let data = settings.next()?.get(&["data"])?.clone();
    Platform::parse(data)
        .ok()
        .map(|platform| platform.end_actors)
}
