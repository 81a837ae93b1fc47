//! One cluster on this machine: its folder, namespaces and cgroups.
//!
//! All processes are in network, mount and PID namespaces of their own. When the first process of the
//! PID namespace is killed, the kernel ends all others and removes the mounts. What remains is the
//! state folder and the cgroups, which [`Instance::remove`] deletes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::address::{NODE, REGISTRY_PORT, SERVICES};
use super::poll::until;
use crate::cannot;
use crate::real::Cache;

/// Root of the cgroup hierarchies, one for each controller (cgroup v1).
const CGROUPS: &str = "/sys/fs/cgroup";

/// Script of the first process inside.
const INIT: &str = include_str!("init.sh");

/// Timeout of the namespaces' creation and of the cgroups' deletion.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A cluster by its name, which need not run.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) name: String,
    /// Folder of all its files.
    pub(super) state: PathBuf,
    /// Folder of the real components.
    pub(super) components: PathBuf,
}

impl Instance {
    /// The cluster of that name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let cache = Cache::from_environment()?;
        let state = cache.dir().join("clusters").join(name);
        // Other folders are mounted over these inside.
        for hidden in ["/run", "/var/lib", "/var/log"] {
            if state.starts_with(hidden) {
                bail!(
                    "a cluster's files cannot be below {hidden}: set {} to another folder",
                    crate::real::DIR_VARIABLE
                );
            }
        }
        Ok(Self {
            name: name.to_owned(),
            state,
            components: cache.dir().to_owned(),
        })
    }

    /// A file or folder of its state.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    /// A real component's program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.components.join("bin").join(name)
    }

    /// The kubeconfig of a cluster-admin.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.path("admin.kubeconfig")
    }

    /// Name of its cgroup in every hierarchy.
    pub(super) fn cgroup(&self) -> String {
        format!("asya-cluster-{}", self.name)
    }

    /// Process id of the first process inside, as seen from outside, if it runs.
    pub(super) fn first_process(&self) -> Option<u32> {
        let text = fs::read_to_string(self.path("first-process")).ok()?;
        let (id, start) = text.trim().split_once(' ')?;
        let id = id.parse().ok()?;
        (start_of(id).as_deref() == Some(start)).then_some(id)
    }

    /// The first process inside.
    ///
    /// # Errors
    /// If the cluster is not up.
    pub(super) fn running(&self) -> Result<u32> {
        self.first_process().with_context(|| {
            format!(
                "cluster {:?} is not up: run `cargo xtask cluster up`",
                self.name
            )
        })
    }

    /// A command that runs inside, in the current folder, with the cluster's kubeconfig.
    ///
    /// # Errors
    /// If the cluster is not up.
    pub(super) fn enter(&self) -> Result<Command> {
        let first = self.running()?;
        let folder = std::env::current_dir().context("cannot find the current folder")?;
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &first.to_string()])
            .args(["--net", "--mount", "--pid"])
            .arg(format!("--wd={}", folder.display()))
            .env("KUBECONFIG", self.kubeconfig());
        Ok(command)
    }

    /// Creates cgroups and namespaces; the files must exist.
    pub(super) fn create_namespaces(&self) -> Result<()> {
        self.create_cgroups()?;
        let log = self.path("log/init.log");
        let output = fs::File::create(&log).with_context(|| cannot("create", &log))?;
        let errors = output.try_clone().with_context(|| cannot("write", &log))?;
        let mut outer = Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
            .args(["--mount-proc", "sh", "-c", INIT, "asya-cluster"])
            .arg(&self.state)
            .args([NODE, SERVICES, &REGISTRY_PORT.to_string()])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .current_dir("/")
            // It stays when this program ends, or is interrupted at a terminal.
            .process_group(0)
            .spawn()
            .context("cannot start `unshare`")?;
        let first = self.wait_for_first_process(&mut outer)?;
        let start = start_of(first).context("the cluster's first process has ended")?;
        let path = self.path("first-process");
        fs::write(&path, format!("{first} {start}\n")).with_context(|| cannot("write", &path))
    }

    fn wait_for_first_process(&self, outer: &mut Child) -> Result<u32> {
        until("the cluster's namespaces exist", TIMEOUT, || {
            if self.path("ready").exists() {
                return Ok(Ok(()));
            }
            let log = fs::read_to_string(self.path("log/init.log")).unwrap_or_default();
            let log = log.trim();
            let has_ended = outer.try_wait().context("cannot wait for `unshare`")?;
            if let Some(status) = has_ended {
                bail!(
                    "cannot create the cluster's namespaces: `unshare` ended with {status}: {log}"
                );
            }
            Ok(Err(log.to_owned()))
        })?;
        let id = outer.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let text =
            fs::read_to_string(&children).with_context(|| cannot("read", Path::new(&children)))?;
        let first = text
            .split_whitespace()
            .next()
            .and_then(|id| id.parse().ok());
        first.context("`unshare` has no child")
    }

    /// Ends all processes, and removes cgroups and files.
    pub(super) fn remove(&self) -> Result<()> {
        if let Some(first) = self.first_process() {
            let killed = Command::new("kill")
                .args(["-KILL", &first.to_string()])
                .status()
                .context("cannot start `kill`")?;
            if !killed.success() {
                bail!("cannot end process {first}: `kill` ended with {killed}");
            }
            until("the cluster's processes have ended", TIMEOUT, || {
                let first = self.first_process();
                Ok(first.map_or(Ok(()), |id| Err(format!("process {id}"))))
            })?;
        }
        self.remove_cgroups()?;
        match fs::remove_dir_all(&self.state) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| cannot("remove", &self.state))
            }
            _ => Ok(()),
        }
    }

    fn create_cgroups(&self) -> Result<()> {
        for hierarchy in hierarchies()? {
            let own = hierarchy.join(self.cgroup());
            fs::create_dir_all(&own).with_context(|| cannot("create", &own))?;
            // A new cpuset is empty, and nothing can run in it.
            for file in ["cpuset.cpus", "cpuset.mems"] {
                if own.join(file).exists() {
                    let path = hierarchy.join(file);
                    let value = fs::read(&path).with_context(|| cannot("read", &path))?;
                    let path = own.join(file);
                    fs::write(&path, value).with_context(|| cannot("write", &path))?;
                }
            }
        }
        Ok(())
    }

    fn remove_cgroups(&self) -> Result<()> {
        for hierarchy in hierarchies()? {
            let own = hierarchy.join(self.cgroup());
            // A process that has just been killed is in its cgroup for a moment.
            until("the cluster's cgroups are empty", TIMEOUT, || {
                Ok(remove_tree(&own)
                    .map_err(|error| cannot("remove", &own) + &format!(": {error}")))
            })?;
        }
        Ok(())
    }
}

