//! A registry of images, to install packages from.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::process::Process;
use crate::watchdog::Folder;
use crate::{components, ports, until};

/// A registry that forgets everything when it ends. Crossplane's parts speak plain HTTP to it,
/// since it is on 127.0.0.1.
pub struct Registry {
    // The process ends before its folder is removed.
    _server: Process,
    folder: Folder,
    port: u16,
}

impl Registry {
    /// Starts a registry and waits until it listens.
    ///
    /// # Panics
    /// If it does not.
    pub async fn start() -> Self {
        let folder = Folder::new();
        let [port] = ports::reserve();
        let mut command = Command::new(components::program("registry"));
        command.args(["--port", &port.to_string()]);
        let mut server = Process::start("registry", &mut command, folder.path());
        until("the registry listens", || {
            server.check(folder.path());
            let is_up = TcpStream::connect(("127.0.0.1", port)).is_ok();
            async move { is_up.then_some(()) }
        })
        .await;
        Self {
            _server: server,
            folder,
            port,
        }
    }

    /// Prefix of the names of its images.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Pushes a package, under a name that begins with [`host`](Self::host).
    ///
    /// # Panics
    /// When `crossplane xpkg push` fails.
    pub fn push(&self, package: &Path, name: &str) {
        let output = Command::new(components::program("crossplane"))
            .args(["xpkg", "push", "--package-files"])
            .args([package.as_os_str(), name.as_ref()])
            // Nobody's credentials.
            .env("HOME", self.folder.path())
            .output()
            .expect("crossplane starts");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} is not pushed: {talk}");
    }
}
