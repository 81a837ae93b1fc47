//! The programs that go into images: built statically, or taken from a folder, and judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::LittleEndian;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::platform::Platform;
use crate::cannot;
use crate::workspace::{self, Metadata, shown};

/// Builds programs, each with everything that it needs in one file, and returns their folder.
///
/// # Errors
/// If the build fails.
pub(crate) fn build(
    root: &Path,
    metadata: &Metadata,
    names: &[&str],
    platform: Platform,
    profile: &str,
) -> Result<PathBuf> {
    let mut command = Command::new(workspace::cargo());
    command
        .args(["build", "--profile", profile, "--locked", "--bins"])
        .args(["--target", platform.target()])
        .args(names.iter().flat_map(|name| ["--package", name]))
        .env("RUSTFLAGS", rust_flags(root))
        .current_dir(root);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(&command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(&command));
    }
    Ok(metadata
        .target_directory
        .join(platform.target())
        .join(profile_folder(profile)))
}

/// Returns the folder of Cargo's output for a profile: its default has another name.
fn profile_folder(profile: &str) -> &str {
    match profile {
        "dev" => "debug",
        other => other,
    }
}

/// No C library in the image, and no path of this machine in the program.
fn rust_flags(root: &Path) -> String {
    let given = std::env::var("RUSTFLAGS").ok();
    let mut flags = Vec::from_iter(given);
    flags.push("-C target-feature=+crt-static".to_owned());
    let places = [(Some(root.to_owned()), "/asya"), (cargo_home(), "/cargo")];
    for (place, name) in places {
        flags.extend(place.map(|place| format!("--remap-path-prefix={}={name}", place.display())));
    }
    flags.join(" ")
}

/// Returns Cargo's home, which has the sources of other crates.
fn cargo_home() -> Option<PathBuf> {
    let of_user = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    let given = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    given.or_else(of_user)
}

/// A program that can run in an image that holds nothing else.
///
/// # Errors
/// When it cannot be read, is for another platform, or asks for an interpreter, which loads the
/// libraries of dynamic programs.
pub(super) fn read(folder: &Path, name: &str, platform: Platform) -> Result<Vec<u8>> {
    let path = folder.join(name);
    let program = fs::read(&path).with_context(|| cannot("read", &path))?;
    match problem(&program, platform) {
        Ok(None) => Ok(program),
        Ok(Some(problem)) => bail!("`{}` {problem}", path.display()),
        Err(error) => bail!("`{}` is no ELF program: {error}", path.display()),
    }
}

fn problem(program: &[u8], platform: Platform) -> object::read::Result<Option<String>> {
    let header = FileHeader64::<LittleEndian>::parse(program)?;
    let machine = header.e_machine(LittleEndian);
    if machine != platform.machine() {
        let message = format!("is for another machine (ELF number {machine}) than {platform}");
        return Ok(Some(message));
    }
    let segments = header.program_headers(LittleEndian, program)?;
    let is_dynamic = segments
        .iter()
        .any(|segment| segment.p_type(LittleEndian) == PT_INTERP);
    Ok(is_dynamic.then(|| {
        "needs libraries that its image would not have: build it with `-C target-feature=+crt-static`"
            .to_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a program with one segment of this type.
    fn program(machine: u16, segment: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        bytes[16..18].copy_from_slice(&2_u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20..24].copy_from_slice(&1_u32.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[52..54].copy_from_slice(&64_u16.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64..68].copy_from_slice(&segment.to_le_bytes());
        bytes
    }

    #[test]
    fn only_static_programs_of_the_platform_are_taken() {
        let cases: [(&str, Vec<u8>, Option<&str>); 4] = [
            ("static", program(62, 1), None),
            ("dynamic", program(62, PT_INTERP), Some("crt-static")),
            (
                "of another machine",
                program(183, 1),
                Some("ELF number 183"),
            ),
            (
                "a script",
                b"#!/bin/sh\n".to_vec(),
                Some("is no ELF program"),
            ),
        ];
        let folder = tempfile::tempdir().unwrap();
        for (reason, bytes, expected) in cases {
            fs::write(folder.path().join("function-x"), bytes).unwrap();
            let error = match read(folder.path(), "function-x", Platform::Amd64) {
                Ok(_) => String::new(),
                Err(error) => format!("{error:#}"),
            };
            match expected {
                None => assert_eq!(error, "", "{reason}"),
                Some(part) => assert!(error.contains(part), "{reason}: {error}"),
            }
        }
    }
}
