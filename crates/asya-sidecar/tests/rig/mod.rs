//! A sidecar beside the real runtime script, both as processes, on a real broker.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::panic,
    clippy::print_stderr,
    reason = "each test file uses a part of it"
)]

pub mod certificates;
pub mod link;
pub mod process;
pub mod rabbit;
pub mod receiver;
pub mod sqs;
pub mod state;
pub mod state_cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::ports;
use test_cluster::until_within;

use process::Program;

/// Timeout of everything that a test waits for.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// A pod: a folder for the socket, and what runs beside it.
pub struct Pod {
    pub sidecar: Program,
    pub runtime: Option<Program>,
    pub folder: TempDir,
    pub environment: BTreeMap<String, String>,
    metrics_port: u16,
}

/// Environment of a sidecar that every transport needs.
pub fn environment(actor: &str) -> BTreeMap<String, String> {
    [
        ("ASYA_ACTOR_NAME", actor),
        ("ASYA_NAMESPACE", "default"),
        ("ASYA_RUNTIME_TIMEOUT", "30s"),
        ("ASYA_ACTOR_SINK", "x-sink"),
        ("ASYA_ACTOR_SUMP", "x-sump"),
        ("ASYA_LOG_LEVEL", "debug"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// Waits for something.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    until_within(TIMEOUT, what, ask).await
}

impl Pod {
    /// Starts a sidecar with a runtime.
    pub fn start(environment: &BTreeMap<String, String>) -> Self {
        let mut pod = Self::without_runtime(environment);
        pod.start_runtime();
        pod
    }

    /// Starts a sidecar alone.
    pub fn without_runtime(environment: &BTreeMap<String, String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [metrics_port] = ports::reserve();
        let mut environment = environment.clone();
        environment.insert("ASYA_SOCKET_DIR".to_owned(), text(folder.path()));
        let address = format!("127.0.0.1:{metrics_port}");
        environment.insert("ASYA_METRICS_ADDR".to_owned(), address);
        let sidecar = sidecar(&environment, folder.path());
        Self {
            sidecar,
            runtime: None,
            folder,
            environment,
            metrics_port,
        }
    }

    /// Starts the sidecar again, after it has ended.
    pub fn restart_sidecar(&mut self) {
        self.sidecar = sidecar(&self.environment, self.folder.path());
    }

    /// Starts the runtime script.
    pub fn start_runtime(&mut self) {
        self.runtime = Some(start_script(self.folder.path(), &self.environment));
    }

    /// Kills the runtime, as when it runs out of memory.
    pub fn kill_runtime(&mut self) {
        self.runtime = None;
    }

    /// The payloads with which the handler was called, in their order.
    pub fn calls(&self) -> Vec<Value> {
        calls_in(self.folder.path())
    }

    /// A file that a held handler waits for.
    pub fn release_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Asks the sidecar's HTTP server.
    pub async fn ask(&self, path: &str) -> Option<(u16, String)> {
        process::get(self.metrics_port, path).await
    }

    /// Waits until the sidecar receives messages.
    pub async fn ready(&self) {
        until("the sidecar is ready", || async {
            let (status, _) = self.ask("/readyz").await?;
            (status == 200).then_some(())
        })
        .await;
    }

    /// A sample of its metrics, such as `messages_sent_total{kind="sink"`; 0 where there is none.
    pub async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.ask("/metrics").await.expect("metrics");
        let (name, label) = name.split_once('{').unwrap_or((name, ""));
        let line = text.lines().find(|line| {
            line.strip_prefix("asya_actor_")
                .and_then(|line| line.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with('{') && rest.contains(label))
        });
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
            .unwrap_or_default()
    }

    /// Sends SIGTERM to the sidecar, and waits for its end.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.sidecar.signal("TERM");
        self.sidecar.ended().await
    }

    /// Log of the sidecar.
    pub fn log(&self) -> String {
        self.sidecar.log()
    }
}

/// The runtime script alone, for workers in the test's own process.
pub struct Script {
    _runtime: Program,
    folder: TempDir,
}

impl Script {
    /// Starts it with the handler of the tests.
    pub fn start(environment: &BTreeMap<String, String>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self {
            _runtime: start_script(folder.path(), environment),
            folder,
        }
    }

    /// Folder of its socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The payloads with which the handler was called, in their order.
    pub fn calls(&self) -> Vec<Value> {
        calls_in(self.folder.path())
    }
}

fn start_script(folder: &Path, environment: &BTreeMap<String, String>) -> Program {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("python3");
    command
        .arg(repository.join("runtime/asya_runtime.py"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/handlers"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ASYA_HANDLER", "steps.handle")
        .env("ASYA_SOCKET_DIR", folder)
        .env("CALLS", folder.join("calls"));
    if let Some(validation) = environment.get("ASYA_ENABLE_VALIDATION") {
        command.env("ASYA_ENABLE_VALIDATION", validation);
    }
    Program::start("runtime", command, folder)
}

fn calls_in(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("calls")).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The program, or the one that `ASYA_SIDECAR_PROGRAM` names: that of another profile.
fn sidecar(environment: &BTreeMap<String, String>, folder: &Path) -> Program {
    let given = std::env::var_os("ASYA_SIDECAR_PROGRAM");
    let program = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_asya-sidecar").into());
    let mut command = Command::new(program);
    command.env_clear().envs(environment);
    Program::start("sidecar", command, folder)
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// An envelope for an actor.
pub fn envelope(id: &str, actor: &str, next: &[&str], payload: &Value) -> Value {
    json!({"id": id, "route": {"prev": [], "curr": actor, "next": next}, "headers": {},
        "payload": payload})
}

/// Resident memory of a process, in KiB: now, and at most.
pub fn resident_kib(pid: u32) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name));
        let digits = line.and_then(|line| line.split_whitespace().nth(1));
        digits.and_then(|digits| digits.parse().ok()).expect("kB")
    })
}
