//! The CLI as an archive for download.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};
use tar::{Builder, Header};

use super::sums;
use super::target::{Os, Target};
use super::version::Version;
use crate::cannot;
use crate::package::{Platform, build_static};
use crate::workspace::{self, Metadata, shown};

/// The program, and its name in the archive.
const PROGRAM: &str = "asya";

/// Other files of the archive, relative to the repository.
const FILES: [&str; 2] = ["LICENSE", "README.md"];

/// An archive that is written.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) target: Target,
    /// Name of the file.
    pub(super) name: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub(super) digest: String,
}

impl Archive {
    /// Writes the archive of a program. The same files give the same bytes.
    pub(super) fn write(
        root: &Path,
        folder: &Path,
        version: &Version,
        target: Target,
        program: &Path,
    ) -> Result<Self> {
        let mut files = vec![(PROGRAM, 0o755, program.to_owned())];
        files.extend(FILES.map(|name| (name, 0o644, root.join(name))));
        let gzip = GzBuilder::new().write(Vec::new(), Compression::best());
        let mut tar = Builder::new(gzip);
        for (name, mode, path) in files {
            let content = fs::read(&path).with_context(|| cannot("read", &path))?;
            let mut header = Header::new_ustar();
            header.set_mode(mode);
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, name, content.as_slice())
                .with_context(|| cannot("pack", &path))?;
        }
        let bytes = tar.into_inner().and_then(flate2::write::GzEncoder::finish);
        let bytes = bytes.context("cannot compress the archive of the CLI")?;
        let name = format!("asya-v{version}-{target}.tar.gz");
        let path = folder.join(&name);
        fs::write(&path, &bytes).with_context(|| cannot("write", &path))?;
        Ok(Self {
            target,
            name,
            digest: sums::of(&bytes),
        })
    }
}

/// Builds the CLI for this machine: on Linux without shared libraries, so that it runs on every
/// distribution.
pub(super) fn build(
    root: &Path,
    metadata: &Metadata,
    target: Target,
    profile: &str,
) -> Result<PathBuf> {
    if let (Os::Linux, Some(platform)) = (target.os, Platform::of_this_machine()) {
        let folder = build_static(root, metadata, &[PROGRAM], platform, profile)?;
        return Ok(folder.join(PROGRAM));
    }
    let mut command = Command::new(workspace::cargo());
    command
        .args([
            "build",
            "--locked",
            "--package",
            PROGRAM,
            "--profile",
            profile,
        ])
        .current_dir(root);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(&command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(&command));
    }
    Ok(metadata.target_directory.join(profile).join(PROGRAM))
}
