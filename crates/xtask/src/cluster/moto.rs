//! moto's server in a virtual environment beside the real components, where the tests install it too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cannot;
use crate::workspace::output_of;

/// Installs moto at its pinned version unless it is there, and returns its program.
pub(super) fn program(root: &Path, components: &Path) -> Result<PathBuf> {
    let requirements = root.join("crates/test-cluster/moto-requirements.txt");
    let pinned =
        fs::read_to_string(&requirements).with_context(|| cannot("read", &requirements))?;
    let folder = components.join("moto");
    fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
    let lock = folder.join("lock");
    let file = File::create(&lock).with_context(|| cannot("create", &lock))?;
    file.lock().with_context(|| cannot("lock", &lock))?;
    let stamp = folder.join("requirements.txt");
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == pinned) {
        output_of(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        output_of(pip.args(["install", "--quiet", "-r"]).arg(&requirements))?;
        fs::write(&stamp, pinned).with_context(|| cannot("write", &stamp))?;
    }
    Ok(folder.join("bin/moto_server"))
}
