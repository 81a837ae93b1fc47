//! `asya init`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::cli::{Init, Program};
use crate::init::{File, files};
use crate::printer::Printer;
use crate::visible::visible;

use super::ExitStatus;

pub(super) fn run(arguments: &Init, printer: &Printer) -> io::Result<ExitStatus> {
    let program = Program::called();
    let folder = &arguments.folder;
    let shown = folder.display().to_string();
    let files = files(&arguments.first());
    let is_there = |file: &File| folder.join(&file.name).symlink_metadata().is_ok();
    let (kept, new): (Vec<File>, Vec<File>) = files
        .into_iter()
        .partition(|file| file.is_optional && is_there(file));
    let there: Vec<&str> = new
        .iter()
        .filter(|file| is_there(file))
        .map(|file| file.name.as_str())
        .collect();
    if !there.is_empty() {
        let there = there.join(", ");
        printer.error(format_args!("folder {shown:?} already has {there}"));
        printer.hint(format_args!(
            "give a new folder: {} init FOLDER",
            program.typed()
        ));
        return Ok(ExitStatus::Failure);
    }
    for file in kept {
        printer.note(format_args!(
            "{} exists and is kept",
            folder.join(file.name).display()
        ));
    }
    if let Err(error) = write(folder, &new) {
        printer.error(format_args!("cannot write to folder {shown:?}: {error}"));
        return Ok(ExitStatus::Error);
    }
    printer.data(&visible(&summary(program, folder, &new)))?;
    Ok(ExitStatus::Success)
}

/// Writes new files only: a file that exists is an error.
fn write(folder: &Path, files: &[File]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for file in files {
        let path = folder.join(&file.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut new = OpenOptions::new().write(true).create_new(true).open(path)?;
        new.write_all(file.text.as_bytes())?;
    }
    Ok(())
}

/// The written files, and commands to try next.
fn summary(program: Program, folder: &Path, files: &[File]) -> String {
    let shown = folder.display();
    let written = files
        .iter()
        .map(|file| format!("{}: {}", folder.join(&file.name).display(), file.holds));
    let next = [
        (
            "run",
            " --send '{\"text\": \"hello\"}'",
            "a message through the handler",
        ),
        ("render", "", "all objects of the actor"),
        ("explain", "", "the origin of each field"),
        ("lint", "", "errors and warnings"),
        ("test", "", "the expectations in tests.yaml"),
    ];
    let next = next.map(|(command, more, what)| {
        (format!("{} {command} {shown}{more}", program.typed()), what)
    });
    let width = next
        .iter()
        .map(|(line, _)| line.len())
        .max()
        .unwrap_or_default();
    let next = next.map(|(line, what)| format!("  {line:width$}  {what}"));
    written
        .chain(["next:".to_owned()])
        .chain(next)
        .map(|line| line + "\n")
        .collect()
}
