//! `moto_server` (a Python package), which speaks the protocols of SQS and S3.
//!
//! It does not do everything that they do: it checks no ranges, gives away
//! names that were deleted just now, never throttles, and compares conditions of
//! a write before it, not together with it.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::Process;
use crate::watchdog::Folder;
use crate::{components, http, ports, until};

/// Says for which region and service a request is; the signature is never checked.
const SCOPE: &str = "AWS4-HMAC-SHA256 \
    Credential=key/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=none";

/// A service without any queue.
pub struct Moto {
    // The process ends before its folder is removed.
    _server: Process,
    _folder: Folder,
    port: u16,
    /// URL of the service.
    pub endpoint: String,
}

impl Moto {
    /// Starts a service and waits until it listens.
    ///
    /// # Panics
    /// If it does not.
    pub async fn start() -> Self {
        let folder = Folder::new();
        let [port] = ports::reserve();
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
            port,
            endpoint: format!("http://127.0.0.1:{port}"),
        }
    }
}

impl Moto {
    /// Asks for one of the actions of SQS in region us-east-1, such as `SendMessage`. The answer is
    /// the status, and the body or null.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn ask(&self, action: &str, body: &Value) -> (u16, Value) {
        let target = format!("AmazonSQS.{action}");
        let head = [
            ("Authorization", SCOPE),
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", &target),
        ];
        let answer = http::ask(self.port, ("POST", "/"), &head, Some(body)).await;
        answer.unwrap_or_else(|error| panic!("{action}: {error}"))
    }
}

impl Moto {
    /// Creates a bucket of S3.
    ///
    /// # Panics
    /// If it cannot.
    pub async fn create_bucket(&self, name: &str) {
        self.bucket("PUT", name).await;
    }

    /// Deletes a bucket of S3, which must be empty.
    ///
    /// # Panics
    /// If it cannot.
    pub async fn delete_bucket(&self, name: &str) {
        self.bucket("DELETE", name).await;
    }

    async fn bucket(&self, method: &str, name: &str) {
        let scope = SCOPE.replace("/sqs/", "/s3/");
        let head = [("Authorization", scope.as_str())];
        let answer = http::ask(self.port, (method, &format!("/{name}")), &head, None).await;
        let (status, _) = answer.unwrap_or_else(|error| panic!("{method} {name}: {error}"));
        assert!((200..300).contains(&status), "{method} {name}: {status}");
    }
}

/// The program, installed into a virtual environment beside the real components at its pinned version.
fn program() -> PathBuf {
    let folder = components::folder().join("moto");
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("moto-requirements.txt");
    let pinned = fs::read_to_string(&requirements).expect("the versions are pinned");
    let stamp = folder.join("requirements.txt");
    // Other tests may install it at the same time.
    fs::create_dir_all(&folder).expect("a folder for moto");
    let lock = File::create(folder.join("lock")).expect("a lock");
    lock.lock().expect("a lock");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pinned) {
        return folder.join("bin/moto_server");
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "-r"])
        .arg(requirements));
    fs::write(&stamp, pinned).expect("the folder can be written");
    folder.join("bin/moto_server")
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?} ended with {status}");
}
