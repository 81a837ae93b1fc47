//! The runtime on the other side of the Unix socket.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::settings::Settings;

/// Between two looks for a runtime that is not there yet.
const PAUSE: Duration = Duration::from_millis(20);

/// Where the runtime listens.
pub(crate) struct Runtime {
    socket: PathBuf,
    ready_file: PathBuf,
    timeout: Duration,
}

/// What the runtime makes of a message.
pub(crate) enum Answer {
    /// 200: what the handler returned, or each thing that it yielded.
    Frames(Vec<Value>),
    /// 204: nothing.
    Nothing,
    /// 400 or 500, as the runtime words it.
    Error(Value),
    /// It has not answered in time.
    TimedOut,
    /// The connection ended, or was not made: nobody is there.
    None,
}

impl Runtime {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            socket: settings.socket_dir.join("asya-runtime.sock"),
            ready_file: settings.socket_dir.join("runtime-ready"),
            timeout: settings.timeout,
        }
    }

    /// Waits until the runtime has loaded its handler and listens. A killed one leaves both files
    /// behind, so that only a connection proves it.
    pub(crate) async fn ready(&self) {
        while !self.ready_file.is_file() || UnixStream::connect(&self.socket).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Posts an envelope.
    pub(crate) async fn call(&self, envelope: &[u8]) -> Answer {
        let answer = match tokio::time::timeout(self.timeout, self.exchange(envelope)).await {
            Ok(answer) => answer.ok(),
            Err(_) => return Answer::TimedOut,
        };
        answer
            .as_deref()
            .and_then(understood)
            .unwrap_or(Answer::None)
    }

    /// The whole answer, after which the runtime closes the connection.
    async fn exchange(&self, envelope: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(&self.socket).await?;
        let length = envelope.len();
        let head = format!(
            "POST /invoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream
            .write_all(&[head.as_bytes(), envelope].concat())
            .await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(answer)
    }
}

/// Reads an answer; none where it is not whole.
fn understood(answer: &[u8]) -> Option<Answer> {
    let text = str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    if status == "204" {
        return Some(Answer::Nothing);
    }
    let body: Value = serde_json::from_str(body).ok()?;
    match status {
        "200" => Some(Answer::Frames(body["frames"].as_array()?.clone())),
        _ => Some(Answer::Error(body)),
    }
}
