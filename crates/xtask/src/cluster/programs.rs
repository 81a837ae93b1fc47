//! Our own programs for images that have nothing else in them, built in a few minutes.
//!
//! `cargo xtask package` builds every dependency again with a static C library. That library matters to
//! the linker only, so here Cargo builds our own crates again and takes the dependencies from the build
//! of the tests: the wrapper that adds the linker's option is asked for our own crates only.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cannot;
use crate::workspace::{self, FUNCTIONS, Metadata, shown};

/// Links programs statically and without symbols; libraries are compiled as always.
const WRAPPER: &str = r#"#!/bin/sh
case " $* " in
*" --print="*) ;; # Cargo asks what the target can do
*" --crate-type bin "*) set -- "$@" -C target-feature=+crt-static -C strip=symbols ;;
esac
exec "$@"
"#;

/// Programs beside those of functions: the CLI is for people, the others run in pods.
const OTHERS: [&str; 3] = ["asya", "asya-sidecar", "provider-asya"];

/// Builds the programs, and returns the folder with them and nothing else.
pub(super) fn build(root: &Path, metadata: &Metadata) -> Result<PathBuf> {
    let target = &metadata.target_directory;
    let folder = target.join("cluster");
    fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
    let wrapper = target.join("rustc-for-static-programs");
    // Cargo builds everything again if it is newer than what was built.
    if !fs::read_to_string(&wrapper).is_ok_and(|text| text == WRAPPER) {
        fs::write(&wrapper, WRAPPER).with_context(|| cannot("write", &wrapper))?;
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))
            .with_context(|| cannot("change", &wrapper))?;
    }
    let names: Vec<&str> = FUNCTIONS.into_iter().chain(OTHERS).collect();
    let mut command = Command::new(workspace::cargo());
    command
        .args(["build", "--workspace", "--all-features", "--locked"])
        .args(names.iter().flat_map(|name| ["--bin", name]))
        .env("RUSTC_WORKSPACE_WRAPPER", &wrapper)
        .current_dir(root);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(&command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", shown(&command));
    }
    for name in names {
        let (from, to) = (target.join("debug").join(name), folder.join(name));
        fs::copy(&from, &to).with_context(|| cannot("copy", &from))?;
    }
    Ok(folder)
}
