//! The Go toolchain on this machine.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, anyhow, bail};

use super::components::Part;
use super::go_version::GoVersion;
use super::pins::Pins;
use crate::cannot;

/// Number of lines of a failed build that are shown.
const SHOWN_LINES: usize = 15;

/// A Go command.
pub(crate) struct Go {
    program: OsString,
}

impl Go {
    /// The `go` that a shell would find.
    pub(crate) fn on_path() -> Self {
        Self {
            program: "go".into(),
        }
    }

    #[cfg(test)]
    pub(crate) fn at(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
        }
    }

    /// Returns whether this Go is there and new enough for `pins`.
    pub(crate) fn check(&self, pins: &Pins) -> Result<()> {
        let name = pins.component.name;
        let needed = pins.go;
        // Beside the pins, not among them: an older Go refuses every command where a go.mod asks
        // for a newer one.
        let beside = pins.folder.join("..");
        let asked = self
            .command(pins)
            .current_dir(beside)
            .args(["env", "GOVERSION"])
            .output();
        let output = match asked {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "Go is not installed, but needed to build {name:?}: install Go {needed} or later"
            ),
            Err(error) => return Err(error).context("cannot start `go env GOVERSION`"),
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        let found: GoVersion = printed.trim().parse().map_err(|()| {
            anyhow!(
                "cannot read {:?} of `go env GOVERSION` as a version",
                printed.trim()
            )
        })?;
        if found < needed {
            bail!("Go {found} is too old to build {name:?}: install Go {needed} or later");
        }
        Ok(())
    }

    /// Makes the component as the file `output`.
    pub(crate) fn make(&self, pins: &Pins, output: &Path) -> Result<()> {
        match &pins.component.part {
            Part::Program { package, .. } => self.build(pins, package, output),
            Part::Definitions { folders } => self.collect(pins, folders, output),
        }
    }

    fn build(&self, pins: &Pins, package: &str, output: &Path) -> Result<()> {
        let built = self
            .command(pins)
            .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"])
            .args(["-ldflags", &pins.ldflags])
            .arg("-o")
            .arg(output)
            .arg(package)
            .output()
            .context("cannot start `go build`")?;
        if !built.status.success() {
            let lines = last_lines(&built);
            bail!(
                "`go build` of {package} ended with {}, its last lines:{lines}",
                built.status
            );
        }
        Ok(())
    }

    /// Writes the YAML files of some of the module's folders as one stream, each folder's by name.
    fn collect(&self, pins: &Pins, folders: &str, output: &Path) -> Result<()> {
        let module = self.module_folder(pins)?;
        let mut stream = String::new();
        for folder in folders.split(' ') {
            let folder = module.join(folder);
            for file in manifests(&folder).with_context(|| cannot("read", &folder))? {
                let text = fs::read_to_string(&file).with_context(|| cannot("read", &file))?;
                stream.push_str("---\n");
                stream.push_str(text.trim_start_matches("---\n"));
            }
        }
        fs::write(output, stream).with_context(|| cannot("write", output))
    }

    /// Returns the folder of the component's module in Go's cache, which is fetched if it is missing.
    pub(crate) fn module_folder(&self, pins: &Pins) -> Result<PathBuf> {
        if pins.is_module {
            return Ok(pins.folder.clone());
        }
        self.download(&pins.folder, pins.component.module)
    }

    /// Returns the folder of a module in Go's cache, which is fetched if it is missing: `module` at the version
    /// that the `go.mod` in `folder` requires, or `module@version`.
    pub(crate) fn download(&self, folder: &Path, module: &str) -> Result<PathBuf> {
        let output = self
            .command_in(folder)
            .args(["mod", "download", "-json", module])
            .output()
            .context("cannot start `go mod download`")?;
        if !output.status.success() {
            let lines = last_lines(&output);
            bail!(
                "`go mod download` of {module} ended with {}, its last lines:{lines}",
                output.status
            );
        }
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
            .context("cannot read the answer of `go mod download -json`")?;
        let folder = answer["Dir"].as_str();
        let folder =
            folder.with_context(|| format!("`go mod download` names no folder of {module}"))?;
        Ok(PathBuf::from(folder))
    }

    /// Go in the folder of the pins, and bound to them: no C compiler, no toolchain that Go would
    /// fetch by itself, no workspace file of some folder above.
    fn command(&self, pins: &Pins) -> Command {
        self.command_in(&pins.folder)
    }

    fn command_in(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off");
        command
    }
}

/// The YAML files of a folder, by name, without those that configure `kustomize`.
fn manifests(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|file| {
        let is_yaml = file.extension().is_some_and(|ending| ending == "yaml");
        is_yaml && !file.ends_with("kustomization.yaml")
    });
    files.sort();
    Ok(files)
}

/// The end of what a build printed, indented, less its download log.
fn last_lines(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("go: downloading "))
        .collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    lines
        .iter()
        .skip(skipped)
        .fold(String::new(), |shown, line| shown + "\n  " + line)
}