fn hierarchies() -> Result<Vec<PathBuf>> {
    let root = Path::new(CGROUPS);
    let entries = fs::read_dir(root).with_context(|| cannot("read", root))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| cannot("read", root))?.path();
        // Links are second names of a hierarchy.
        if path.is_dir() && !path.is_symlink() && path.join("cgroup.procs").exists() {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes a cgroup with those below it; a missing one is fine. Their files cannot be deleted.
fn remove_tree(folder: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_tree(&path)?;
        }
    }
    fs::remove_dir(folder)
}

/// Start time of a process in clock ticks: a later process with the same id has another.
fn start_of(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program is in parentheses and may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // A zombie has ended.
    let (state, start) = (fields.first()?, fields.get(19)?);
    (*state != "Z").then(|| (*start).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_id_and_start() {
        let folder = tempfile::tempdir().unwrap();
        let instance = Instance {
            name: "x".to_owned(),
            state: folder.path().to_owned(),
            components: PathBuf::new(),
        };
        assert_eq!(instance.first_process(), None, "no file");
        let id = std::process::id();
        let start = start_of(id).unwrap();
        for (reason, text, expected) in [
            ("itself", format!("{id} {start}\n"), Some(id)),
            ("the id was given to another", format!("{id} 1\n"), None),
            ("half a file", id.to_string(), None),
        ] {
            fs::write(instance.path("first-process"), text).unwrap();
            assert_eq!(instance.first_process(), expected, "{reason}");
        }
    }
}
