//! `moto_server` (a Python package), which speaks the protocol of SQS.
//!
//! It does not do everything that SQS does: it checks no ranges, gives away
//! names that were deleted just now, and never throttles.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use provider_asya::transport::sqs::Service;
use tempfile::TempDir;

use super::process::{Process, free_ports};

/// The only region that tests use.
pub const REGION: &str = "us-east-1";

/// A service without any queue.
pub struct Moto {
    _server: Process,
    _folder: TempDir,
    /// URL of the service.
    pub endpoint: String,
}

impl Moto {
    /// Starts a service and waits until it listens.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [port] = free_ports();
        let mut command = Command::new(program());
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut server = Process::start("moto", &mut command, folder.path());
        super::until("moto listens", || {
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

    /// Clients of the service.
    pub fn clients(&self) -> (aws_sdk_sqs::Client, aws_sdk_sts::Client) {
        let credentials = || Credentials::new("key", "secret", None, None, "tests");
        let sqs = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(credentials())
            .build();
        let sts = aws_sdk_sts::Config::builder()
            .behavior_version(aws_sdk_sts::config::BehaviorVersion::latest())
            .region(Region::new(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(credentials())
            .build();
        (
            aws_sdk_sqs::Client::from_conf(sqs),
            aws_sdk_sts::Client::from_conf(sts),
        )
    }

    /// The service as the provider sees it.
    pub fn service(&self) -> Service {
        let (sqs, sts) = self.clients();
        Service::new(
            sqs,
            sts,
            REGION,
            Some(&self.endpoint),
            Duration::from_secs(65),
        )
    }
}

/// The program, installed into a virtual environment beside the real components if it is missing.
fn program() -> PathBuf {
    let folder = real::components::folder().join("moto");
    let program = folder.join("bin/moto_server");
    if !program.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let requirements =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rig/moto-requirements.txt");
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
