//! The part of a kubelet's API from which the API server reads logs:
//! `GET /containerLogs/<namespace>/<pod>/<container>`, over TLS.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Between two reads of a log that is followed.
const INTERVAL: Duration = Duration::from_millis(50);

/// Longest head of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;

/// Logs of containers, by pod and container.
#[derive(Clone, Default)]
pub(super) struct Logs(Arc<Mutex<BTreeMap<(String, String), Log>>>);

/// The output of one container.
#[derive(Default)]
struct Log {
    /// Files of its standard output and standard error, each with the number of bytes that were read.
    files: Vec<(PathBuf, usize)>,
    /// Lines with the times at which they were first read.
    lines: Vec<(Timestamp, String)>,
}

impl Logs {
    /// Adds a container with the files of its output.
    pub(super) fn add(&self, pod: &str, container: &str, files: [PathBuf; 2]) {
        let log = Log {
            files: files.into_iter().map(|file| (file, 0)).collect(),
            lines: Vec::new(),
        };
        let key = (pod.to_owned(), container.to_owned());
        self.lock().insert(key, log);
    }

    /// Reads new lines.
    pub(super) fn read(&self) {
        for log in self.lock().values_mut() {
            for (file, start) in &mut log.files {
                let text = fs::read(&*file).unwrap_or_default();
                let new = &text[*start..];
                let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else {
                    continue;
                };
                *start += end + 1;
                for line in String::from_utf8_lossy(&new[..end]).split('\n') {
                    log.lines.push((Timestamp::now(), line.to_owned()));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Log>> {
        self.0.lock().expect("nobody panics with it")
    }
}

/// Starts the server; its port.
///
/// # Panics
/// If the certificate cannot be read.
pub(super) async fn serve([certificate, key]: [PathBuf; 2], logs: Logs) -> (u16, JoinHandle<()>) {
    let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a certificate with its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, logs) = (acceptor.clone(), logs.clone());
            // The API server may end the connection at any time.
            tokio::spawn(async move { drop(answer(&acceptor, stream, &logs).await) });
        }
    });
    (port, task)
}

/// Which lines are read.
struct Query {
    key: (String, String),
    is_followed: bool,
    has_times: bool,
    since: Option<Timestamp>,
    tail: Option<usize>,
}

impl Query {
    /// Reads a request target; none for another one.
    fn read(target: &str) -> Option<Self> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut parts = path.strip_prefix("/containerLogs/")?.split('/').skip(1);
        let (pod, container) = (parts.next()?, parts.next()?);
        let values: BTreeMap<&str, &str> = query
            .split('&')
            .filter_map(|it| it.split_once('='))
            .collect();
        let seconds = values.get("sinceSeconds").and_then(|it| it.parse().ok());
        let since = seconds.map(|it| Timestamp::now() - SignedDuration::from_secs(it));
        let time = values.get("sinceTime").map(|it| it.replace("%3A", ":"));
        Some(Self {
            key: (pod.to_owned(), container.to_owned()),
            is_followed: values.get("follow") == Some(&"true"),
            has_times: values.get("timestamps") == Some(&"true"),
            since: since.or_else(|| time?.parse().ok()),
            tail: values.get("tailLines").and_then(|it| it.parse().ok()),
        })
    }

    /// Returns the lines from this one on, and the number of all lines.
    fn lines(&self, logs: &Logs, from: usize) -> (Vec<String>, usize) {
        logs.read();
        let logs = logs.lock();
        let lines = logs.get(&self.key).map_or(&[][..], |log| &log.lines);
        let is_new = |(time, _): &&(Timestamp, String)| self.since.is_none_or(|it| *time >= it);
        let shown = |(time, line): &(Timestamp, String)| {
            if self.has_times {
                format!("{time:.9} {line}\n")
            } else {
                format!("{line}\n")
            }
        };
        let new = lines[from..].iter().filter(is_new).map(shown).collect();
        (new, lines.len())
    }
}

async fn answer(acceptor: &TlsAcceptor, stream: TcpStream, logs: &Logs) -> io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let Some(query) = head.split(' ').nth(1).and_then(Query::read) else {
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(answer).await?;
        return stream.shutdown().await;
    };
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await?;
    let (mut lines, mut count) = query.lines(logs, 0);
    if let Some(tail) = query.tail {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    loop {
        stream.write_all(lines.concat().as_bytes()).await?;
        stream.flush().await?;
        if !query.is_followed {
            return stream.shutdown().await;
        }
        tokio::time::sleep(INTERVAL).await;
        (lines, count) = query.lines(logs, count);
    }
}
