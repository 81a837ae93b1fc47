//! A process of a component, with its log.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process, kill_process_group};

use crate::watchdog;

/// A running process and its children: one process group.
///
/// The group is killed when this value is dropped, or when the test program ends.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts the command with its output in `<folder>/<name>.log`.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(name: &str, command: &mut Command, folder: &Path) -> Self {
        let log = File::create(folder.join(format!("{name}.log"))).expect("a log file");
        let errors = log.try_clone().expect("a second handle of the log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        watchdog::started(child.id());
        Self {
            name: name.to_owned(),
            child,
        }
    }

    /// Fails if the process has ended, with the end of its log.
    ///
    /// # Panics
    /// Then.
    pub fn check(&mut self, folder: &Path) {
        if let Some(status) = self.exit_status() {
            let path = folder.join(format!("{}.log", self.name));
            let log = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(15).collect();
            panic!("{} ended with {status}: {lines:#?}", self.name);
        }
    }

    /// Sends a signal to the process, not to its children.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal)
            .unwrap_or_else(|error| panic!("{signal:?} to {}: {error}", self.name));
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.exit_status().is_some()
    }

    /// Its exit status, if it has ended.
    ///
    /// # Panics
    /// If the system does not answer.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the process can be asked")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Until the process is reaped, the system gives its id to no other. If it has ended by itself, its
        // children have, too.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            drop(self.child.wait());
        }
        watchdog::ended(self.child.id());
    }
}

/// Sends a signal to a process that is a child of a component, if it still runs.
pub fn signal(id: u32, signal: Signal) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    // One that has ended just now needs no signal.
    let _ = id.map(|id| kill_process(id, signal));
}
