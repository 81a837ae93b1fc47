//! Our packages, as `cargo xtask package` makes them, with stand-ins for the programs in them: a
//! static build of all takes many minutes, and what runs is never taken out of an image here.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::function::PROGRAMS;
use crate::program::{self, repository};

/// Number of amd64 in ELF.
pub const AMD64: u16 = 62;

/// Number of arm64 in ELF.
pub const ARM64: u16 = 183;

/// The sidecar, which has an image and no package.
pub const SIDECAR: &str = "asya-sidecar";

/// Every program that has a package.
pub fn programs() -> impl Iterator<Item = &'static str> {
    PROGRAMS.into_iter().chain(["provider-asya"])
}

/// The file with a Configuration's package metadata: the main one's is at the top of the repository.
pub fn metadata_of(configuration: &str) -> String {
    match configuration {
        "asya" => "crossplane.yaml".to_owned(),
        other => format!("package/{other}/crossplane.yaml"),
    }
}

/// A folder with a program for that machine under each name, headers without a body; no two are
/// alike.
///
/// # Panics
/// When it cannot be written.
pub fn stand_ins(machine: u16) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in programs().chain([SIDECAR]) {
        let mut bytes = vec![0; 64];
        bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
        bytes[16..18].copy_from_slice(&2_u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20..24].copy_from_slice(&1_u32.to_le_bytes());
        bytes[52..54].copy_from_slice(&64_u16.to_le_bytes());
        bytes.extend(name.as_bytes());
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    folder
}

/// Runs `cargo xtask package` for a registry.
///
/// # Panics
/// When it does not start.
pub fn package(registry: &str, output: &Path, arguments: &[&str]) -> Output {
    Command::new(program::path("xtask"))
        .args(["package", "--registry", registry, "--output"])
        .arg(output)
        .args(arguments)
        .env("CARGO_MANIFEST_DIR", repository().join("crates/xtask"))
        .output()
        .expect("xtask starts")
}
