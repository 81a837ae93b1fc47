//! `asya init`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::cli::{Init, Program};
use crate::init::{File, files};
use crate::printer::Printer;

use super::ExitStatus;

pub(super) fn run(arguments: &Init, printer: &Printer) -> io::Result<ExitStatus> {
    let program = Program::called();
    let folder = &arguments.folder;
    let shown = folder.display().to_string();
    let files = files(&arguments.first());
    let is_there = |file: &&File| folder.join(file.name).symlink_metadata().is_ok();
    let there: Vec<&str> = files
        .iter()
        .filter(is_there)
        .map(|file| file.name)
        .collect();
    if !there.is_empty() {
        let there = there.join(", ");
        printer.error(format_args!(
            "folder {shown:?} has {there} already, which would be overwritten"
        ));
        printer.hint(format_args!(
            "give a folder that is new: {} init FOLDER",
            program.typed()
        ));
        return Ok(ExitStatus::Failure);
    }
    if let Err(error) = write(folder, &files) {
        printer.error(format_args!("cannot write to folder {shown:?}: {error}"));
        return Ok(ExitStatus::Error);
    }
    printer.data(&told(program, folder, &files))?;
    Ok(ExitStatus::Success)
}

/// Writes new files alone: one that has come in the meantime is an error.
fn write(folder: &Path, files: &[File]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for file in files {
        let path = folder.join(file.name);
        let mut new = OpenOptions::new().write(true).create_new(true).open(path)?;
        new.write_all(file.text.as_bytes())?;
    }
    Ok(())
}

/// What was written, and what can be done with it.
fn told(program: Program, folder: &Path, files: &[File]) -> String {
    let shown = folder.display();
    let written = files
        .iter()
        .map(|file| format!("{}: {}", folder.join(file.name).display(), file.holds));
    let next = [
        ("render", "everything that the actor is made of"),
        ("explain", "who set each of its fields"),
        ("lint", "what is wrong with it"),
        ("test", "whether the flavor does what it must"),
    ];
    let next = next.map(|(command, what)| (format!("{} {command} {shown}", program.typed()), what));
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
