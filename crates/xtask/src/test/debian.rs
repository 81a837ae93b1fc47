//! Debian packages, installed without starting the servers in them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cannot;
use crate::workspace::shown;

/// The file that every Debian system has.
const MARKER: &str = "/etc/debian_version";

/// Debian's packages ask this script before they start a server.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Its exit code 101 forbids all of them: tests start their own servers, on loopback.
const FORBID: &str = "#!/bin/sh\nexit 101\n";

/// Installs packages; no server is started with them.
pub(super) fn install(packages: &[&str], out: &mut impl Write) -> Result<()> {
    if !Path::new(MARKER).is_file() {
        bail!(
            "--install-missing works on Debian only: install the equivalents of {}",
            packages.join(" ")
        );
    }
    writeln!(out, "installing {}", packages.join(" "))?;
    out.flush()?;
    let _policy = Policy::set(Path::new(POLICY)).context("--install-missing takes root")?;
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    run(Command::new("apt-get")
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!(
            "`{}` ended with {}: {}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(())
}

/// The script that forbids servers; it is removed with this value if it was not there before.
struct Policy(Option<PathBuf>);

impl Policy {
    fn set(path: &Path) -> Result<Self> {
        let created = fs::File::create_new(path);
        match created {
            Ok(mut file) => {
                let policy = Self(Some(path.to_owned()));
                file.write_all(FORBID.as_bytes())
                    .and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o755)))
                    .with_context(|| cannot("write", path))?;
                Ok(policy)
            }
            // The machine's own policy stays in force.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Self(None)),
            Err(error) => Err(error).with_context(|| cannot("create", path)),
        }
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_forbids_servers_while_it_is_set_and_is_removed_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy-rc.d");
        let policy = Policy::set(&path).unwrap();
        let status = Command::new(&path).status().unwrap();
        assert_eq!(status.code(), Some(101));
        drop(policy);
        assert!(!path.exists());
    }

    #[test]
    fn a_policy_of_the_machine_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy-rc.d");
        fs::write(&path, "theirs").unwrap();
        drop(Policy::set(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    }
}
