//! Pins of a component: its version, its linker flags, and a digest of both.

use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::components::Component;
use super::go_version::GoVersion;
use crate::cannot;

/// A component with the pins in its folder.
#[derive(Debug)]
pub(crate) struct Pins {
    pub(crate) component: &'static Component,
    /// The folder itself, where Go is run.
    pub(crate) folder: PathBuf,
    /// True if it is the folder of the component's module, with the pins of its authors.
    pub(crate) is_module: bool,
    /// Version of the component's module, such as `v2.3.4`.
    pub(crate) version: String,
    /// The least Go that `go.mod` asks for.
    pub(crate) go: GoVersion,
    /// For the Go linker.
    pub(crate) ldflags: String,
    /// Hexadecimal SHA-256 of everything that decides what is built, except the Go toolchain.
    pub(crate) digest: String,
}

impl Pins {
    /// Reads the component's folder below `folders`.
    pub(crate) fn read(folders: &Path, component: &'static Component) -> Result<Self> {
        let folder = folders.join(component.folder);
        let go_mod_path = folder.join("go.mod");
        let go_mod = read(&go_mod_path)?;
        let go_sum = read(&folder.join("go.sum"))?;
        let version = required_version(&go_mod, component.module)
            .with_context(|| {
                format!(
                    "`{}` requires no {}",
                    go_mod_path.display(),
                    component.module
                )
            })?
            .to_owned();
        let go = go_directive(&go_mod)
            .with_context(|| format!("`{}` has no go directive", go_mod_path.display()))?;
        let ldflags = ldflags(component.part.variables(), &version);
        let own_files = own_files(&folder)?;
        let mut parts = vec![&*go_mod, &go_sum, component.part.source(), &ldflags];
        parts.extend(own_files.iter().map(String::as_str));
        let digest = digest(&parts);
        Ok(Self {
            component,
            folder,
            is_module: false,
            version,
            go,
            ldflags,
            digest,
        })
    }

    /// The component at another version, with the pins of its authors: `folder` is that of its module.
    pub(crate) fn of_module(
        component: &'static Component,
        version: &str,
        folder: PathBuf,
    ) -> Result<Self> {
        let go_mod_path = folder.join("go.mod");
        let go_mod = read(&go_mod_path)?;
        let go = go_directive(&go_mod)
            .with_context(|| format!("`{}` has no go directive", go_mod_path.display()))?;
        let ldflags = ldflags(component.part.variables(), version);
        let digest = digest(&[&go_mod, component.part.source(), &ldflags]);
        Ok(Self {
            component,
            folder,
            is_module: true,
            version: version.to_owned(),
            go,
            ldflags,
            digest,
        })
    }
}

impl fmt::Display for Pins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.component.name, self.version)
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| cannot("read", path))
}

/// The Go files of a folder whose program is ours, by name.
fn own_files(folder: &Path) -> Result<Vec<String>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let mut files = list().with_context(|| cannot("read", folder))?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "go"));
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

/// The version in a `require` of `module`, in a block or on a line of its own.
fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("require ").unwrap_or(line);
        let mut fields = line.split_whitespace();
        let found = fields.next()? == module;
        // A `replace` has `=>` in this place.
        fields
            .next()
            .filter(|field| found && field.starts_with('v'))
    })
}

fn go_directive(go_mod: &str) -> Option<GoVersion> {
    go_mod
        .lines()
        .find_map(|line| line.strip_prefix("go ")?.trim().parse().ok())
}

/// Without symbol table and debug data, which no test reads and which double the size.
fn ldflags(variables: &[(&str, &str)], version: &str) -> String {
    let mut flags = "-s -w".to_owned();
    for (variable, value) in variables {
        flags.push_str(" -X ");
        flags.push_str(variable);
        flags.push('=');
        flags.push_str(&value.replace("{version}", version));
    }
    flags
}

/// Each part is preceded by its length, so that no two lists of parts have the same bytes.
fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher
        .finalize()
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::components::COMPONENTS;

    #[test]
    fn the_version_is_found_however_go_mod_requires_it() {
        let module = "example.org/a";
        let cases = [
            (
                "in a block",
                "require (\n\texample.org/a v1.2.3\n)\n",
                Some("v1.2.3"),
            ),
            (
                "indirect",
                "\texample.org/a v1.2.3 // indirect\n",
                Some("v1.2.3"),
            ),
            (
                "on one line",
                "require example.org/a v1.2.3\n",
                Some("v1.2.3"),
            ),
            ("a longer name", "\texample.org/a/b v9.9.9\n", None),
            ("a tool only", "tool example.org/a\n", None),
            ("a replace only", "\texample.org/a => ./local\n", None),
            ("nothing", "", None),
        ];
        for (reason, go_mod, expected) in cases {
            assert_eq!(required_version(go_mod, module), expected, "{reason}");
        }
    }

    #[test]
    fn the_digest_keeps_parts_apart() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["ab", ""]), digest(&["a", "b"]));
        assert_eq!(digest(&[]).len(), 64);
    }

    #[test]
    fn every_component_is_pinned_with_a_checksum() {
        let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("real");
        for component in COMPONENTS {
            let pins = Pins::read(&folders, component).unwrap();
            let line = format!("{} {} h1:", component.module, pins.version);
            assert!(
                read(&pins.folder.join("go.sum")).unwrap().contains(&line),
                "{pins}"
            );
            let knows_its_version = !component.part.variables().is_empty();
            assert!(
                !knows_its_version || pins.ldflags.contains(&pins.version),
                "{pins}: {}",
                pins.ldflags
            );
        }
    }
}
