//! `asya docs`, `asya schema` and `asya version`.

use std::io;

use serde_json::json;

use crate::cli::{Docs, Schema, Version};
use crate::docs::{docs, text};
use crate::inputs::{Cluster, components, packages};
use crate::printer::Printer;
use crate::schema::of;
use crate::visible::visible_line;

use super::{ExitStatus, failed, unusable};

/// Runs `asya docs`.
pub(super) fn field(arguments: &Docs, printer: &Printer) -> io::Result<ExitStatus> {
    match docs(&arguments.field) {
        Ok(docs) => printer.data(&text(&docs)).map(|()| ExitStatus::Success),
        Err(error) => {
            printer.error(&error);
            if error.meant.is_none() {
                printer.hint(format_args!("asya docs {} lists its fields", error.parent));
            }
            Ok(ExitStatus::Failure)
        }
    }
}

/// Runs `asya schema`.
pub(super) fn schema(arguments: &Schema, printer: &Printer) -> io::Result<ExitStatus> {
    match serde_json::to_string_pretty(&of(arguments.document)) {
        Ok(text) => printer.data(&(text + "\n")).map(|()| ExitStatus::Success),
        Err(error) => Ok(failed("JSON", &error, printer)),
    }
}

/// Runs `asya version`.
pub(super) fn version(arguments: Version, printer: &Printer) -> io::Result<ExitStatus> {
    let own = env!("CARGO_PKG_VERSION");
    let mut found = Vec::new();
    let installed = if arguments.client {
        Vec::new()
    } else {
        let cluster = Cluster {
            context: arguments.context,
            ..Cluster::default()
        };
        match packages(&cluster) {
            Ok(packages) => {
                found = components(&cluster);
                packages
            }
            Err(error) => {
                printer.data(&format!("asya {own}\n"))?;
                let status = unusable(&error, printer);
                printer.note("--client prints the version of this program alone");
                return Ok(status);
            }
        }
    };
    let text = if arguments.json {
        let packages = installed.iter().map(|package| {
            json!({
                "kind": package.kind, "name": package.name, "version": package.version,
                "healthy": package.healthy,
            })
        });
        let components = found
            .iter()
            .map(|it| (it.name.to_lowercase(), json!(it.version)));
        let components: serde_json::Map<_, _> = components.collect();
        let document = json!({
            "asya": own, "cluster": components, "packages": packages.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    } else {
        let mut text = format!("asya {own}\n");
        for component in &found {
            let version = component.version.as_deref().unwrap_or("not found");
            text.push_str(&format!("{} {}\n", component.name, visible_line(version)));
        }
        for package in &installed {
            let health = match package.healthy {
                Some(true) => "healthy",
                Some(false) => "not healthy",
                None => "health unknown",
            };
            let line = format!(
                "{} {} {}, {health}",
                package.kind, package.name, package.version
            );
            text.push_str(&format!("{}\n", visible_line(&line)));
        }
        text
    };
    printer.data(&text)?;
    for package in &installed {
        if package.version.trim_start_matches('v') != own {
            printer.warning(format_args!(
                "{} {} has version {}, this program {own}",
                package.kind, package.name, package.version
            ));
        }
    }
    Ok(ExitStatus::Success)
}
