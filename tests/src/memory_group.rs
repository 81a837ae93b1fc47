//! A control group that limits memory, as a container's does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder of version 2, and of version 1 with the files for limit and processes.
const LAYOUTS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

/// A control group. It is removed when this value is dropped, after its processes have ended.
#[derive(Debug)]
pub(crate) struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Creates a group with this limit in bytes.
    ///
    /// # Errors
    /// Without a memory controller, or without the right to create groups.
    pub(crate) fn create(name: &str, limit: u64) -> io::Result<Self> {
        let mut error = io::Error::other("no memory controller");
        for (root, file) in LAYOUTS {
            let group = Path::new(root).join(format!("asya-test-{name}-{}", std::process::id()));
            match Self::create_at(&group, file, limit) {
                Ok(group) => return Ok(group),
                Err(found) => error = found,
            }
        }
        Err(error)
    }

    fn create_at(group: &Path, file: &str, limit: u64) -> io::Result<Self> {
        fs::create_dir(group)?;
        let group = Self(group.to_owned());
        let limit_file = group.0.join(file);
        if !limit_file.is_file() {
            return Err(io::Error::other(format!(
                "{} is missing",
                limit_file.display()
            )));
        }
        fs::write(limit_file, limit.to_string())?;
        Ok(group)
    }

    /// The file that takes the id of a process.
    pub(crate) fn processes(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.0));
    }
}
