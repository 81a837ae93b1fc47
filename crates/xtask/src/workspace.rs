//! Metadata of this checkout, from Cargo and git.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The programs of the functions.
pub(crate) const FUNCTIONS: [&str; 7] = [
    "function-asya",
    "function-inject-sidecar",
    "function-render-deployment",
    "function-render-queue",
    "function-render-scaledobject",
    "function-report-status",
    "function-resolve-flavors",
];

/// The repository root, two folders above this package.
///
/// Read when the program runs, not when it is compiled: two checkouts may share a target folder.
pub(crate) fn root() -> Result<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .context("CARGO_MANIFEST_DIR is not set: start this program with `cargo xtask`")?;
    let root = package.ancestors().nth(2).with_context(|| {
        format!(
            "`{}` is not two folders below the repository root",
            package.display()
        )
    })?;
    Ok(root.to_owned())
}

/// The Cargo that started us, so that a toolchain chosen on the command line stays chosen.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The part of `cargo metadata` that tasks read.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// Every package of the dependency graph, members included.
    pub(crate) packages: Vec<Package>,
    /// Ids of our own packages.
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
    workspace_root: PathBuf,
    /// Folder of Cargo's output.
    pub(crate) target_directory: PathBuf,
}

/// One package of the dependency graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, or licences between slashes as was once the custom.
    pub(crate) license: Option<String>,
    manifest_path: PathBuf,
    /// As declared in its manifest; features that are off do not matter here.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependency tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Absent for an ordinary dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// True if only a feature brings it.
    #[serde(default)]
    pub(crate) optional: bool,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    features: Vec<String>,
}

impl Metadata {
    /// Asks Cargo, with all features on, so that no feature hides a dependency.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let text = output_of(
            Command::new(cargo())
                .args([
                    "metadata",
                    "--format-version=1",
                    "--all-features",
                    "--quiet",
                ])
                .current_dir(root),
        )?;
        serde_json::from_slice(&text).context("cannot read what `cargo metadata` printed")
    }

    /// Our own packages.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The package's `Cargo.toml`, relative to the repository root.
    pub(crate) fn manifest_of(&self, package: &Package) -> String {
        let path = &package.manifest_path;
        path.strip_prefix(&self.workspace_root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Features that are on for the packages called `name`, whichever package turned them on.
    pub(crate) fn features_of(&self, name: &str) -> BTreeSet<&str> {
        let ids: BTreeSet<&str> = self
            .packages
            .iter()
            .filter(|package| package.name == name)
            .map(|package| package.id.as_str())
            .collect();
        self.resolve
            .nodes
            .iter()
            .filter(|node| ids.contains(node.id.as_str()))
            .flat_map(|node| node.features.iter().map(String::as_str))
            .collect()
    }
}

/// Files that are in git or would be with `git add --all`, relative to the root, sorted.
pub(crate) fn files(root: &Path) -> Result<BTreeSet<String>> {
    let listing = output_of(
        Command::new("git")
            .args([
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "-z",
            ])
            .current_dir(root),
    )?;
    Ok(String::from_utf8_lossy(&listing)
        .split_terminator('\0')
        .map(str::to_owned)
        .collect())
}

/// Standard output of a command that must succeed; its first line of complaint otherwise.
pub(crate) fn output_of(command: &mut Command) -> Result<Vec<u8>> {
    let shown = shown(command);
    let output = command
        .output()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let line = complaint.lines().next().unwrap_or("it printed nothing");
        bail!("`{shown}` ended with {}: {line}", output.status);
    }
    Ok(output.stdout)
}

/// A command as one would type it, the program without its folder.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_else(|| command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|argument| argument.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
