//! The client of the runtime's Unix socket: HTTP/1.1, one connection for each call.

mod call;
mod events;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use call::AbortOnDrop;
pub use call::{Call, Event};

/// Between two attempts to reach a runtime that does not exist.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Timeout of a runtime's health report: it answers also while a call runs.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Header of a health report: the number of calls that run, including those whose caller has disconnected.
const CALLS: &str = "x-asya-calls";

/// Health report of a runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Health {
    /// True if it takes calls.
    pub is_ready: bool,
    /// Number of running calls; none if the runtime does not report it.
    pub calls: Option<usize>,
}

/// Socket and ready file of a runtime.
#[derive(Debug, Clone)]
pub struct Runtime {
    socket: PathBuf,
    ready_file: PathBuf,
}

/// The connection to the runtime ended before the answer was complete, or was not made: the message
/// is not the cause.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the runtime at {socket} broke: {reason}")]
pub struct Broken {
    socket: String,
    reason: String,
}

impl Runtime {
    /// The runtime whose socket is in this folder.
    pub fn new(socket_dir: &Path) -> Self {
        Self {
            socket: socket_dir.join("asya-runtime.sock"),
            ready_file: socket_dir.join("runtime-ready"),
        }
    }

    /// Returns whether the runtime has loaded its handler and reports that it is ready. A killed one leaves
    /// its files behind, so that only an answer proves it.
    pub async fn is_ready(&self) -> bool {
        self.health().await.is_ready
    }

    /// Reads the runtime's health report.
    pub async fn health(&self) -> Health {
        if !self.ready_file.is_file() {
            return Health::default();
        }
        let Ok(request) = Request::get("/healthz").body(Full::default()) else {
            return Health::default();
        };
        let answer = tokio::time::timeout(HEALTH_TIMEOUT, self.ask(request)).await;
        let Ok(Ok((response, _))) = answer else {
            return Health::default();
        };
        let calls = response.headers().get(CALLS);
        Health {
            is_ready: response.status() == StatusCode::OK,
            calls: calls.and_then(|calls| calls.to_str().ok()?.parse().ok()),
        }
    }

    /// Waits until the runtime is ready, with pauses that grow to a second.
    pub async fn ready(&self) {
        let mut pause = FIRST_PAUSE;
        while !self.is_ready().await {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns the start time of the present run of the runtime: it writes its ready file anew at
    /// each start.
    pub fn incarnation(&self) -> Option<std::time::SystemTime> {
        let file = std::fs::metadata(&self.ready_file).ok()?;
        file.modified().ok()
    }

    /// Posts an envelope. Dropping the call closes the connection, by which the runtime notices that
    /// the caller has stopped to wait for the answer.
    ///
    /// # Errors
    /// When there is no runtime, or it goes away before it answers.
    pub async fn invoke(&self, envelope: Bytes) -> Result<Call, Broken> {
        let request = Request::post("/invoke")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(Full::new(envelope))
            .map_err(|error| self.broken(&error))?;
        let (response, connection) = self.ask(request).await?;
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            // It ends, or something that its handler needs is missing: another pod may do better.
            let error = io::Error::other("the runtime answered 503: it takes no calls now");
            return Err(self.broken(&error));
        }
        let socket = self.socket.display().to_string();
        Ok(Call::new(response, connection, socket))
    }

    /// Sends a request, on a connection that lives as long as the second value.
    async fn ask(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, AbortOnDrop), Broken> {
        let host = HeaderValue::from_static("localhost");
        request.headers_mut().insert(header::HOST, host);
        let stream = UnixStream::connect(&self.socket).await;
        let stream = stream.map_err(|error| self.broken(&error))?;
        let handshake = http1::Builder::new().handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| self.broken(&error))?;
        let connection = AbortOnDrop(tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection to the runtime");
            }
        }));
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| self.broken(&error))?;
        Ok((response, connection))
    }

    fn broken(&self, error: &dyn std::error::Error) -> Broken {
        Broken::new(self.socket.display().to_string(), error)
    }
}

impl Broken {
    fn new(socket: String, error: &dyn std::error::Error) -> Self {
        let mut reason = error.to_string();
        if let Some(source) = error.source() {
            reason = format!("{reason}: {source}");
        }
        Self { socket, reason }
    }

    fn early(socket: String) -> Self {
        let error = io::Error::from(io::ErrorKind::UnexpectedEof);
        Self::new(socket, &error)
    }
}
