//! Processes, and a client of their HTTP servers.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A process that is killed, by its id, with the value.
pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    pub fn start(name: &str, mut command: Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.expect("a log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { child, log }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(sent.expect("kill is installed").success(), "SIG{signal}");
    }

    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the process can be asked")
    }

    pub async fn ended(&mut self) -> ExitStatus {
        super::until("the process has ended", || {
            let status = self.exit_status();
            async move { status }
        })
        .await
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("== {}\n{}", self.log.display(), self.log());
        }
    }
}

/// Asks a port of 127.0.0.1; none where nobody answers.
pub async fn get(port: u16, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}
