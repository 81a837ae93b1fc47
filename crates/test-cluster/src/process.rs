//! A process of the rig's own, and the ports and folders for it.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A running process. It is killed, by its id, when this value goes.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts the command with its output in `<folder>/<name>.log`.
    pub fn start(name: &str, command: &mut Command, folder: &Path) -> Self {
        let log = File::create(folder.join(format!("{name}.log"))).expect("a log file");
        let errors = log.try_clone().expect("a second handle of the log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self {
            name: name.to_owned(),
            child,
        }
    }

    /// Fails when the process has ended, with the end of its log.
    pub fn check(&mut self, folder: &Path) {
        if let Some(status) = self.child.try_wait().expect("the process can be asked") {
            let path = folder.join(format!("{}.log", self.name));
            let log = std::fs::read_to_string(path).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(15).collect();
            panic!("{} ended with {status}: {lines:#?}", self.name);
        }
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(
            sent.expect("kill is installed").success(),
            "SIG{signal} to {}",
            self.name
        );
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.exit_status().is_some()
    }

    /// How it ended, if it has.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the process can be asked")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Ports that nobody listens on.
pub fn free_ports<const N: usize>() -> [u16; N] {
    // All are held at once, so that they differ.
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("a bound listener").port())
}
