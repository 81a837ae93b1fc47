//! `moto_server` (a Python package), which speaks the protocol of SQS.
//!
//! It does not do everything that SQS does: it checks no ranges, gives away
//! names that were deleted just now, and never throttles.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::{Process, free_ports};
use crate::{components, until};

/// A service without any queue.
pub struct Moto {
    // The process ends before its folder goes.
    _server: Process,
    _folder: TempDir,
    /// URL of the service.
    pub endpoint: String,
}

impl Moto {
    /// Starts a service and waits until it listens.
    ///
    /// # Panics
    /// When it does not.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [port] = free_ports();
        let mut command = Command::new(program());
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut server = Process::start("moto", &mut command, folder.path());
        until("moto listens", || {
            server.check(folder.path());
            let is_up = TcpStream::connect(("127.0.0.1", port)).is_ok();
            async move { is_up.then_some(()) }
        })
        .await;
        Self {
            _server: server,
            _folder: folder,
            endpoint: format!("http://127.0.0.1:{port}"),
        }
    }
}

/// The program, installed into a virtual environment beside the real components if it is missing.
fn program() -> PathBuf {
    let folder = components::folder().join("moto");
    let program = folder.join("bin/moto_server");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("moto-requirements.txt");
        run(Command::new(folder.join("bin/pip"))
            .args(["install", "--quiet", "-r"])
            .arg(requirements));
    }
    program
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?} ended with {status}");
}
