//! `asya install`.

use std::io;

use function_kit::report;

use crate::cli::Install;
use crate::install::{Manifest, OwnerId, Part, manifests};
use crate::kubectl::{Answer, KubectlError};
use crate::printer::Printer;
use crate::visible::visible;

use super::ExitStatus;

pub(super) fn run(arguments: &Install, printer: &Printer) -> io::Result<ExitStatus> {
    let mut wanted = arguments.wanted();
    let samples = [Part::Platform, Part::ProviderConfig];
    let has_sample = samples.iter().any(|part| wanted.parts.contains(part));
    if arguments.apply && wanted.owner_id.is_none() && has_sample {
        match cluster_id(arguments) {
            Ok(id) => wanted.owner_id = Some(id),
            Err(error) => {
                printer.error(format_args!("no id of the cluster for ownerID: {error}"));
                printer
                    .hint("give it with --owner-id, unique among the clusters that use the broker");
                return Ok(ExitStatus::Error);
            }
        }
    }
    let manifests = match manifests(&wanted) {
        Ok(manifests) => manifests,
        Err(error) => {
            printer.error(&error);
            if let Some(hint) = error.hint() {
                printer.hint(hint);
            }
            return Ok(ExitStatus::Error);
        }
    };
    if arguments.apply {
        return apply(arguments, &manifests, printer);
    }
    let texts: Vec<&str> = manifests
        .iter()
        .map(|manifest| manifest.text.as_str())
        .collect();
    printer.data(&texts.join("---\n"))?;
    if has_sample && wanted.owner_id.is_none() {
        printer.warning(
            "two clusters with this ownerID on one broker would delete each other's queues: edit it, or \
             give --owner-id",
        );
    }
    Ok(ExitStatus::Success)
}

/// Owner of queues: the id of the cluster.
fn cluster_id(arguments: &Install) -> Result<OwnerId, String> {
    let answer = arguments
        .kubectl()
        .cluster_id()
        .map_err(|error| report(&error))?;
    answer
        .outcome
        .map_err(|error| format!("{}: {}", report(&error), answer.stderr.trim()))?;
    let id = answer.output.trim().parse::<OwnerId>();
    id.map_err(ToOwned::to_owned)
}

/// Applies the parts in their order, each once its packages are healthy.
fn apply(arguments: &Install, manifests: &[Manifest], printer: &Printer) -> io::Result<ExitStatus> {
    let kubectl = arguments.kubectl();
    let mut awaited: &[Vec<String>] = &[];
    for manifest in manifests {
        if manifest.part.needs_packages() && !awaited.is_empty() {
            printer.note("waiting until the packages are healthy, up to 5 minutes");
            for call in awaited {
                let progress = printer.progress("waiting for the packages");
                let answer = kubectl.wait(call);
                drop(progress);
                if let Err(error) = relayed(answer, printer)? {
                    printer.error(report(&error));
                    printer.hint("kubectl describe shows why a package is not healthy; objects that are applied stay");
                    return Ok(ExitStatus::Error);
                }
            }
            awaited = &[];
        }
        let part = manifest.part.name();
        let progress = printer.progress(&format!("applying part {part:?}"));
        let answer = kubectl.apply(&manifest.text);
        drop(progress);
        if let Err(error) = relayed(answer, printer)? {
            printer.error(format_args!("part {part:?}: {}", report(&error)));
            return Ok(ExitStatus::Error);
        }
        if !manifest.then.is_empty() {
            awaited = &manifest.then;
        }
    }
    Ok(ExitStatus::Success)
}

/// Writes the output of kubectl; returns its outcome.
fn relayed(
    answer: Result<Answer, KubectlError>,
    printer: &Printer,
) -> io::Result<Result<(), KubectlError>> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return Ok(Err(error)),
    };
    printer.relay(&answer.stderr);
    printer.data(&visible(&answer.output))?;
    Ok(answer.outcome)
}
