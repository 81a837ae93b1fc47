//! A connector of a state proxy beside the real runtime script, both as processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::Program;
use super::{TIMEOUT, text, until};

/// Names of the runtime's mounts, one for each way of writing. One connector is behind both.
const MOUNTS: [&str; 2] = ["buffered", "passthrough"];

/// A connector, and what is known of it.
pub struct Connector {
    pub program: Program,
    pub folder: TempDir,
    pub socket: PathBuf,
    environment: BTreeMap<String, String>,
}

/// An answer: status, headers by their names in lower case, and body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn etag(&self) -> &str {
        &self.headers["etag"]
    }
}

impl Connector {
    /// Starts a connector with these variables, and waits until it serves.
    pub async fn start(environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("state").join("buffered.sock");
        let mut environment: BTreeMap<String, String> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        environment.insert("CONNECTOR_SOCKET".to_owned(), text(&socket));
        environment.insert("ASYA_LOG_LEVEL".to_owned(), "debug".to_owned());
        let program = start(&environment, folder.path());
        let connector = Self {
            program,
            folder,
            socket,
            environment,
        };
        connector.serves().await;
        let second = connector.folder.path().join("state/passthrough.sock");
        symlink("buffered.sock", second).expect("a second name");
        connector
    }

    /// Starts it again, after its process has ended.
    pub async fn restart(&mut self) {
        self.program = start(&self.environment, self.folder.path());
        self.serves().await;
    }

    async fn serves(&self) {
        until("the connector serves", || async {
            let stream = UnixStream::connect(&self.socket).ok()?;
            let answer = exchange(
                stream,
                b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            );
            (answer?.status == 200).then_some(())
        })
        .await;
    }

    /// One request, on a connection of its own.
    pub fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        let request = [head.as_bytes(), body].concat();
        let answer = exchange(self.connect(), &request);
        answer.unwrap_or_else(|| panic!("{method} {target}: no answer"))
    }

    pub fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).expect("the connector listens")
    }

    /// The most memory that its process has had, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.program.id()));
        let status = status.expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes: Option<u64> =
            line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        kibibytes.expect("a number") * 1024
    }
}

fn start(environment: &BTreeMap<String, String>, folder: &Path) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_asya-sidecar"));
    command.env_clear().envs(environment).arg("state");
    Program::start("connector", command, folder)
}

/// Sends a request, and reads the answer to the end of the connection.
pub fn exchange(mut stream: UnixStream, request: &[u8]) -> Option<Answer> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.write_all(request).ok()?;
    let mut data = Vec::new();
    stream.read_to_end(&mut data).ok()?;
    let end = data.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(data[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let body = data.split_off(end + 4);
    Some(Answer {
        status,
        headers,
        body,
    })
}

/// A runtime whose handler runs lines of Python, with both mounts.
pub struct Handler {
    pub program: Program,
    socket: PathBuf,
}

impl Handler {
    /// Starts it beside a connector.
    pub async fn start(connector: &Connector) -> Self {
        let folder = connector.folder.path();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mounts = MOUNTS.map(|mode| format!("{mode}:/state/{mode}:write={mode}"));
        let python = std::env::var("ASYA_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(python);
        command
            .arg(repository.join("runtime/asya_runtime.py"))
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/handlers"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("ASYA_HANDLER", "files.run")
            .env("ASYA_SOCKET_DIR", folder)
            .env("ASYA_RUNTIME_HANG_GRACE", "60s")
            .env("ASYA_STATE_PROXY_TIMEOUT", "30s")
            .env("ASYA_STATE_PROXY_MOUNTS", mounts.join(";"));
        let program = Program::start("runtime", command, folder);
        let ready = folder.join("runtime-ready");
        until("the runtime is ready", || async {
            ready.exists().then_some(())
        })
        .await;
        Self {
            program,
            socket: folder.join("asya-runtime.sock"),
        }
    }

    /// Begins a call; the answer is read from the connection.
    pub fn begin(&self, mount: &str, lines: &str) -> UnixStream {
        let payload = json!({"mount": format!("/state/{mount}"), "lines": lines});
        let message = json!({"id": "m", "route": {"prev": [], "curr": "a", "next": []},
            "payload": payload})
        .to_string();
        let length = message.len();
        let request = format!(
            "POST /invoke HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{message}"
        );
        let mut stream = UnixStream::connect(&self.socket).expect("the runtime listens");
        stream
            .write_all(request.as_bytes())
            .expect("the request is sent");
        stream
    }

    /// Returns the value that the lines assign to `result`, or the type of the exception that they raise.
    pub fn run(&self, mount: &str, lines: &str) -> Result<Value, String> {
        result(self.begin(mount, lines))
    }
}

/// The result of a call that was begun.
pub fn result(stream: UnixStream) -> Result<Value, String> {
    let answer = exchange(stream, b"").expect("an answer");
    let text = answer.text();
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    match answer.status {
        200 => Ok(body["frames"][0]["payload"].clone()),
        204 => Ok(Value::Null),
        _ => Err(format!(
            "{}: {}",
            body["details"]["type"], body["details"]["traceback"]
        )),
    }
}
